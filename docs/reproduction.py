"""Update REPRODUCTION.md, its appendix, METHODS.md, FOLDERS.md and guide/review.md: tables and figures.

    c3clust paper all -o runs/paper
    c3clust bench digits --share 0.6 --seeds 100-102 -o runs/ranking
    python docs/reproduction.py figures=runs/paper ranking-digits=runs/ranking

NAME=FOLDER inserts FOLDER/ranking.md between <!-- NAME: begin --> and <!-- NAME: end -->, and copies every run behind
it to figures/NAME.csv. figures=FOLDER copies figures and the CSV files they are drawn from, and inserts the findings,
each FOLDER/*.md, between the markers of its name. Everything else is left unchanged.
"""

import csv
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from PIL import Image

from c3clust.bench import Job, Result
from c3clust.bench.statistics import METRICS
from c3clust.files.text import from_cell

DOCS = Path(__file__).parent
NAMES = ("REPRODUCTION", "REPRODUCTION_APPENDIX", "METHODS", "FOLDERS", "guide/review")
PAGES = tuple(DOCS / f"{name}.md" for name in NAMES)


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
    """Put FOLDER/ranking.md on its page, and copy the runs behind it."""
    rewrite(name, without_folders((folder / "ranking.md").read_text(encoding="utf-8")))
    numbers = without_folders((folder / "runs.csv").read_text(encoding="utf-8"))
    (DOCS / "figures" / f"{name}.csv").write_text(numbers, encoding="utf-8")


def read_runs(path: Path) -> list[Result]:
    """The results of a file runs.csv."""
    lines = list(csv.DictReader(without_folders(path.read_text(encoding="utf-8")).splitlines()))
    shares = [float(line["share"]) for line in lines if line["share"] and not line["budget"]]
    asked = min(shares, default=None)  # a method without epochs has 1, whatever was asked for
    return [_result({key: from_cell(value) for key, value in line.items()}, asked) for line in lines]


def _result(line: dict[str, str], asked: float | None) -> Result:
    def scores(end: str) -> dict[str, float] | None:
        return {m: float(line[m + end]) for m in METRICS} if line["acc" + end] else None

    budget, share = (float(line[name]) if line[name] else None for name in ("budget", "share"))
    allowed = {key: int(number) for key, _, number in (word.partition("=") for word in line["epochs"].split())}
    own = asked if budget is None else None  # of the job; beside a budget it is what that came to
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
                if findings.name not in ("table.md", "ranking.md", "five.md"):
                    rewrite(findings.stem, findings.read_text(encoding="utf-8"))
        else:
            insert(name, Path(folder))


if __name__ == "__main__":
    main()
