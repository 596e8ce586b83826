"""The run folder: the same from Python and from the command line."""

import numpy as np
import pytest
from PIL import Image

from c3clust import KMeans, data, load, methods
from c3clust.errors import RunError
from c3clust.metrics import scores
from c3clust.records.record import RunRecord
from c3clust.report import editing
from c3clust.runs import Run


def test_an_unfinished_folder_is_not_a_run(tmp_path, monkeypatch):
    """Without record.json a folder is no run: it is written when all files that a model needs are complete."""
    monkeypatch.setattr(
        "c3clust.records.record.RunRecord.write", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full"))
    )
    images = data.load(np.random.default_rng(0).random((20, 4)))
    with pytest.raises(RunError, match="disk full"):
        KMeans(2).fit(images, run_dir=tmp_path / "run")
    assert not (tmp_path / "run" / "record.json").exists()


def test_python_and_the_command_line_leave_the_same_folder(tmp_path, three_kinds, c3clust):
    done = c3clust("fit", three_kinds, "-k", 3, "-o", tmp_path / "command", "--method", "kmeans", "-q")
    assert done.returncode == 0, done.stderr
    KMeans(3, random_state=0).fit(data.load(three_kinds), run_dir=tmp_path / "python")
    here, there = (sorted(p.name for p in (tmp_path / name).iterdir()) for name in ("python", "command"))
    assert here == there
    assert {"model.json", "assignments.csv", "labels.csv", "record.json", "report.html", "request.json"} <= set(here)
    one, other = (RunRecord.read(tmp_path / name / "record.json") for name in ("python", "command"))
    assert (one.scores, one.data, one.params, one.seed) == (other.scores, other.data, other.params, other.seed)
    assert (tmp_path / "python" / "assignments.csv").read_bytes() == (
        tmp_path / "command" / "assignments.csv"
    ).read_bytes()


def test_merges_hold_for_predictions_from_python_and_from_the_command_line(tmp_path, three_kinds, c3clust):
    KMeans(3, random_state=0).fit(data.load(three_kinds), run_dir=tmp_path / "run")
    editing.merge(tmp_path / "run", [2, 0])
    model, x = load(tmp_path / "run"), data.load(three_kinds)
    assert set(model.predict(x)) == {1, 2}
    assert model.predict_proba(x)[:, 0].max() == 0
    done = c3clust("predict", tmp_path / "run", three_kinds)
    labels = [int(line.split(",")[1]) for line in done.stdout.splitlines()[1:]]
    assert labels == model.predict(x).tolist()
    model.save(tmp_path / "copy")
    np.testing.assert_array_equal(load(tmp_path / "copy").predict(x), model.predict(x))


def test_a_folder_whose_name_begins_as_a_dataset_is_recorded_with_its_whole_path(tmp_path, monkeypatch):
    (tmp_path / "digits_scans").mkdir()
    for i in range(6):
        pixels = np.random.default_rng(i).integers(0, 256, (8, 8), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "digits_scans" / f"{i}.png")
    monkeypatch.chdir(tmp_path)
    run = Run(tmp_path / "run", page=False)
    KMeans(2, random_state=0).fit(data.load("digits_scans"), run_dir=run)
    assert run.record.data["place"] == str(tmp_path / "digits_scans")
    named = Run(tmp_path / "named", page=False)
    KMeans(2, n_init=1, random_state=0).fit(data.load("digits"), run_dir=named)
    assert named.record.data["place"] == "digits"


@pytest.mark.parametrize("method", ["dec", "idec", "dcn"])
def test_the_start_of_the_last_stage_is_scored(tmp_path, three_kinds, method):
    run = Run(tmp_path / "run", page=False)
    params = {"hidden": (8,), "pretrain_epochs": 1, "epochs": 1, "random_state": 0}
    fitted = methods.load(method)(3, **params).fit(data.load(three_kinds), run_dir=run)
    first, last = run.record.stages
    assert first["name"] == "dae"
    assert first["scores"] == scores(data.load(three_kinds).y, fitted.start_labels_)
    assert "scores" not in last
