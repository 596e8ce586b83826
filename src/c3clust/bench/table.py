"""Results -> a table: mean ± standard deviation over seeds, as Markdown, LaTeX and CSV.

A run that collapsed or diverged counts with the labels it still gave, and is named with its reason; one that gave none
is named too. Numbers that the paper reports for the same data set stand beside ours, marked as cited (cited.csv).
"""

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import numpy as np

from c3clust import methods
from c3clust.bench.job import Result
from c3clust.files import write_atomically

__all__ = [
    "METRICS",
    "Difference",
    "Row",
    "compare",
    "in_order",
    "latex",
    "markdown",
    "mean_and_spread",
    "paired",
    "rows",
    "write",
]

METRICS = ("acc", "nmi", "ari")
CLOCKS = ("seconds", "processor_seconds")
SIGNS = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "±": r"$\pm$", "–": "--", "ζ": r"$\zeta$", "Γ": r"$\Gamma$"}
Scores = dict[str, float]


@dataclass(frozen=True)
class Row:
    """All runs of one name on one data set; the paper's own scores where it has them. No results: only cited."""

    data: str
    name: str
    method: str
    results: Sequence[Result] = ()
    cited: Scores | None = None
    note: str = ""

    def values(self, metric: str) -> list[float]:
        return [r.scores[metric] for r in self.results if r.scores]

    def seconds(self, clock: str = "seconds") -> float | None:
        """Mean time of a run and its start, on the wall or by the clock "processor_seconds"; None if not known."""
        taken = [total for r in self.results if (total := r.total(clock))]
        return float(np.mean(taken)) if taken else None

    def troubles(self) -> list[Result]:
        return [r for r in self.results if r.status != "ok"]


@dataclass(frozen=True)
class Difference:
    """Mean of paired differences, and the interval that holds 95 % of the means of resampled pairs."""

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}], n = {self.n}"


def paired(first: Sequence[float], second: Sequence[float], resamples: int = 10_000) -> Difference:
    """first − second, pair by pair (seed by seed), with a percentile bootstrap interval of the mean.

    >>> print(paired([0.9, 0.8, 0.7], [0.8, 0.7, 0.6]))
    +0.100 [+0.100, +0.100], n = 3
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not len(d):
        return Difference(math.nan, math.nan, math.nan, 0)
    means = d[np.random.default_rng(0).integers(len(d), size=(resamples, len(d)))].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Difference(float(d.mean()), float(low), float(high), len(d))


def compare(a: Row, b: Row, metric: str) -> Difference:
    """a − b over the seeds that both have."""
    one, two = ({r.job.seed: r.scores[metric] for r in row.results if r.scores} for row in (a, b))
    seeds = sorted(one.keys() & two.keys())
    return paired([one[seed] for seed in seeds], [two[seed] for seed in seeds])


def rows(results: Iterable[Result], with_cited: bool = True) -> list[Row]:
    """One row a name and data set: methods by default in the order of the paper, then other names as they come.

    Runs on the features of an encoder count as another data set, so they never share a table with others. Where asked
    for, the paper's numbers for a set are beside ours, and below for methods that we do not have.
    """
    known, results = in_order(), list(results)
    results.sort(key=lambda r: known.index(r.job.name) if r.job.name in known else len(known))
    grouped: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        place = f"{result.job.data}, features of {result.encoder}" if result.encoder else result.job.data
        grouped.setdefault((place, result.job.name), []).append(result)
    cited = _cited() if with_cited else []
    found, used = [], set()
    for (data, name), members in grouped.items():
        method = members[0].job.method
        same = next((c for c in cited if (c.data, c.method) == (data, method) and name == method), None)
        used.add(id(same))
        found.append(Row(data, name, method, members, same.cited if same else None, same.note if same else ""))
    ours = {row.data for row in found}
    return found + [row for row in cited if row.data in ours and id(row) not in used]


def _cited() -> list[Row]:
    text = (files("c3clust.bench") / "cited.csv").read_text(encoding="utf-8")
    return [
        Row(c["data"], c["name"], c["method"], (), {m: float(c[m]) for m in METRICS if c[m]}, c["note"])
        for c in csv.DictReader(io.StringIO(text))
    ]


def in_order() -> list[str]:
    """All methods: those of the paper's table in its order, the others before CC and C3."""
    cited = list(dict.fromkeys(row.method for row in _cited() if row.method))
    return sorted(methods.names(), key=lambda name: cited.index(name) if name in cited else cited.index("cc") - 0.5)


