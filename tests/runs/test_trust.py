"""Paths in the files of a run are used if its own user made it; of a stranger's run they must be named again."""

import json

import numpy as np
import pytest
from PIL import Image

from c3clust import methods
from c3clust.bench.job import Job, remember
from c3clust.errors import InputError, RunError
from c3clust.records.record import RunRecord
from c3clust.report.export import export_run
from c3clust.runs import RunConfig
from c3clust.runs.trust import trusted


@pytest.fixture
def photos(tmp_path):
    (tmp_path / "photos").mkdir()
    for i in range(8):
        pixels = np.random.default_rng(i).integers(0, 90, (8, 8)) + (150 if i % 2 else 0)
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "photos" / f"{i}.png")
    return tmp_path / "photos"


@pytest.fixture
def unfinished(c3clust, photos, tmp_path, monkeypatch):
    """A run that was begun by `c3clust fit` with a cache, and killed before its record was written."""
    words = ("fit", photos, "-k", 2, "--method", "kmeans", "-o", tmp_path / "run", "--cache", tmp_path / "cache", "-q")
    with monkeypatch.context() as patch:
        patch.setattr(RunRecord, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
        assert c3clust(*words).returncode == 2
    return tmp_path / "run"


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """From here on, the files that were sealed before are a stranger's."""

    def become():
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))

    return become


def change(path, **fields):
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def test_an_own_run_is_resumed_without_further_words(c3clust, unfinished):
    assert RunConfig.read(unfinished).is_own()
    done = c3clust("resume", unfinished, "-q")
    assert done.returncode == 0, done.stderr
    assert RunRecord.read(unfinished / "record.json").is_own()


def test_the_run_of_a_stranger_needs_its_source(c3clust, unfinished, photos, stranger, tmp_path):
    stranger()
    for path in (tmp_path / "cache").iterdir():
        path.unlink()
    done = c3clust("resume", unfinished)
    assert done.returncode == 2
    assert "was not started by you on this computer: give its data with --source" in " ".join(done.stderr.split())
    done = c3clust("resume", unfinished, "--source", photos, "-q")
    assert done.returncode == 0, done.stderr
    assert not any((tmp_path / "cache").iterdir())
    assert RunRecord.read(unfinished / "record.json").data["place"] == str(photos)


@pytest.mark.parametrize("field", ["source", "options", "params"])
def test_a_changed_request_is_a_strangers(unfinished, field, tmp_path):
    change(unfinished / "request.json", **{field: str(tmp_path) if field == "source" else {}})
    with pytest.raises(RunError, match="not started by you"):
        methods.resume(unfinished)


def test_what_a_stranger_may_not_choose(unfinished, photos):
    options = {"cache": "x", "root": "x", "outside": True, "workers": 10**6, "memory": 10**15, "image_size": 8}
    change(unfinished / "request.json", options=options)
    assert trusted(unfinished, RunConfig.read(unfinished), str(photos)).options == {"image_size": 8}


def test_an_encoder_and_a_start_of_a_stranger(unfinished, photos):
    params = json.loads((unfinished / "request.json").read_text())["params"]
    change(unfinished / "request.json", params=params | {"encoder": "st:someone/model"})
    with pytest.raises(RunError, match=r"its encoder 'st:someone/model' is not built in: name it with --encoder"):
        methods.resume(unfinished, source=str(photos))
    change(unfinished / "request.json", params=params | {"start": "/elsewhere"})
    with pytest.raises(RunError, match="starts from another run"):
        methods.resume(unfinished, source=str(photos))


def test_unknown_options_and_parameters(unfinished, photos):
    request = json.loads((unfinished / "request.json").read_text())
    change(unfinished / "request.json", options={"hook": "x"})
    with pytest.raises(RunError, match="'hook' is not an option"):
        methods.resume(unfinished, source=str(photos))
    change(unfinished / "request.json", options={}, params=request["params"] | {"hook": "x"})
    with pytest.raises(RunError, match="has no parameter 'hook'"):
        methods.resume(unfinished, source=str(photos))


def test_export_reads_no_place_that_a_stranger_names(c3clust, photos, tmp_path, stranger):
    run = tmp_path / "run"
    assert c3clust("fit", photos, "-k", 2, "--method", "kmeans", "-o", run, "-q").returncode == 0
    assert export_run(run, tmp_path / "own").n == 8
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key.png").write_text("secret")
    record = json.loads((run / "record.json").read_text())
    change(run / "record.json", data=record["data"] | {"place": str(tmp_path / "private")})
    (run / "assignments.csv").write_text("name,cluster,confidence\nkey.png,0,1.0\n")
    with pytest.raises(InputError, match="was not made by you on this computer: give the location"):
        export_run(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(InputError, match="does not contain the images of this run"):
        export_run(run, tmp_path / "out", str(photos))


def test_without_a_home_folder_nothing_is_sealed(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr("pathlib.Path.home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    RunConfig("cc", {}, 0, {"n": 12}).write(tmp_path)
    assert not RunConfig.read(tmp_path).is_own()


def test_the_key_is_for_its_owner_only(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    RunConfig("cc", {}, 0, {"n": 12}).write(tmp_path)
    assert RunConfig.read(tmp_path).is_own()
    assert (tmp_path / "state" / "c3clust" / "key").stat().st_mode & 0o077 == 0
    assert [path.name for path in (tmp_path / "state" / "c3clust").iterdir()] == ["key"]


def test_jobs_of_a_stranger_are_not_run(tmp_path, stranger):
    job = Job("digits", "kmeans", {"n_clusters": 10})
    assert remember(tmp_path, [job]) == remember(tmp_path, []) == [job]
    stranger()
    with pytest.raises(RunError, match="was not written by you"):
        remember(tmp_path, [])


def test_the_folder_of_features_beside_a_strangers_run_is_no_link(unfinished, photos, stranger, tmp_path):
    stranger()
    (tmp_path / "c3clust-features").symlink_to(photos)
    with pytest.raises(RunError, match="is a link"):
        methods.resume(unfinished, source=str(photos))


def test_whole_numbers_in_place_of_others_are_sealed_as_they_are(tmp_path):
    RunRecord("c3", 2, {}, 0, {"n": 2}, stages=[{"curves": {"loss": [1, 2.5]}}], seconds=3).write(tmp_path / "r.json")
    assert RunRecord.read(tmp_path / "r.json").is_own()
