"""Update docs/REPRODUCTION.md: the tables between its markers, and the figures in docs/figures.

    c3clust paper all -o runs/paper
    c3clust paper table --data mnist-10k -o runs/mnist
    python docs/reproduction.py digits=runs/paper mnist-10k=runs/mnist figures=runs/paper

NAME=FOLDER inserts FOLDER/table.md between <!-- NAME: begin --> and <!-- NAME: end -->. figures=FOLDER copies figures
and the CSV files they are drawn from, and inserts the findings, each FOLDER/*.md, between the markers of its name.
Everything else is left unchanged.
"""

import re
import shutil
import sys
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).parent
PAGE = DOCS / "REPRODUCTION.md"


def rewritten(page: str, name: str, table: str) -> str:
    """The page with a new table between the markers of `name`."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if begin not in page or end not in page:
        sys.exit(f"{PAGE} has no markers for {name!r}.")
    return re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{table.strip()}\n{end}", page, flags=re.DOTALL)


def main() -> None:
    if not sys.argv[1:] or not all("=" in word for word in sys.argv[1:]):
        sys.exit(__doc__)
    page = PAGE.read_text(encoding="utf-8")
    (DOCS / "figures").mkdir(exist_ok=True)
    for word in sys.argv[1:]:
        name, _, folder = word.partition("=")
        if name == "figures":
            for figure in sorted(Path(folder).glob("*.png")):  # fewer colours: half the size
                small = Image.open(figure).convert("RGB").quantize(256, kmeans=8)
                small.save(DOCS / "figures" / figure.name, optimize=True)
                shutil.copy(figure.with_suffix(".csv"), DOCS / "figures")
            for findings in sorted(Path(folder).glob("*.md")):
                if findings.name != "table.md":
                    page = rewritten(page, findings.stem, findings.read_text(encoding="utf-8"))
        else:
            page = rewritten(page, name, (Path(folder) / "table.md").read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
