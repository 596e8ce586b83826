"""Update docs/REPRODUCTION.md and docs/FOLDERS.md: the tables between their markers, and the figures in docs/figures.

    c3clust paper all -o runs/paper
    c3clust paper table --data mnist-10k -o runs/mnist
    c3clust bench digits --budget 30 -o runs/equal-digits
    python docs/reproduction.py digits=runs/paper mnist-10k=runs/mnist equal-digits=runs/equal-digits figures=runs/paper

NAME=FOLDER inserts FOLDER/table.md between <!-- NAME: begin --> and <!-- NAME: end -->, and copies the numbers behind
it to figures/table-NAME.csv (means), runs-NAME.csv (each seed) and differences-NAME.csv. figures=FOLDER copies figures
and the CSV files they are drawn from, and inserts the findings, each FOLDER/*.md, between the markers of its name.
Everything else is left unchanged.
"""

import re
import shutil
import sys
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parent
NUMBERS = ("table", "runs", "differences")
PAGES = (DOCS / "REPRODUCTION.md", DOCS / "FOLDERS.md")


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
        else:
            rewrite(name, without_folders((Path(folder) / "table.md").read_text(encoding="utf-8")))
            for kind in NUMBERS:
                numbers = without_folders((Path(folder) / f"{kind}.csv").read_text(encoding="utf-8"))
                (DOCS / "figures" / f"{kind}-{name}.csv").write_text(numbers, encoding="utf-8")


if __name__ == "__main__":
    main()