def title(row: Row) -> str:
    """A row that is a method in its default form has the method's own name."""
    return methods.title(row.method).split(":")[0].split(" on ")[0] if row.name == row.method else row.name


def cells(row: Row, best: Scores) -> list[tuple[str, bool]]:
    """ACC, NMI, ARI as text, and whether each is the best."""
    found = []
    for metric in METRICS:
        values = row.values(metric)
        if not values:
            found.append(("–", False))
            continue
        found.append((mean_and_spread(values), round(float(np.mean(values)), 3) == best.get(metric)))
    return found


def mean_and_spread(values: Sequence[float]) -> str:
    """Mean ± standard deviation; of one value, the value.

    >>> mean_and_spread([0.5, 0.75]), mean_and_spread([0.5])
    ('0.625 ± 0.177', '0.500')
    """
    return f"{np.mean(values):.3f}" + (f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else "")


def markdown(rows: Sequence[Row], compared: Sequence[tuple[str, str]] = ()) -> str:
    """One table a data set, what went wrong below it, and the differences of the pairs of names asked for."""
    parts = []
    for data in dict.fromkeys(row.data for row in rows):
        members = [row for row in rows if row.data == data]
        parts.append(_markdown_table(data, members))
        if wrong := [f"- {text}" for row in members for text in _troubles(row)]:
            parts.append("\n".join(wrong))
        if told := _differences(members, compared):
            parts.append("Differences, seed by seed, mean [95 % bootstrap interval]:\n\n" + told)
    return "\n\n".join(parts) + "\n"


