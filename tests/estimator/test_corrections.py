"""Samples that were placed by hand: predict, save, splits, regroupings and ONNX follow."""

import shutil

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import c3clust
from c3clust import KMeans
from c3clust.errors import RunError
from c3clust.estimator.corrections import Corrections
from c3clust.records.changes import current
from c3clust.records.state import State
from c3clust.report import editing


@pytest.fixture(scope="module")
def blobs():
    x, y = make_blobs(150, 8, centers=5, cluster_std=0.5, random_state=1)
    return x.astype(np.float32), y


@pytest.fixture(scope="module", params=[False, True], ids=["", "outliers"])
def fitted(blobs, tmp_path_factory, request):
    folder = tmp_path_factory.mktemp("fitted") / "run"
    return KMeans(4, random_state=0, outliers=request.param).fit(blobs[0], run_dir=folder)._folder_


@pytest.fixture
def run(fitted, tmp_path):
    return shutil.copytree(fitted, tmp_path / "run")


def names(members):
    return [str(i) for i in np.flatnonzero(members)]


def assert_followed(run, x):
    """A loaded model, a saved one and the files agree; labels and probabilities do where a sample is in a cluster."""
    model, now = c3clust.load(run), State.read(run).assignments
    np.testing.assert_array_equal(model.predict(x), now.clusters)
    proba = model.predict_proba(x)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-5)
    again = c3clust.load(model.save(run.parent / "saved"))
    np.testing.assert_array_equal(again.predict(x), now.clusters)
    np.testing.assert_allclose(again.predict_proba(x), proba, atol=1e-6)
    shutil.rmtree(run.parent / "saved")


def test_moves_splits_and_merges_in_any_order_and_all_of_it_undone(run, blobs):
    x, y = blobs
    seen = [State.read(run).assignments.clusters]
    for change in (
        lambda: editing.move(run, ["0", "7", "9"], 2),
        lambda: editing.discard(run, ["1", "2"]),
        lambda: editing.new_cluster(run, names(y == 3)[:10], "third"),
        lambda: c3clust.split(run, int(State.read(run).assignments.clusters[y == 0][0]), X=x),
        lambda: editing.move(run, ["1", "5"], "third"),
        lambda: c3clust.merge(run, [0, "third"]),
        lambda: editing.confirm(run, ["3", "1"]),
        lambda: c3clust.regroup(run, 3, X=x),
        lambda: editing.new_cluster(run, ["8"]),
    ):
        change()
        assert_followed(run, x)
        seen.append(State.read(run).assignments.clusters)
    assert seen[-1][2] == -1, "discarded samples stay so when the run is regrouped"
    for before in seen[-2::-1]:
        c3clust.undo(run)
        np.testing.assert_array_equal(State.read(run).assignments.clusters, before)
        assert_followed(run, x)


def test_new_samples_follow_a_cluster_made_by_hand(run, blobs):
    x, y = blobs
    labels = State.read(run).assignments.clusters
    joined = next(i for i in range(4) if len(set(y[labels == i].tolist())) > 1)
    blob = y[labels == joined][0]
    half = names(y == blob)
    edits = editing.new_cluster(run, half[: len(half) // 2], "mine")
    model, rng = c3clust.load(run), np.random.default_rng(0)
    near = x[y == blob][: len(half) // 2] + rng.normal(0, 0.05, (len(half) // 2, 8)).astype(np.float32)
    assert (model.predict(near) == edits.find("mine")).mean() > 0.9
    assert (model.predict(x[y != blob]) == labels[y != blob]).all(), "others stay"


def test_corrections_are_exact_on_noise():
    rng = np.random.default_rng(0)
    z, before, after = rng.normal(size=(3000, 4)).astype(np.float32), rng.integers(0, 5, 3000), None
    after = np.where(rng.random(3000) < 0.02, rng.integers(-1, 7, 3000), before)
    found = Corrections.of(z, before, after)
    labels, proba, corrected = found.apply(before, np.eye(7)[before], z)
    np.testing.assert_array_equal(labels, after)
    np.testing.assert_array_equal(corrected, before != after)
    assert (proba.argmax(axis=1)[after >= 0] == after[after >= 0]).all()
    assert Corrections.of(z, before, before) is None


def test_every_sample_can_be_moved(run, blobs):
    editing.discard(run, [str(i) for i in range(len(blobs[0]))])
    assert_followed(run, blobs[0])
    assert (c3clust.load(run).predict(blobs[0]) == -1).all()


def test_a_saved_model_has_no_names_of_samples(run, tmp_path):
    editing.new_cluster(run, ["17", "23"], "my name")
    folder = c3clust.load(run).save(tmp_path / "saved")
    assert "my name" in (folder / "edits.json").read_text()
    assert "17" not in (folder / "edits.json").read_text()


def test_onnx_follows(run, blobs, tmp_path):
    pytest.importorskip("onnxruntime")
    from c3clust.export import onnx_model

    x, y = blobs
    editing.new_cluster(run, names(y == 3)[:10], "third")
    c3clust.split(run, int(State.read(run).assignments.clusters[y == 0][0]), X=x)
    editing.discard(run, ["1", "2"])
    model = c3clust.load(run)
    found = onnx_model.load(model.to_onnx(tmp_path / "m.onnx"))
    np.testing.assert_array_equal(found.predict(x), State.read(run).assignments.clusters)
    np.testing.assert_allclose(found.predict_proba(x), model.predict_proba(x), atol=1e-5)
    assert found.names == {4: "third"}


def test_a_run_without_its_representation_says_so(run):
    (run / "z.npy").unlink()
    editing.move(run, "0", 1)
    with pytest.raises(RunError, match=r"no z\.npy"):
        c3clust.load(run)
    editing.undo(run)
    c3clust.load(run)


@pytest.mark.parametrize("damage", [b"", b"x" * 300, None])
def test_a_damaged_representation_is_named(run, damage):
    editing.move(run, "0", 1)
    if damage is None:
        np.save(run / "z.npy", np.zeros((3, 2), np.float32))
    else:
        (run / "z.npy").write_bytes(damage)
    with pytest.raises(RunError, match=r"z\.npy"):
        c3clust.load(run)
    assert current(run) == run
