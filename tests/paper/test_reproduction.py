"""docs/REPRODUCTION.md and docs/FOLDERS.md have a place for every experiment, and docs/reproduction.py fills it."""

import csv
import importlib.util
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from c3clust import methods, paper
from c3clust.bench import Job, Result
from c3clust.bench.format import write
from c3clust.bench.statistics import paired
from c3clust.paper import departures
from c3clust.paper.findings import difference
from c3clust.paper.values import read_rows, select

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
        for kind in ("table", "runs", "differences"):
            (tmp_path / name / f"{kind}.csv").write_text(f"{kind} of {name}\n")
    (tmp_path / "b" / "five.md").write_text("the paper's table\n")
    for name in paper.names()[1:]:
        (tmp_path / "b" / f"{name}.md").write_text(f"found in {name}\n")
        Image.new("RGB", (8, 8), "white").save(tmp_path / "b" / f"{name}.png")
        (tmp_path / "b" / f"{name}.csv").write_text(f"numbers\n{len(name)}\n")
    (tmp_path / "a" / "runs.csv").write_text("/home/me/photos.tar,runs/a\n")
    page = script(f"digits={tmp_path / 'a'}", f"figures={tmp_path / 'b'}")
    assert (tmp_path / "figures" / "runs-digits.csv").read_text() == "photos.tar,runs/a\n"
    assert "<!-- digits: begin -->\n| table | a |\n<!-- digits: end -->" in page
    assert "| table | b |" not in page
    for kind in ("table", "differences"):
        assert (tmp_path / "figures" / f"{kind}-digits.csv").read_text() == f"{kind} of a\n"
    for name in paper.names()[1:]:
        assert f"<!-- {name}: begin -->\nfound in {name}\n<!-- {name}: end -->" in page
        assert f"(figures/{name}.png)" in page
        assert (tmp_path / "figures" / f"{name}.png").exists()
        assert (tmp_path / "figures" / f"{name}.csv").read_text() == f"numbers\n{len(name)}\n"
    assert script(f"digits={tmp_path / 'a'}") == page  # again changes nothing


def run(method, seed, acc, encoder="", epochs=3, status="ok"):
    """A result on digits with a budget."""
    scores = None if acc is None else {"acc": acc, "nmi": acc / 2, "ari": acc / 4}
    job = Job("/home/me/digits.tar", method, seed=seed, budget=30)
    made = Result(job, Path("/home/me/runs") / f"{method}-s{seed}", status, "", scores, None, 40.0, 20.0, encoder)
    return replace(made, allowed={"epochs": epochs, "pretrain_epochs": 2}, share=0.5)


def test_runs_are_added_to_those_of_the_page(script, tmp_path):
    old = [
        run("cc", 0, 0.5),
        run("dec", 0, 0.25),
        run("cc", 0, 0.75, "some encoder"),
        run("vae", 0, None, status="failed"),
    ]
    new = [run("c3", 0, 0.875), *(run("dec", seed, 0.625, epochs=4) for seed in range(3))]
    every = [old[3], new[1], *new[2:], old[0], new[0], old[2]]
    for name, results in (("old", old), ("new", new), ("every", every)):
        (tmp_path / name).mkdir()
        write(tmp_path / name, results, [("c3", "cc")])
    expected = script(f"equal-digits={tmp_path / 'every'}")
    numbers = {path.name: path.read_text() for path in (tmp_path / "figures").iterdir()}
    assert script(f"equal-digits={tmp_path / 'old'}") != expected
    assert script(f"equal-digits+={tmp_path / 'new'}") == expected
    assert {path.name: path.read_text() for path in (tmp_path / "figures").iterdir()} == numbers
    assert "| DEC | 0.625 ± 0.000 |" in expected
    write(tmp_path / "new", [run("cc", 1, 0.5, epochs=7)])
    with pytest.raises(SystemExit, match=r"cc on .* different numbers of epochs"):
        script(f"equal-digits+={tmp_path / 'new'}")


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


def block(name):
    page = (DOCS / "REPRODUCTION.md").read_text(encoding="utf-8")
    return page.partition(f"<!-- {name}: begin -->")[2].partition(f"<!-- {name}: end -->")[0]


@pytest.mark.parametrize("name", ["digits", "mnist-10k"])
def test_the_tables_of_methods_have_their_numbers_beside_them(name):
    lines = [line.replace("**", "") for line in block(name).splitlines() if line.count("|") == 8]
    rows = read_rows(DOCS / "figures" / f"table-{name}.csv")
    assert len(rows) == len(lines) - 2  # without the head
    for row, line in zip(rows, lines[2:], strict=True):
        scores = " | ".join(f"{row[f'{m}_mean']:.3f} ± {row[f'{m}_std']:.3f}" for m in ("acc", "nmi", "ari"))
        assert line.startswith(f"| {row['name']} | {scores} |")
        assert line.endswith(f"| {row['n']:.0f} |")