def _markdown_table(data: str, rows: Sequence[Row]) -> str:
    with_cited, best = any(row.cited for row in rows), _best(rows)
    head = ["method", "ACC", "NMI", "ARI", "wall time", "processor time", "runs"]
    head += [f"{m.upper()} (cited)" for m in METRICS] if with_cited else []
    lines = [f"**{data}**", "", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        words = [title(row), *(f"**{text}**" if bold else text for text, bold in cells(row, best))]
        words += [_time(row.seconds()), _time(row.seconds("processor_seconds")), _count(row)]
        words += [_number(row.cited, m) for m in METRICS] if with_cited else []
        lines.append(f"| {' | '.join(words)} |")
    if with_cited:
        lines += ["", "Cited: as reported in the C3 paper (BMVC 2023, Table 1), not run here."]
        lines += [f"Cited {row.name}: {row.note}." for row in rows if row.note]
    return "\n".join(lines)


def latex(rows: Sequence[Row]) -> str:
    """A tabular in the manner of booktabs for each data set."""
    parts = []
    for data in dict.fromkeys(row.data for row in rows):
        members = [row for row in rows if row.data == data]
        with_cited, best = any(row.cited for row in members), _best(members)
        head = [
            "Method",
            "ACC",
            "NMI",
            "ARI",
            "Time",
            *([f"{m.upper()} (cited)" for m in METRICS] if with_cited else []),
        ]
        lines = [f"% {data}", rf"\begin{{tabular}}{{l{'c' * (len(head) - 1)}}}", r"\toprule"]
        lines += [" & ".join(head) + r" \\", r"\midrule"]
        for row in members:
            words = [_tex(title(row)), *(rf"\textbf{{{_tex(t)}}}" if bold else _tex(t) for t, bold in cells(row, best))]
            words += [_tex(_time(row.seconds()))]
            words += [rf"\textit{{{_tex(_number(row.cited, m))}}}" for m in METRICS] if with_cited else []
            lines.append(" & ".join(words) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [f"% {text}" for row in members for text in _troubles(row)]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def write(out: Path, results: Sequence[Result], compared: Sequence[tuple[str, str]] = ()) -> str:
    """table.md, table.tex, table.csv, runs.csv and differences.csv in OUT; the first as text."""
    found = rows(results)
    texts = {
        "table.md": markdown(found, compared),
        "table.tex": latex(found),
        "table.csv": csv_text(found),
        "runs.csv": runs_csv(results),
        "differences.csv": differences_csv(found),
    }
    for name, text in texts.items():
        write_atomically(out / name, text.encode())
    return texts["table.md"]


def csv_text(rows: Sequence[Row]) -> str:
    """data, method, and mean, std and n of each metric, seconds, cited values: one line a row."""
    head = ["data", "name", "method", "n", *(f"{m}_{kind}" for m in METRICS for kind in ("mean", "std")), *CLOCKS]
    head += ["failed", "diverged", "collapsed", *(f"{m}_cited" for m in METRICS)]
    lines = []
    for row in rows:
        statuses = [r.status for r in row.results]
        numbers = [_moments(row.values(m)) for m in METRICS]
        lines.append([row.data, title(row), row.method, len(row.values("acc")), *(v for pair in numbers for v in pair)])
        lines[-1] += [*map(row.seconds, CLOCKS), *(statuses.count(s) for s in ("failed", "diverged", "collapsed"))]
        lines[-1] += [(row.cited or {}).get(m) for m in METRICS]
    return _csv(head, lines)


def runs_csv(results: Iterable[Result]) -> str:
    """One line a run."""
    head = ["data", "name", "method", "seed", "status", "reason", *METRICS, *(f"{m}_z" for m in METRICS), *CLOCKS]
    lines = []
    for r in results:
        scores = [(r.scores or {}).get(m) for m in METRICS] + [(r.scores_z or {}).get(m) for m in METRICS]
        lines.append(
            [
                r.job.data,
                r.job.name,
                r.job.method,
                r.job.seed,
                r.status,
                r.reason,
                *scores,
                r.seconds,
                r.processor_seconds,
                r.folder,
            ]
        )
    return _csv([*head, "folder"], lines)


def differences_csv(rows: Sequence[Row]) -> str:
    """Every two rows of a data set compared, seed by seed: mean and 95 % bootstrap interval of first − second."""
    lines = []
    for a, b in combinations([row for row in rows if row.results], 2):
        for metric in METRICS if a.data == b.data else ():
            d = compare(a, b, metric)
            lines.append([a.data, title(a), title(b), metric, d.mean, d.low, d.high, d.n])
    return _csv(["data", "first", "second", "metric", "mean", "low", "high", "n"], lines)


def _differences(rows: Sequence[Row], compared: Sequence[tuple[str, str]]) -> str:
    known = {row.name: row for row in rows if row.results}
    pairs = [(known[a], known[b]) for a, b in compared if a in known and b in known]
    lines = ["| | ACC | NMI | ARI |", "|---|---|---|---|"]
    for a, b in pairs:
        found = " | ".join(str(compare(a, b, metric)) for metric in METRICS)
        lines.append(f"| {title(a)} − {title(b)} | {found} |")
    return "\n".join(lines) if pairs else ""


def _best(rows: Sequence[Row]) -> Scores:
    """The largest mean of each metric among our own runs, as shown."""
    means = {m: [round(float(np.mean(row.values(m))), 3) for row in rows if row.values(m)] for m in METRICS}
    return {m: max(values) for m, values in means.items() if values}


def _troubles(row: Row) -> list[str]:
    return [f"{title(row)}, seed {r.job.seed}: {r.status}. {r.reason}" for r in row.troubles()]


def _count(row: Row) -> str:
    """How many runs, and how many of them went wrong in which way."""
    wrong = [r.status for r in row.troubles()]
    told = ", ".join(f"{wrong.count(status)} {status}" for status in dict.fromkeys(wrong))
    return (f"{len(row.results)} ({told})" if told else str(len(row.results))) if row.results else "cited"


def _moments(values: Sequence[float]) -> tuple[float | None, float | None]:
    if not values:
        return None, None
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"


def _number(scores: Scores | None, metric: str) -> str:
    return f"{scores[metric]:.3f}" if scores and metric in scores else "–"


def _tex(text: str) -> str:
    return "".join(SIGNS.get(letter, letter) for letter in text)


def _csv(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(["" if v is None else f"{v:.6g}" if isinstance(v, float) else v for v in line] for line in lines)
    return text.getvalue()
