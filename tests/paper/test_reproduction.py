"""docs/REPRODUCTION.md and docs/FOLDERS.md have a place for every experiment, and docs/reproduction.py fills it."""

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
from PIL import Image

from c3clust import paper

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script, working on copies of the pages."""
    spec = importlib.util.spec_from_file_location("reproduction", DOCS / "reproduction.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    copies = tuple(Path(shutil.copy(page, tmp_path)) for page in module.PAGES)
    monkeypatch.setattr(module, "DOCS", tmp_path)
    monkeypatch.setattr(module, "PAGES", copies)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["reproduction.py", *words])
        module.main()
        return "".join(page.read_text(encoding="utf-8") for page in copies)

    return run


def test_tables_and_findings_are_put_between_their_markers(script, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "table.md").write_text(f"| table | {name} |\n")
    for name in paper.names()[1:]:
        (tmp_path / "b" / f"{name}.md").write_text(f"found in {name}\n")
        Image.new("RGB", (8, 8), "white").save(tmp_path / "b" / f"{name}.png")
        (tmp_path / "b" / f"{name}.csv").write_text(f"numbers\n{len(name)}\n")
    page = script(f"digits={tmp_path / 'a'}", f"figures={tmp_path / 'b'}")
    assert "<!-- digits: begin -->\n| table | a |\n<!-- digits: end -->" in page
    assert "| table | b |" not in page
    for name in paper.names()[1:]:
        assert f"<!-- {name}: begin -->\nfound in {name}\n<!-- {name}: end -->" in page
        assert f"(figures/{name}.png)" in page
        assert (tmp_path / "figures" / f"{name}.png").exists()
        assert (tmp_path / "figures" / f"{name}.csv").read_text() == f"numbers\n{len(name)}\n"
    assert script(f"digits={tmp_path / 'a'}") == page  # again changes nothing


def test_figures_in_the_page_are_small():
    for figure in (DOCS / "figures").glob("*.png"):
        assert figure.stat().st_size < 150_000, figure


@pytest.mark.parametrize("name", paper.names()[1:])
def test_what_the_page_tells_follows_from_the_numbers_beside_it(name, tmp_path):
    if not (DOCS / "figures" / f"{name}.csv").exists():
        pytest.skip("no numbers of this experiment are in docs/figures")
    shutil.copy(DOCS / "figures" / f"{name}.csv", tmp_path)
    paper.redraw(name, tmp_path)
    found = (tmp_path / f"{name}.md").read_text(encoding="utf-8").strip()
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))
    assert f"<!-- {name}: begin -->\n{found}\n<!-- {name}: end -->" in pages
