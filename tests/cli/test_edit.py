"""label, merge and undo."""

import csv
import json


def test_names_and_merges_are_honoured_and_undone(c3clust, run, photos, tmp_path):
    assert "samples  cluster\n     12  0: cluster 0\n     12  1: day\n" in c3clust("label", run, "1=day").stdout
    assert c3clust("merge", run, 1, 0).stdout == "samples  cluster\n     24  1: day (merged with 0)\n"
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


def test_samples_are_moved_discarded_and_answered(c3clust, run, photos, tmp_path):
    def rows():
        with open(run / "assignments.csv", newline="") as file:
            return {row["name"]: row for row in csv.DictReader(file)}

    fitted = (run / "assignments.csv").read_bytes()
    first, second, third, *_ = sorted(rows())
    here, there = rows()[first]["cluster"], rows()[sorted(rows())[-1]]["cluster"]
    assert c3clust("label", run, f"{there}=far").returncode == 0
    done = c3clust("move", run, photos / first, second, "far")
    assert (done.returncode, done.stderr) == (0, "")
    assert {rows()[name]["cluster"] for name in (first, second)} == {there}
    assert rows()[third]["decided_by"] == "model"
    refused = c3clust("move", run, first, "lynxes")
    assert refused.returncode == 2
    assert "--new" in refused.stderr
    assert "lynxes" in c3clust("move", run, first, "lynxes", "--new").stdout
    answers = tmp_path / "answers.csv"
    answers.write_text(f"kind,sample,other,cluster\nin,{second},,lynxes\nnowhere,{third},,\nin,{first},,new:cats\n")
    assert c3clust("answer", run, answers).returncode == 0
    assert [rows()[name]["cluster_name"] for name in (first, second, third)] == ["cats", "lynxes", ""]
    predicted = csv.DictReader(c3clust("predict", run, photos).stdout.splitlines())
    assert {row["name"]: row["cluster"] for row in predicted} == {n: row["cluster"] for n, row in rows().items()}
    assert "no cluster" in c3clust("discard", run, "far").stdout
    assert {row["cluster"] for row in rows().values()} >= {"-1", here}
    assert "far" not in {row["cluster_name"] for row in rows().values()}
    for _ in range(5):
        assert c3clust("undo", run).returncode == 0
    assert (run / "assignments.csv").read_bytes() == fitted


def test_answers_that_cannot_be_read_name_their_line(c3clust, run, tmp_path):
    answers = tmp_path / "answers.csv"
    for row, why in (("in,nobody.png,,0", "not a sample"), ("beside,a,,", "kind of answer"), ("", "no answers")):
        answers.write_text(f"kind,sample,other,cluster\n{row}\n" if row else "kind,sample,other,cluster\n")
        done = c3clust("answer", run, answers)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert why in done.stderr
        assert not row or "line 2" in done.stderr


def test_split_and_merge_by_name(c3clust, photos, tmp_path):
    run = tmp_path / "run"
    assert c3clust("fit", photos, "-k", "2", "-o", run, "--method", "kmeans").returncode == 0
    c3clust("label", run, "0=day", "1=night")
    assert "2: cluster 2" in c3clust("split", run, "day").stdout
    assert "merged with" in c3clust("merge", run, "night", "day").stdout
    assert "evening" in c3clust("label", run, "night=evening").stdout


def test_a_run_without_its_representation_gets_it(c3clust, photos, tmp_path):
    run = tmp_path / "run"
    assert c3clust("fit", photos, "-k", "2", "-o", run, "--method", "kmeans").returncode == 0
    (run / "z.npy").unlink()
    name = sorted(path.relative_to(photos).as_posix() for path in photos.rglob("*.png"))[0]
    assert c3clust("discard", run, name).returncode == 0
    assert (run / "z.npy").exists()
    assert [row["cluster"] for row in csv.DictReader(c3clust("predict", run, photos / name).stdout.splitlines())] == [
        "-1"
    ]
