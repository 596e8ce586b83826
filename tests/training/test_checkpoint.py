"""A run that is interrupted anywhere goes on, and ends bit for bit as if nothing had happened."""

import json
import shutil

import numpy as np
import pytest
import torch

from c3clust import augment, load, methods
from c3clust.errors import RunError
from c3clust.files import model_io
from c3clust.runs import RunConfig
from c3clust.training.head import fit_head

SMALL = {
    "n_clusters": 3, "cc_epochs": 4, "cc_batch_size": 16, "pretrain_epochs": 2, "pretrain_batch_size": 16, "epochs": 3,
    "batch_size": 16, "hidden": (8,), "n_init": 2, "zeta": 0.8, "random_state": 0,
}  # fmt: skip
TRAINED = [name for name in methods.names() if "epochs" in methods.parameters(name)]


def make(name, **changes):
    known = methods.parameters(name)
    return methods.load(name)(**{k: v for k, v in (SMALL | changes).items() if k in known})


class Killed(BaseException):
    """Stands for SIGKILL within one process; tests/test_kill.py sends real ones."""


def killed_at(monkeypatch, step):
    """Training stops before its `step`th batch of views is made. (With partners, a step makes two, each by `view`.)"""
    made = []

    def counted(function):
        def call(*args):
            made.append(1)
            if len(made) == step:
                raise Killed
            return function(*args)

        return call

    monkeypatch.setattr(augment, "views", counted(augment.views))
    monkeypatch.setattr(augment, "view", counted(augment.view))
    return made


def curves(stages):
    return [{name: c for name, c in stage["curves"].items() if name != "seconds"} for stage in stages]


def assert_same(one, other):
    for (name, a), b in zip(one.network_.state_dict().items(), other.network_.state_dict().values(), strict=True):
        assert torch.equal(a, b), name
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.confidence_, other.confidence_)
    assert curves(one.stages_) == curves(other.stages_)
    if hasattr(one, "start_labels_"):
        np.testing.assert_array_equal(one.start_labels_, other.start_labels_)


