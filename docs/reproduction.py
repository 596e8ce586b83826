"""Update docs/REPRODUCTION.md, its appendix and docs/FOLDERS.md: the tables between their markers, and docs/figures.

    c3clust paper all -o runs/paper
    c3clust paper table --data mnist-10k -o runs/mnist
    python docs/reproduction.py digits=runs/paper mnist-10k=runs/mnist figures=runs/paper

NAME=FOLDER inserts FOLDER/table.md between <!-- NAME: begin --> and <!-- NAME: end -->, and copies the numbers behind
it to figures/table-NAME.csv (means), runs-NAME.csv (each seed) and differences-NAME.csv. NAME+=FOLDER adds the runs of
FOLDER to those of figures/runs-NAME.csv, in place of runs with the same data, name and seed, and builds the table from
both. figures=FOLDER copies figures and the CSV files they are drawn from, and inserts the findings, each FOLDER/*.md,
between the markers of its name. Everything else is left unchanged.
"""

import csv
import re
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from PIL import Image

from c3clust.bench import Job, Result
from c3clust.bench.format import write
from c3clust.bench.statistics import METRICS, rows
from c3clust.files.text import from_cell

DOCS = Path(__file__).parent
NUMBERS = ("table", "runs", "differences")
PAGES = (DOCS / "REPRODUCTION.md", DOCS / "REPRODUCTION_APPENDIX.md", DOCS / "FOLDERS.md")
COMPARED = [("c3", "cc"), ("consensus", "cc")]  # whose differences are shown below a table


def rewrite(name: str, table: str) -> None:
    """Put a new table between the markers of `name`, in the page that has them."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = next((page for page in PAGES if begin in (text := page.read_text(encoding="utf-8")) and end in text), None)
    if page is None:
        sys.exit(f"No page has markers for {name!r}.")
    new = f"{begin}\n{table.strip()}\n{end}"
    text = re.sub(f"{begin}.*?{end}", lambda _: new, page.read_text(encoding="utf-8"), flags=re.DOTALL)
    page.write_text(text, encoding="utf-8")


def without_folders(text: str) -> str:
    """The text with absolute paths shortened to the name of the file: another machine has other folders."""
    return re.sub(r"(?<![\w./])/(?:[\w.-]+/)+", "", text)


def insert(name: str, folder: Path) -> None:
    """Put FOLDER/table.md on its page, and copy the numbers behind it."""
    rewrite(name, without_folders((folder / "table.md").read_text(encoding="utf-8")))
    for kind in NUMBERS:
        numbers = without_folders((folder / f"{kind}.csv").read_text(encoding="utf-8"))
        (DOCS / "figures" / f"{kind}-{name}.csv").write_text(numbers, encoding="utf-8")


def add(name: str, folder: Path) -> None:
    """Insert the table of the runs that the page has and of those of FOLDER, which replace the same ones."""
    known: dict[tuple, Result] = {}
    for path in (DOCS / "figures" / f"runs-{name}.csv", folder / "runs.csv"):
        for r in read_runs(path):
            known[r.job.data, r.encoder, r.job.budget, r.job.share, r.job.name, r.job.seed] = r
    table = rows(known.values())
    for row in table:
        if len({str(r.allowed) for r in row.results}) > 1:
            sys.exit(f"The seeds of {row.name} on {row.data} have different numbers of epochs: run all of them again.")
    datasets = list(dict.fromkeys(row.data for row in table))
    ordered = [r for row in sorted(table, key=lambda row: datasets.index(row.data)) for r in row.results]
    with tempfile.TemporaryDirectory() as merged:
        write(Path(merged), ordered, COMPARED)
        insert(name, Path(merged))


def read_runs(path: Path) -> list[Result]:
    """The results of a file runs.csv."""
    lines = csv.DictReader(without_folders(path.read_text(encoding="utf-8")).splitlines())
    return [_result({key: from_cell(value) for key, value in line.items()}) for line in lines]


def _result(line: dict[str, str]) -> Result:
    def scores(end: str) -> dict[str, float] | None:
        return {m: float(line[m + end]) for m in METRICS} if line["acc" + end] else None

    budget, share = (float(line[name]) if line[name] else None for name in ("budget", "share"))
    allowed = {key: int(number) for key, _, number in (word.partition("=") for word in line["epochs"].split())}
    own = share if budget is None else None  # of the job; beside a budget it is what that came to
    job = Job(line["data"], line["method"], {}, int(line["seed"]), line["name"], budget=budget, share=own)
    times = float(line["seconds"]), float(line["processor_seconds"])
    result = Result(job, Path(line["folder"]), line["status"], line["reason"], scores(""), scores("_z"), *times)
    return replace(result, encoder=line["encoder"], allowed=allowed or None, share=share)


def main() -> None:
    if not sys.argv[1:] or not all("=" in word for word in sys.argv[1:]):
        sys.exit(__doc__)
    (DOCS / "figures").mkdir(exist_ok=True)
    for word in sys.argv[1:]:
        name, _, folder = word.partition("=")
        if name == "figures":
            for figure in sorted(Path(folder).glob("*.png")):  # fewer colours: half the size
                small = Image.open(figure).convert("RGB").quantize(256, kmeans=8)
                small.save(DOCS / "figures" / figure.name, optimize=True)
                shutil.copy(figure.with_suffix(".csv"), DOCS / "figures")
            for findings in sorted(Path(folder).glob("*.md")):
                if findings.name not in ("table.md", "five.md"):
                    rewrite(findings.stem, findings.read_text(encoding="utf-8"))
        elif name.endswith("+"):
            add(name.removesuffix("+"), Path(folder))
        else:
            insert(name, Path(folder))


if __name__ == "__main__":
    main()
