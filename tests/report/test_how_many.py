"""The evidence for the number of clusters: as content of the page and as a table."""

import csv
import io
import shutil

import pytest

from c3clust.records.edits import Edits
from c3clust.report import editing, render
from c3clust.report.how_many import how_many, table, tree

KS = [1, 2, 3, 4, 5, 6]
LISTS = ("ks", "score", "low", "high", "above_cloud", "kept", "stability", "merges", "splits")


def choice(**changes):
    n = len(KS)
    found = {
        "chosen": 4, "runner_up": 2, "reason": "4 clusters were estimated, without labels; 2 would be next.",
        "ks": KS, "score": [0.0, 0.2, 0.25, 0.4, 0.35, -0.1], "low": [0.0, 0.1, 0.2, 0.35, 0.3, -0.2],
        "high": [0.0, 0.3, 0.3, 0.45, 0.4, 0.0], "above_cloud": [0.1] * n, "kept": [0.9] * n, "stability": [0.8] * n,
        "structure": 12.0, "looked_at": 600, "seconds": 1.0,
        "merges": [[[0], [2], 0.1], [[1], [3], 0.2], [[0, 2], [1, 3], 0.5]],
        "splits": [[3, 80, 70, 0.3], [1, 90, 60, 0.1]],
    }  # fmt: skip
    return found | changes


@pytest.fixture
def record(new_record):
    def make(command="c3clust fit photos -o runs/a --seed 1", **changes):
        return new_record(4, choice=choice(**changes), command=command)

    return make


def test_a_run_that_was_given_its_number_has_no_section(new_record):
    given = new_record(4)
    assert how_many(given, Edits(4), "runs/a") is None
    assert table(given) is None


def test_the_section_has_curves_tree_splits_and_the_command_of_the_next_number(record):
    found = how_many(record(), Edits(4), "runs/a")
    assert (found["chosen"], found["runner_up"], found["curves"]["ks"]) == (4, 2, KS)
    assert found["command"] == "c3clust fit photos --seed 1 -k 2 -o runs/a-2"
    assert found["tree"] == {
        "order": [0, 2, 1, 3],
        "leaves": [0, 1, 2, 3],
        "nodes": [[0, 2, 0.1], [1, 3, 0.2], [4, 5, 0.5]],
    }
    assert found["splits"] == [[3, 80, 70, 0.3], [1, 90, 60, 0.1]]


def test_merged_clusters_are_one_leaf_and_do_not_split(record):
    found = how_many(record(), Edits(4).merge([0, 3]), "runs/a")
    assert found["tree"]["leaves"] == [0, 1, 2]
    assert [node[:2] for node in found["tree"]["nodes"]] == [[0, 2], [1, 3]]
    assert found["splits"] == [[1, 90, 60, 0.1]]


def test_features_that_are_there_are_regrouped(new_record, new_quality):
    guided = new_record(4, choice=choice(), quality=new_quality())
    assert how_many(guided, Edits(4), "runs/a")["command"] == "c3clust regroup runs/a -k 2"


def test_one_cluster_has_a_sentence_only(record):
    empty = {name: [] for name in LISTS}
    one = record(chosen=1, runner_up=None, reason="All samples are the same: there is one cluster.", **empty)
    found = how_many(one, Edits(1), "runs/a")
    assert (found["curves"], found["tree"], found["command"], found["splits"]) == (None, None, None, [])
    assert table(one) is None


def test_curves_and_trees_that_do_not_fit_are_left_out(record):
    assert how_many(record(score=[0.1]), Edits(4), "runs/a")["curves"] is None
    for merges in ([[[9], [1], 0.1]], [[[], [1], 0.1]], [[[0], [1], 0.1], [[2], [3], 0.2]]):
        assert tree(merges, Edits(4)) is None


def test_an_empty_cluster_is_no_leaf():
    found = tree([[[0], [3], 0.1], [[2], [0, 3], 0.4]], Edits(4))
    assert found == {"order": [2, 0, 3], "leaves": [0, 2, 3], "nodes": [[0, 2, 0.1], [1, 3, 0.4]]}


def test_the_table_has_a_line_for_each_number(record):
    rows = list(csv.DictReader(io.StringIO(table(record()))))
    assert [int(row["clusters"]) for row in rows] == KS
    assert [row["role"] for row in rows] == ["", "runner-up", "", "chosen", "", ""]
    assert float(rows[5]["silhouette"]) == -0.1