@pytest.fixture(scope="module", autouse=True)
def short_head():
    """Where C3 fits a head again, it takes few steps: most of the time of so small runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fit_head, "__defaults__", (10, 64))
        yield


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).random((56, 1, 8, 8)).astype(np.float32)  # 3 steps an epoch, 8 left over


SHARED = {"batch_size": 8, "target_size": 24, "passes": 2}  # targets of three batches, and of what remains
WAYS = [*((name, 0, {}) for name in TRAINED), ("c3_adaptive", 10, {}), ("dcn", 10, {})]
WAYS += [(name, 0, SHARED) for name in TRAINED if "target_size" in methods.parameters(name)]


@pytest.mark.parametrize(("name", "minutes", "changes"), WAYS)
def test_killed_again_and_again(name, minutes, changes, x, tmp_path, monkeypatch):
    """Each attempt gets a few steps further than the last: all stages, in and between epochs, are resumed."""
    whole = make(name, **changes).fit(x)
    one, attempts = make(name, **changes), 0
    while True:
        attempts += 1
        with monkeypatch.context() as patch:
            killed_at(patch, 4 if minutes == 0 else 5)
            try:
                one.fit(x, run_dir=tmp_path / "run", checkpoint_minutes=minutes)
                break
            except Killed:
                assert attempts < 50
                one = make(name, **changes)
    assert attempts > 2
    assert_same(whole, one)
    assert not (tmp_path / "run" / "checkpoint").exists()
    assert not (tmp_path / "run" / "lock").exists()
    np.testing.assert_array_equal(load(tmp_path / "run").predict_proba(x), whole.predict_proba(x))


def interrupted(folder, x, monkeypatch, step, name="c3_adaptive", **options):
    with monkeypatch.context() as patch:
        killed_at(patch, step)
        with pytest.raises(Killed):
            make(name).fit(x, run_dir=folder, **options)


@pytest.fixture(scope="module")
def whole(x):
    """What C3 gives when it is left alone."""
    return make("c3_adaptive").fit(x)


@pytest.fixture(scope="module")
def stopped(x, tmp_path_factory):
    """A run that was killed in the third epoch of its third stage."""
    folder = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch:
        interrupted(folder, x, patch, 4 * 3 + 2 * 3 + 1)
    return folder


@pytest.fixture
def run(stopped, tmp_path):
    return shutil.copytree(stopped, tmp_path / "run")


@pytest.mark.parametrize("damage", ["truncate", "flip", "json", "empty"])
@pytest.mark.parametrize("part", ["json", "safetensors"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(x, whole, run, caplog, damage, part):
    newest = run / "checkpoint" / f"2-00002-000000.{part}"
    content = bytearray(newest.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    newest.write_bytes({"truncate": content[:-9], "flip": content, "json": b"{}", "empty": b""}[damage])
    assert_same(whole, make("c3_adaptive").fit(x, run_dir=run))
    assert "the previous one used" in caplog.text
    assert "continued in stage 3 after epoch 1" in caplog.text


def test_the_search_for_zeta_is_done_again(x, tmp_path, monkeypatch):
    monkeypatch.setattr("c3clust.methods.c3_adaptive.zeta.STEPS", 25)  # of each probe
    whole = make("c3_adaptive").fit(x)
    with monkeypatch.context() as patch:
        killed_at(patch, 4 * 3 + 3 + 2 * 3 + 1)  # in the third epoch of the third stage; 3 batches served the search
        with pytest.raises(Killed):
            make("c3_adaptive").fit(x, run_dir=tmp_path / "run")
    one = make("c3_adaptive").fit(x, run_dir=tmp_path / "run")
    assert_same(whole, one)
    assert one.zeta_ == whole.zeta_


def test_two_places_and_all_finished_stages_are_kept(run):
    kept = sorted(path.name for path in (run / "checkpoint").glob("*.json"))
    assert kept == ["0-end.json", "1-end.json", "2-00001-000000.json", "2-00002-000000.json"]


def test_a_damaged_end_of_a_stage_is_trained_again(x, whole, run, caplog):
    (run / "checkpoint" / "0-end.safetensors").unlink()
    assert_same(whole, make("c3_adaptive").fit(x, run_dir=run))
    assert "0-end" in caplog.text


def test_another_request_is_refused(x, run):
    before = {path: path.read_bytes() for path in run.rglob("*.*")}
    with pytest.raises(RunError, match=r"zeta was 0\.8 and is 0\.7"):
        make("c3_adaptive", zeta=0.7).fit(x, run_dir=run)
    with pytest.raises(RunError, match="seed was 0 and is 1"):
        make("c3_adaptive", random_state=1).fit(x, run_dir=run)
    with pytest.raises(RunError, match="the data are not the same"):
        make("c3_adaptive").fit(1 - x, run_dir=run)
    with pytest.raises(RunError, match="method was 'c3_adaptive' and is 'cc'"):
        make("cc").fit(x, run_dir=run)
    assert before == {path: path.read_bytes() for path in run.rglob("*.*")}


def test_a_drawn_seed_is_kept(x, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        killed_at(patch, 8)
        with pytest.raises(Killed):
            make("cc", random_state=None).fit(x, run_dir=tmp_path / "run")
    seed = RunConfig.read(tmp_path / "run").seed
    assert_same(make("cc", random_state=seed).fit(x), make("cc", random_state=None).fit(x, run_dir=tmp_path / "run"))


def test_a_finished_fit_is_not_overwritten(x, tmp_path):
    make("kmeans").fit(x, run_dir=tmp_path / "run")
    with pytest.raises(RunError, match="contains a finished run"):
        make("kmeans").fit(x, run_dir=tmp_path / "run")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "letter.txt").touch()
    with pytest.raises(RunError, match="is not empty"):
        make("kmeans").fit(x, run_dir=tmp_path / "other")


def test_a_snapshot_comes_back_as_it_was(tmp_path):
    tensors = {"a": torch.arange(6.0).view(2, 3), "b": torch.zeros(0, dtype=torch.int64)}
    model_io.write(tmp_path / "s", {"curve": [0.1, 1e-300], "n": 3}, tensors)
    plain, again = model_io.read(tmp_path / "s", "checkpoint")
    assert plain == {"curve": [0.1, 1e-300], "n": 3}
    assert again.keys() == tensors.keys()
    assert all(torch.equal(tensors[name], t) for name, t in again.items())


def test_a_checkpoint_of_another_network_is_refused(x, run):
    path = run / "checkpoint" / "2-00002-000000"
    plain, tensors = model_io.read(path, "checkpoint")
    wrong = {name: t[:1] if name.endswith("weight") else t for name, t in tensors.items()}
    model_io.write(path, plain, wrong)
    with pytest.raises(RunError, match="does not belong to this run"):
        make("c3_adaptive").fit(x, run_dir=run)


@pytest.mark.parametrize("field", ["method", "params", "seed", "source", "data"])
def test_a_damaged_request_names_the_field(x, run, field):
    path = run / "request.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {field: 0.5}))
    with pytest.raises(RunError, match=field):
        make("c3_adaptive").fit(x, run_dir=run)