def score(row, metric):
    """A cell of a table: mean ± standard deviation, the one value, or a dash."""
    mean, std = row[f"{metric}_mean"], row[f"{metric}_std"]
    return f"{mean:.3f}" + (f" ± {std:.3f}" if isinstance(std, float) else "") if isinstance(mean, float) else "–"


@pytest.mark.parametrize("name", ["equal-digits", "equal-mnist-10k", "equal-features"])
def test_the_tables_with_equal_budgets_have_every_seed_beside_them(name):
    assert block(name).strip()
    if "not run yet" in block(name):
        pytest.skip("this table has not been made yet")
    lines = [line.replace("**", "") for line in block(name).splitlines() if line.count("|") == 9]
    lines = [line for line in lines if not line.startswith(("| method", "|---"))]
    means, runs = (read_rows(DOCS / "figures" / f"{kind}-{name}.csv") for kind in ("table", "runs"))
    for row, line in zip(means, lines, strict=True):
        assert line.startswith(f"| {row['name']} | {' | '.join(score(row, m) for m in ('acc', 'nmi', 'ari'))} |")
        of_row = [run for run in runs if run["method"] == row["method"] and row["data"].startswith(run["data"])]
        values = [run["acc"] for run in of_row if isinstance(run["acc"], float)]
        assert len(values) == row["n"]
        assert not values or sum(values) / len(values) == pytest.approx(row["acc_mean"], abs=1e-5)


PLACES = {
    "mnist-10k": ("equal-mnist-10k", "MNIST-10k"),
    "digits": ("equal-digits", "digits"),
    "photos-subset.tar": ("equal-features", "features of photographs"),
    "cifar10-10k": ("equal-features", "features of CIFAR-10"),
}


@pytest.mark.parametrize("method", methods.names())
def test_every_method_is_compared_with_the_literature(method):
    found = []
    for data, (table, place) in PLACES.items():
        for row in read_rows(DOCS / "figures" / f"table-{table}.csv"):
            if row["method"] == method and row["data"].startswith(f"{data},"):
                found.append(f"{row['acc_mean']:.3f} on {place}")
    page = (DOCS / "METHODS.md").read_text(encoding="utf-8").partition("## Against the literature")[2]
    [line] = [line for line in page.splitlines() if line.startswith(f"| `{method}` |")]
    _, reported, here, reason = (cell.strip() for cell in line.strip("|").split("|"))
    assert reported
    assert here == ", ".join(found)
    assert reason


def test_the_differences_below_the_tables_have_their_numbers_beside_them():
    runs = read_rows(DOCS / "figures" / "departures.csv")
    first = [row for row in runs if row["seed"] < 3]  # the seeds of the tables
    for name in ("digits", "mnist-10k"):
        c3, cc = (select(first, data=name, variant=variant) for variant in ("C3 (default)", "CC"))
        cells = " | ".join(str(difference(c3, cc, metric)) for metric in ("acc", "nmi", "ari"))
        assert f"| C3 − CC | {cells} |" in block(name)
    gains = select(read_rows(DOCS / "figures" / "fig-help.csv"), pair="as published: C3 − CC")
    cells = " | ".join(str(paired([row[m] for row in gains], [0] * 3)) for m in ("acc", "nmi", "ari"))
    assert f"| C3 as published − CC as published | {cells} |" in block("digits")


def test_the_study_has_its_numbers_beside_it():
    assert departures.table(read_rows(DOCS / "figures" / "departures.csv")).strip() in block("departures-table")


def test_the_ideas_have_their_numbers_beside_them():
    page = (DOCS / "REPRODUCTION.md").read_text(encoding="utf-8").replace("`", "")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines()]
    with open(DOCS / "figures" / "ideas.csv", newline="", encoding="utf-8") as file:
        ideas = list(csv.reader(file))[1:]
    assert len(ideas) == 13
    assert all(idea in cells for idea in ideas)


def test_the_rehearsal_has_its_numbers_beside_it():
    page = (DOCS / "REPRODUCTION.md").read_text(encoding="utf-8").partition("## At the paper's size")[2]
    told = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"][2:]
    with open(DOCS / "figures" / "rehearsal.csv", newline="", encoding="utf-8") as file:
        rows = {(row["data"], row["stage"], row["batch"]): row for row in csv.DictReader(file)}
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
    assert len(told) == 10
    for name, stage, batch, *cells in told:
        data = name.lower().replace("cifar-", "cifar")
        row = rows[data, {"1": "cc", "2": "c3"}[stage], batch]
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
