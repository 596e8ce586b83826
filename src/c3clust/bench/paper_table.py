"""The paper's own table: its five datasets side by side, the cited scores and, below them, ours if there are any."""

from collections.abc import Sequence

import numpy as np

from c3clust.bench.format import markdown_table, numbers_csv
from c3clust.bench.statistics import METRICS, Row, cited, mean_and_std, title

SETS = {
    "cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "imagenet-10": "ImageNet-10", "imagenet-dogs": "ImageNet-Dogs",
    "tiny-imagenet": "Tiny-ImageNet",
}  # fmt: skip
ORDER = ("nmi", "acc", "ari")  # of the paper's columns


def five(rows: Sequence[Row]) -> tuple[str, str]:
    """Markdown and CSV. A line per method as cited; the lines marked "ours" are our runs, with the number of seeds."""
    ours = [row for row in rows if row.results and row.data in SETS]
    known = cited()
    names = list(dict.fromkeys(row.name for row in known))
    lines: list[list[str]] = []
    numbers: list[list[object]] = []
    for name in names:
        here = {row.data: row for row in known if row.name == name}
        lines.append([name, *(_cited(here.get(data)) for data in SETS)])
        numbers += [
            [data, name, "cited", None, *((row.cited or {}).get(m) for m in METRICS)] for data, row in here.items()
        ]
        method = next(iter(here.values())).method
        own = {row.data: row for row in ours if method and row.method == method and row.name == method}
        lines += [[f"{name} (ours)", *(_own(own.get(data)) for data in SETS)]] if own else []
        numbers += [_numbers(row) for row in own.values()]
    for name in dict.fromkeys(row.name for row in ours if row.name != row.method or row.method not in _methods(known)):
        own = {row.data: row for row in ours if row.name == name}
        lines.append([f"{title(next(iter(own.values())))} (ours)", *(_own(own.get(data)) for data in SETS)])
        numbers += [_numbers(row) for row in own.values()]
    head = ["NMI ACC ARI", *SETS.values()]
    text = markdown_table(head, lines)
    text += (
        "\nCited: as reported in the C3 paper (BMVC 2023, Table 1). Ours: mean over seeds (± standard deviation), n.\n"
    )
    notes = [f"Cited {row.name}, {SETS[row.data]}: {row.note}." for row in known if row.note]
    return text + "".join(f"{note}\n" for note in notes), numbers_csv(["data", "name", "from", "n", *METRICS], numbers)


def _methods(rows: Sequence[Row]) -> set[str]:
    return {row.method for row in rows}


def _cited(row: Row | None) -> str:
    scores = row.cited if row is not None and row.cited else {}
    return " ".join(f"{scores[m]:.3f}".lstrip("0") if m in scores else "–" for m in ORDER) if scores else "–"


def _own(row: Row | None) -> str:
    if row is None or not row.values("acc"):
        return "–"
    n = len(row.values("acc"))
    return ", ".join(mean_and_std(row.values(m)) for m in ORDER) + f"; n = {n}"


def _numbers(row: Row) -> list[object]:
    values = [row.values(m) for m in METRICS]
    return [row.data, title(row), "ours", len(values[0]), *(float(np.mean(v)) if v else None for v in values)]
