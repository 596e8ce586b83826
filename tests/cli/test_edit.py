"""label, merge and undo."""

import csv
import json


def test_names_and_merges_are_honoured_and_undone(c3clust, run, photos, tmp_path):
    assert "     12  1: day\n" in c3clust("label", run, "1=day").stdout
    assert c3clust("merge", run, 1, 0).stdout == "     24  1: day (merged with 0)\n"
    assert {r["cluster"] for r in csv.DictReader(c3clust("predict", run, photos).stdout.splitlines())} == {"1"}
    assert json.loads(c3clust("evaluate", run, "--json").stdout)["acc"] == 0.5
    assert c3clust("undo", run).returncode == 0
    exported = c3clust("export", run, "--to", tmp_path / "sorted")
    assert exported.returncode == 0, exported.stderr
    assert sum(1 for _ in (tmp_path / "sorted").rglob("*.png")) == 24
    assert c3clust("undo", run).returncode == 0
    assert c3clust("report", run).returncode == 0


def test_suggested_names_are_taken_over_on_request(c3clust, run):
    folder = json.loads((run / "record.json").read_text())["suggested_names"]
    assert {name["source"] for name in folder.values()} == {"folder and file names"}
    assert c3clust("label", run, "0=mine", "--suggested").returncode == 0
    with open(run / "clusters.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["mine", rows[1]["suggested_name"]]
    assert c3clust("undo", run).returncode == 0
    assert c3clust("label", run).returncode == 2


def test_split_regroup_and_undo(c3clust, photos, tmp_path):
    run = tmp_path / "run"
    assert c3clust("fit", photos, "-k", "2", "-o", run, "--method", "kmeans", "--labels", "folders").returncode == 0
    assert "2: cluster 2" in c3clust("split", run, "0").stdout
    rows = list(csv.DictReader(c3clust("predict", run, photos).stdout.splitlines()))
    assert {row["cluster"] for row in rows} == {"0", "1", "2"}
    assert c3clust("regroup", run, "-k", "4").returncode == 0
    assert json.loads(c3clust("evaluate", run, "--json").stdout)["acc"] < 1
    exported = c3clust("export", run, "--to", tmp_path / "sorted")
    assert exported.stdout.startswith("24 images in 4 folders"), exported.stderr
    assert c3clust("undo", run).returncode == c3clust("undo", run).returncode == 0
    assert json.loads(c3clust("evaluate", run, "--json").stdout)["acc"] == 1
    done = c3clust("split", run, "9")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
