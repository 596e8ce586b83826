"""--json of every command has the keys that docs/CLI_JSON.md documents."""

import json
import re
import shutil
from pathlib import Path

import pytest

DOCUMENT = (Path(__file__).parents[2] / "docs" / "CLI_JSON.md").read_text()
EXAMPLES = {
    command: json.loads(example)
    for heading, example in re.findall(r"## ([a-z, ]+)\n\n```json\n(.*?)\n```", DOCUMENT)
    for command in heading.split(", ")
}


def shape(value):
    """The keys of a value, at every depth; entries of lists and of named tables look alike."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items() if key not in ("folders", "experiments")}
    return [shape(value[0])] if isinstance(value, list) and value else None


def same_keys(found, documented):
    if isinstance(documented, dict):
        assert found is None or set(found) == set(documented)
        return all(same_keys(found[key], documented[key]) for key in documented) if found else True
    return same_keys(found[0], documented[0]) if found and documented else True


@pytest.fixture
def own(run, tmp_path):
    """A copy of the run that may be changed."""
    return shutil.copytree(run, tmp_path / "run")


def result(c3clust, *words):
    done = c3clust(*words, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert same_keys(shape(found), shape(EXAMPLES[words[0]])), words
    return found


def test_edits_and_predictions(c3clust, own, photos, tmp_path):
    named = result(c3clust, "label", own, "1=light")
    assert named == {
        "run": str(own),
        "clusters": [
            {"cluster": 0, "name": None, "merged": [], "size": 12},
            {"cluster": 1, "name": "light", "merged": [], "size": 12},
        ],
    }
    one = result(c3clust, "predict", own, photos / "light" / "1.png")
    assert one["n"] == 1
    assert one["samples"][0]["cluster_name"] == one["clusters"][one["samples"][0]["cluster"]]["name"]
    merged = [{"cluster": 1, "name": "light", "merged": [0], "size": 24}]
    assert result(c3clust, "merge", own, "1", "0")["clusters"] == merged
    told = result(c3clust, "predict", own, photos, "-o", tmp_path / "out.csv")
    assert told["clusters"] == merged
    assert told["samples"] is None
    assert (tmp_path / "out.csv").read_text().splitlines()[0] == "name,cluster,confidence,cluster_name"
    assert (tmp_path / "out.csv").read_text().splitlines()[1].endswith(",light")
    assert len(result(c3clust, "undo", own)["clusters"]) == 2
    assert result(c3clust, "report", own)["report"] == str(own / "report.html")
    assert set(result(c3clust, "evaluate", own)) == {"acc", "nmi", "ari"}
    assert result(c3clust, "export", own, "--to", tmp_path / "to", "--source", photos)["n"] == 24


def test_the_summary_of_predict(c3clust, run, photos, tmp_path):
    told = c3clust("predict", run, photos, "-o", tmp_path / "out.csv").stdout.splitlines()
    assert told[0].startswith("24 samples in ")
    assert sum(int(line.split()[0]) for line in told[1:]) == 24


def test_fits_splits_and_groups(c3clust, three_kinds, tmp_path):
    out = tmp_path / "kmeans"
    found = result(c3clust, "fit", three_kinds, "-k", "3", "--method", "kmeans", "-o", out)
    assert sum(each["size"] for each in found["clusters"]) == found["n"] == 48
    assert found["taken"] == "48 images (array 'x')"
    assert found["left"] == ["array 'y' (true labels, for scores only)"]
    assert len(result(c3clust, "split", out, "0")["clusters"]) == 4
    assert len(result(c3clust, "regroup", out, "-k", "2")["clusters"]) == 2


def test_lists_bench_and_paper(c3clust, three_kinds, tmp_path):
    for what in ("methods", "data", "encoders", "recipes", "experiments"):
        entries = json.loads(c3clust("list", what, "--json").stdout)
        assert all(entry["name"] and entry["about"] for entry in entries)
    result(c3clust, "list", "methods")
    words = ["bench", three_kinds, "--methods", "kmeans", "--seeds", "0", "-k", "3", "-o", tmp_path / "bench"]
    found = result(c3clust, *words)
    assert [each["status"] for each in found["results"]] == ["ok"]
    assert all(Path(path).is_file() for path in found["tables"])
    done = c3clust("paper", "fig-zeta", "-o", tmp_path / "paper", "--redraw", "--json")
    assert json.loads(done.stdout)["errors"]
