"""The pages of results have a place for every experiment, and docs/reproduction.py fills it."""

import csv
import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
from PIL import Image

from c3clust import paper
from c3clust.bench.ranking import ranking
from c3clust.bench.statistics import mean_and_std, rows
from c3clust.paper.findings import difference
from c3clust.paper.values import distinct, read_rows, select

DOCS = Path(__file__).parents[2] / "docs"


def module():
    """docs/reproduction.py"""
    spec = importlib.util.spec_from_file_location("reproduction", DOCS / "reproduction.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script, working on copies of the pages."""
    made = module()
    copies = tuple(Path(shutil.copy(page, tmp_path)) for page in made.PAGES)
    monkeypatch.setattr(made, "DOCS", tmp_path)
    monkeypatch.setattr(made, "PAGES", copies)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["reproduction.py", *words])
        made.main()
        return "".join(page.read_text(encoding="utf-8") for page in copies)

    return run


def test_tables_and_findings_are_put_between_their_markers(script, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ranking.md").write_text(f"| table | {name} |\n")
    (tmp_path / "b" / "five.md").write_text("the paper's table\n")
    for name in paper.names()[1:]:
        (tmp_path / "b" / f"{name}.md").write_text(f"found in {name}\n")
        Image.new("RGB", (8, 8), "white").save(tmp_path / "b" / f"{name}.png")
        (tmp_path / "b" / f"{name}.csv").write_text(f"numbers\n{len(name)}\n")
    (tmp_path / "a" / "runs.csv").write_text("/home/me/photos.tar,runs/a\n")
    page = script(f"ranking-digits={tmp_path / 'a'}", f"figures={tmp_path / 'b'}")
    assert (tmp_path / "figures" / "ranking-digits.csv").read_text() == "photos.tar,runs/a\n"
    assert "<!-- ranking-digits: begin -->\n| table | a |\n<!-- ranking-digits: end -->" in page
    assert "| table | b |" not in page
    for name in paper.names()[1:]:
        assert f"<!-- {name}: begin -->\nfound in {name}\n<!-- {name}: end -->" in page
        if (DOCS / "figures" / f"{name}.png").exists():
            assert f"figures/{name}.png)" in page
        assert (tmp_path / "figures" / f"{name}.png").exists()
        assert (tmp_path / "figures" / f"{name}.csv").read_text() == f"numbers\n{len(name)}\n"
    assert script(f"ranking-digits={tmp_path / 'a'}") == page  # again changes nothing


def test_figures_in_the_page_are_small():
    for figure in (DOCS / "figures").glob("*.png"):
        assert figure.stat().st_size < 150_000, figure


@pytest.mark.parametrize("name", paper.names()[1:])
def test_the_findings_of_the_page_follow_from_the_numbers_beside_it(name, tmp_path):
    if not (DOCS / "figures" / f"{name}.png").exists():
        pytest.skip("no figure of this experiment is in docs/figures")
    shutil.copy(DOCS / "figures" / f"{name}.csv", tmp_path)
    paper.redraw(name, tmp_path)
    found = (tmp_path / f"{name}.md").read_text(encoding="utf-8").strip()
    pages = "".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    assert f"<!-- {name}: begin -->\n{found}\n<!-- {name}: end -->" in pages


def block(name):
    page = (DOCS / "REPRODUCTION_APPENDIX.md").read_text(encoding="utf-8")
    return page.partition(f"<!-- {name}: begin -->")[2].partition(f"<!-- {name}: end -->")[0]


def test_the_ranking_follows_from_the_runs_beside_it():
    if not (DOCS / "figures" / "ranking-digits.csv").exists():
        pytest.skip("the runs of the ranking are not in docs/figures")
    runs = module().read_runs(DOCS / "figures" / "ranking-digits.csv")
    page = (DOCS / "METHODS.md").read_text(encoding="utf-8")
    found = ranking(rows(runs)).strip()
    assert f"<!-- ranking-digits: begin -->\n{found}\n<!-- ranking-digits: end -->" in page
    assert min(run.job.seed for run in runs) >= 100


def test_the_study_with_a_warm_up_has_its_numbers_beside_it():
    study = read_rows(DOCS / "figures" / "warmup.csv")
    data = distinct(study, "data")
    names = distinct(study, "variant")
    lines = []
    for name in names:
        here = [select(study, data=each, variant=name) for each in data]
        start = [select(study, data=each, variant=names[0]) for each in data]
        if name == names[0]:
            cells = [f"{mean_and_std([row['acc'] for row in of])}, n = {len(of)}" for of in start]
        else:
            cells = [str(difference(of, before)) for of, before in zip(here, start, strict=True)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    assert "\n".join(lines) in block("warmup")


def test_the_ideas_have_their_numbers_beside_them():
    page = (DOCS / "REPRODUCTION_APPENDIX.md").read_text(encoding="utf-8").replace("`", "")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()]
    with open(DOCS / "figures" / "ideas.csv", newline="", encoding="utf-8") as file:
        ideas = list(csv.reader(file))[1:]
    assert len(ideas) == 13
    assert all(idea in cells for idea in ideas)


def test_the_rehearsal_has_its_numbers_beside_it():
    page = (
        (DOCS / "REPRODUCTION_APPENDIX.md").read_text(encoding="utf-8").partition("## What the paper's size costs")[2]
    )
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"][2:]
    with open(DOCS / "figures" / "rehearsal.csv", newline="", encoding="utf-8") as file:
        known = {(row["data"], row["stage"], row["batch"]): row for row in csv.DictReader(file)}
    columns = (
        "step_seconds",
        "memory_gb",
        "recipe_batch",
        "recipe_memory_gb",
        "recipe_steps",
        "days_here",
        "days_v100",
    )
    units = {"days": 1.0, "h": 1 / 24, "min": 1 / 1440}
    assert len(shown) == 10
    for name, stage, batch, *cells in shown:
        data = name.lower().replace("cifar-", "cifar")
        row = known[data, {"1": "cc", "2": "c3"}[stage], batch]
        for column, cell in zip(columns, cells, strict=True):
            number, _, unit = cell.replace(",", "").partition(" ")
            factor = units[unit] if column.startswith("days") else 1.0
            assert float(number) * factor == pytest.approx(float(row[column]), rel=0.06, abs=0.006), (name, column)


def test_every_verdict_of_the_page_has_enough_seeds():
    page = (DOCS / "REPRODUCTION.md").read_text(encoding="utf-8")
    judged = [line for line in page.splitlines() if line.endswith(("| holds |", "| does not hold |"))]
    assert judged
    for line in judged:
        assert "n = 5" in line or "worst of 5 seeds" in line or "(a formula)" in line, line
    assert "bootstrap" not in page


def test_the_page_is_short_and_the_appendix_has_no_verdicts():
    page, appendix = (
        (DOCS / f"{name}.md").read_text(encoding="utf-8") for name in ("REPRODUCTION", "REPRODUCTION_APPENDIX")
    )
    assert page.count("\n") <= 300
    assert "hold |" not in appendix