def test_other_answers_and_probabilities_are_passed_on(record):
    found = record(others=[2, 6], doubt=0.4, chance=[0.0, 0.2, 0.1, 0.6, 0.1, 0.0])
    section, rows = how_many(found, Edits(4), "runs/a"), list(csv.DictReader(io.StringIO(table(found))))
    assert (section["others"], section["doubt"]) == ([2, 6], 0.4)
    assert [row["role"] for row in rows] == ["", "runner-up", "", "chosen", "", "other"]
    assert float(rows[3]["chance"]) == 0.6
    earlier = how_many(record(), Edits(4), "runs/a")
    assert (earlier["others"], earlier["doubt"]) == ([2], None)


def test_too_few_samples_are_not_blamed_on_a_number_that_was_found(kinds):
    sizes = [4, 4, 4, 4]
    assert "requested" in kinds(sizes)["sparse"].text
    found = kinds(sizes, choice=choice())["sparse"]
    assert "requested" not in found.text
    assert "fewer clusters" not in found.advice


# In a real browser


@pytest.fixture(scope="module")
def page_run(new_run, digits, tmp_path_factory):
    x, _ = digits
    path = tmp_path_factory.mktemp("how") / "run"
    return new_run(path, x, None, n_clusters=4, choice=choice(), command="c3clust fit digits -o run")


@pytest.mark.browser
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (375, "light"), (375, "dark")])
def test_the_page_shows_the_evidence(visit, page_run, width, scheme):
    page = visit(page_run.url, width, 812, color_scheme=scheme)
    section = page.locator("#how-many")
    assert "4 clusters were estimated, without labels" in section.locator(".lede").inner_text()
    chart = section.locator("[data-curve=score]")
    assert "chosen: 4" in chart.locator("svg").text_content()
    assert "next: 2" in chart.locator("svg").text_content()
    assert chart.locator(".band").count() == 1
    assert "4 clusters have 0.4" in chart.locator("svg").get_attribute("aria-label")
    assert chart.locator(".read").inner_text() == "4 clusters: 0.40 (0.35 to 0.45)"
    assert "c3clust fit digits -k 2 -o " in section.locator(".notes").inner_text()
    assert section.locator(".tree svg .join").count() == 3
    assert "Next: Cluster 0 and Cluster 2." in section.locator(".tree").inner_text()
    assert "c3clust split " in section.locator(".related").inner_text()
    assert section.locator(".splits li").first.inner_text().strip() == "Cluster 3 into 80 and 70, silhouette 0.30"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (page_run.path / "how_many.csv").exists()


@pytest.mark.browser
def test_the_curve_is_read_under_the_mouse(visit, page_run):
    page = visit(page_run.url)
    svg = page.locator("#how-many [data-curve=score] svg")
    svg.scroll_into_view_if_needed()
    box = svg.bounding_box()
    page.mouse.move(box["x"] + 39, box["y"] + 100)
    read = page.locator("#how-many [data-curve=score] .read")
    assert read.inner_text() == "2 clusters: 0.20 (0.10 to 0.30)"
    page.mouse.move(box["x"], box["y"] - 60)
    assert read.inner_text() == "4 clusters: 0.40 (0.35 to 0.45)"


@pytest.mark.browser
def test_hostile_names_stay_text_in_the_tree(visit, page_run, tmp_path):
    path = shutil.copytree(page_run.path, tmp_path / "run")
    editing.label(path, {0: "<img src=x onerror=alert(1)>"})
    render(path)
    page = visit((path / "report.html").as_uri())
    assert "<img src=x" in page.locator(".tree svg").text_content()


@pytest.mark.browser
def test_one_cluster_is_a_sentence(visit, new_run, digits, tmp_path):
    empty = {name: [] for name in LISTS}
    one = choice(chosen=1, runner_up=None, reason="All samples are the same: there is one cluster.", **empty)
    made = new_run(tmp_path / "run", digits[0], None, n_clusters=1, choice=one)
    section = visit(made.url).locator("#how-many")
    assert "there is one cluster" in section.inner_text()
    assert section.locator("svg").count() == 0
