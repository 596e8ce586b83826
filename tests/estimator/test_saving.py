"""What model.json, model.safetensors and checkpoints may hold: wrong values are one sentence, never a result."""

import json

import numpy as np
import pytest
import torch

from c3clust import CC, KMeans, load
from c3clust.errors import InputError, RunError
from c3clust.files import model_io
from c3clust.runs import Run
from c3clust.training.checkpoint import Checkpoints, TrainingState

X = np.random.default_rng(0).random((12, 4)).astype(np.float32)


@pytest.fixture
def model(tmp_path):
    return KMeans(2, random_state=0).fit(X).save(tmp_path / "model")


def forge(path, tensors=None, **fields):
    """Replace fields and tensors of a model or a checkpoint, with the hash made right."""
    content, found = model_io.read(path, "file")
    model_io.write(path, content | fields, {name: (tensors or {}).get(name, t) for name, t in found.items()})


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(model, value):
    _, tensors = model_io.read(model / "model", "model")
    name, weights = next((name, t) for name, t in sorted(tensors.items()) if t.is_floating_point() and t.ndim == 2)
    weights = weights.clone()
    weights.view(-1)[0] = value
    forge(model / "model", {name: weights})
    with pytest.raises(RunError, match="contains NaN or infinity"):
        load(model)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_an_empty_cluster_has_no_centre_and_the_model_is_whole(tmp_path):
    fitted = KMeans(3, random_state=0).fit(np.repeat(X[:2], 4, axis=0))
    fitted.save(tmp_path / "model")
    centres = model_io.read(tmp_path / "model" / "model", "model")[1]["outliers.centres"]
    assert centres.isnan().all(dim=1).any()
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), fitted.predict(X))
    forge(tmp_path / "model" / "model", {"outliers.centres": torch.full_like(centres, torch.nan)})
    with pytest.raises(RunError, match="the rule for outliers holds NaN"):
        load(tmp_path / "model")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"method": 3}, "'method' cannot be used"),
        ({"input_shape": ["4"]}, "'input_shape.0' cannot be used"),
        ({"input_shape": [3, 9000, 9000]}, "with at most"),
        ({"input_shape": [4, 4]}, "with at most"),
        ({"hook": 1}, "unknown field 'hook'"),
        ({"encoder": {"spec": "table"}}, "lacks the field 'encoder.settings'"),
        ({"encoder": []}, "'encoder' cannot be used"),
        ({"params": {"n_clusters": "two"}}, "damaged or of another kind"),
        ({"params": {"n_clusters": 10**8}}, "damaged or of another kind"),
        ({"params": {"n_clusters": 2, "scale": {}}}, "damaged or of another kind"),
        ({"params": {"n_clusters": 2, "hook": 1}}, "no parameter 'hook'"),
        ({"policy": {"policy": ["x"]}}, "damaged or of another kind"),
    ],
)
def test_wrong_fields(model, fields, told):
    forge(model / "model", **fields)
    with pytest.raises(RunError, match=told):
        load(model)


def test_a_parameter_that_the_method_does_not_have(model):
    with pytest.raises(InputError, match="is a model of kmeans, which has no parameter 'device'"):
        load(model, device="cpu")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run that was killed after the second of the three epochs that follow the first stage."""
    run = Run(tmp_path / "run", page=False)
    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, "save", saved_until(2))
        with pytest.raises(KeyboardInterrupt):
            fit(run)
    return tmp_path / "run"


def saved_until(epoch):
    save = Checkpoints.save

    def save_or_stop(self, stage, training):
        save(self, stage, training)
        if training.epoch == epoch:
            raise KeyboardInterrupt

    return save_or_stop


def fit(run):
    return CC(n_clusters=2, epochs=4, batch_size=4, projection_dim=2, random_state=0).fit(X, run_dir=run)


def newest(run):
    return max((run / "checkpoint").glob("*.json")).with_suffix("")


def test_a_checkpoint_is_taken_up(run):
    assert len(fit(Run(run, page=False)).stages_[-1]["curves"]["loss"]) == 4


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"epoch": 10**9}, "its name is that of another place"),
        ({"epoch": "2"}, "cannot be used|another place"),
        ({"step": 3}, "another place"),
        ({"curves": {"loss": [1.0]}}, "curves that are not of 2 epochs"),
        ({"curves": {"loss": "ab"}}, "'curves.loss' cannot be used"),
        ({"seconds": None}, "'seconds' cannot be used"),
        ({"hook": 1}, "unknown field 'hook'"),
    ],
)
def test_a_forged_checkpoint_is_refused(run, fields, told):
    forge(newest(run), **fields)
    with pytest.raises(RunError, match=told):
        fit(Run(run, page=False))


def test_training_is_not_skipped_by_a_forged_epoch(run):
    """Also if the name of the file says the same."""
    old = newest(run)
    content, tensors = model_io.read(old, "checkpoint")
    curves = {name: [0.5] * 99 for name in content["curves"]}
    model_io.write(old.with_name(f"{old.name[0]}-00099-000000"), content | {"epoch": 99, "curves": curves}, tensors)
    with pytest.raises(RunError, match="epoch 99 of a stage of 4 epochs"):
        fit(Run(run, page=False))


def test_a_checkpoint_with_nan_is_refused(run):
    _, tensors = model_io.read(newest(run), "checkpoint")
    name = next(name for name in tensors if name.startswith("network.") and name.endswith("weight"))
    forge(newest(run), {name: torch.full_like(tensors[name], torch.nan)})
    with pytest.raises(RunError, match="NaN or infinity"):
        fit(Run(run, page=False))


@pytest.mark.parametrize("note", [None, {}, {"name": 1, "curves": {}}, {"name": "cc", "curves": {"loss": [{}]}}])
def test_a_forged_end_of_a_stage_is_refused(tmp_path, note):
    network = torch.nn.Linear(3, 2)
    state = TrainingState(network, {}, None, torch.Generator(), X, (4,))
    (tmp_path / "checkpoint").mkdir()
    Checkpoints(tmp_path).save_end(0, network, state, {"name": "cc", "curves": {"loss": [1.0]}})
    assert Checkpoints(tmp_path).restore_end(0, network, torch.Generator())["name"] == "cc"
    path = tmp_path / "checkpoint" / "0-end"
    forge(path, note=note)
    with pytest.raises(RunError, match="does not belong to this run"):
        Checkpoints(tmp_path).restore_end(0, network, torch.Generator())
    assert json.loads(path.with_suffix(".json").read_text())["note"] == note
