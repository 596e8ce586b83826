"""split, regroup and undo of a finished run: every command and `load` follow."""

import csv
import json
import os
import shutil

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits, make_blobs

import c3clust
from c3clust import CC, Consensus, KMeans
from c3clust.errors import InputError, RunError
from c3clust.estimator.splits import Split
from c3clust.records.assignments import Assignments
from c3clust.records.changes import Change, current, states
from c3clust.records.edits import Edits
from c3clust.report import View


@pytest.fixture(scope="module")
def blobs():
    far = 40 * np.eye(80)[[0, 0, 1, 1, 2, 2]]  # three pairs of near ones
    x, y = make_blobs(180, 80, centers=far + 12 * np.eye(80)[3:9], random_state=0)
    return x.astype(np.float32), y


@pytest.fixture(scope="module")
def fitted(blobs, tmp_path_factory):
    """Three clusters of two blobs each."""
    folder = tmp_path_factory.mktemp("fitted") / "run"
    Consensus(3, random_state=0).fit(blobs[0], run_dir=folder)
    return folder


@pytest.fixture
def run(fitted, tmp_path):
    return shutil.copytree(fitted, tmp_path / "run")


def labels(run):
    """The clusters of a run as its files have them; a loaded model agrees."""
    now = current(run)
    return Assignments.read(now).edited(Edits.read(now)).clusters


def assert_followed(run, x):
    model = c3clust.load(run)
    np.testing.assert_array_equal(model.predict(x), labels(run))
    proba = model.predict_proba(x)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-5)
    assert View.read(current(run)).n_clusters <= proba.shape[1] == model._edits().n_all


def test_split_merge_regroup_and_all_of_it_undone(run, blobs):
    x, y = blobs
    seen = [labels(run)]
    for change in (
        lambda: c3clust.label(run, {0: "zero", 1: "one"}),
        lambda: c3clust.split(run, 0, X=x),
        lambda: c3clust.merge(run, [1, 2]),
        lambda: c3clust.split(run, 1, into=4, X=x),
        lambda: c3clust.regroup(run, 6, X=x),
    ):
        change()
        assert_followed(run, x)
        seen.append(labels(run))
    assert c3clust.acc(y, seen[-1]) == 1
    assert np.bincount(seen[2]).tolist() == [30, 60, 60, 30]
    assert np.bincount(seen[4], minlength=7).tolist() == [30, 30, 0, 30, 30, 30, 30]
    for before in seen[-2::-1]:
        c3clust.undo(run)
        np.testing.assert_array_equal(labels(run), before)
        assert_followed(run, x)
    with pytest.raises(RunError, match="nothing to undo"):
        c3clust.undo(run)


def test_names_survive_where_clusters_do(run, blobs):
    x, _ = blobs
    c3clust.label(run, {1: "one"})
    c3clust.split(run, 0, X=x)
    assert Edits.read(current(run)).names == {1: "one"}
    before = labels(run) == 1
    c3clust.regroup(run, 3, X=x)
    ((number, name),) = Edits.read(current(run)).names.items()
    assert name == "one"
    np.testing.assert_array_equal(labels(run) == number, before)


def test_a_saved_model_keeps_its_splits(run, blobs, tmp_path):
    x, _ = blobs
    c3clust.merge(run, [0, 1])
    c3clust.split(run, 0, X=x)
    model = c3clust.load(run)
    again = c3clust.load(model.save(tmp_path / "saved"))
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    with pytest.raises(RunError, match="choose another folder"):
        model.save(tmp_path / "saved")


def test_the_page_and_the_list_of_clusters_follow(run, blobs):
    x, _ = blobs
    c3clust.split(run, 2, X=x)
    with open(run / "clusters.csv", newline="") as file:
        assert [row["samples"] for row in csv.DictReader(file)] == ["60", "60", "30", "30"]
    page = (run / "report.html").read_text()
    assert "3 clusters were asked for; 4 are left after splitting." in page
    c3clust.undo(run)
    assert "after splitting" not in (run / "report.html").read_text()


@pytest.mark.parametrize("outliers", [False, True])
def test_kmeans_is_regrouped(blobs, tmp_path, outliers):
    x, y = blobs
    KMeans(2, outliers=outliers, random_state=0).fit(x, run_dir=tmp_path / "run")
    c3clust.regroup(tmp_path / "run", 6, X=x)
    assert_followed(tmp_path / "run", x)
    found = labels(tmp_path / "run")
    assert c3clust.acc(y[found >= 0], found[found >= 0]) == 1


def test_images_from_scratch_keep_what_was_learned(tmp_path):
    x = load_digits().images[:160] / 16
    Consensus(3, members=2, epochs=1, guided_epochs=1, random_state=0).fit(x, run_dir=tmp_path / "run")
    learned = c3clust.load(tmp_path / "run").network_.f.state_dict()
    c3clust.regroup(tmp_path / "run", 4, X=x)
    assert_followed(tmp_path / "run", x)
    assert set(labels(tmp_path / "run")) == set(range(4))
    kept = c3clust.load(tmp_path / "run").network_.f.state_dict()
    assert all(torch.equal(learned[name], kept[name]) for name in learned)


def test_a_method_that_cannot_be_regrouped_says_so_and_splits(tmp_path):
    x = load_digits().images[:200] / 16
    CC(3, epochs=1, random_state=0).fit(x, run_dir=tmp_path / "run")
    with pytest.raises(InputError, match="CC learns its features for one number of clusters"):
        c3clust.regroup(tmp_path / "run", 5, X=x)
    assert len(states(tmp_path / "run")) == 1
    largest = int(np.bincount(labels(tmp_path / "run")).argmax())
    c3clust.split(tmp_path / "run", largest, X=x)
    assert_followed(tmp_path / "run", x)


def test_copies_stay_with_their_original(blobs, tmp_path):
    x = np.concatenate([blobs[0], blobs[0][:9]])
    Consensus(3, random_state=0).fit(x, run_dir=tmp_path / "run")
    c3clust.regroup(tmp_path / "run", 6, X=x)
    c3clust.split(tmp_path / "run", int(labels(tmp_path / "run")[0]), X=x)
    np.testing.assert_array_equal(labels(tmp_path / "run")[180:], labels(tmp_path / "run")[:9])


def test_mistakes_are_one_sentence(run, blobs):
    x, _ = blobs
    for call, told in (
        (lambda: c3clust.split(run, 7, X=x), "There is no cluster 7"),
        (lambda: c3clust.split(run, 0, into=1, X=x), "into=1"),
        (lambda: c3clust.split(run, 0, into=40, X=x), "40 parts need at least 80"),
        (lambda: c3clust.split(run, 0, X=x[:50]), "not those of"),
        (lambda: c3clust.split(run, 0), "fitted from Python"),
        (lambda: c3clust.regroup(run, 500, X=x), "500 clusters cannot be made of 180"),
    ):
        with pytest.raises((InputError, RunError, ValueError), match=told):
            call()
    assert not list((run / "changes").glob("*")) if (run / "changes").exists() else True


def test_damaged_and_hostile_changes_are_refused(run, blobs, tmp_path):
    x, _ = blobs
    c3clust.split(run, 0, X=x)
    path = run / "changes" / "1" / "change.json"
    good = json.loads(path.read_text())
    for wrong in ({"numbers": [0, 99]}, {"cluster": None}, {"op": "other"}, {"format": 2}, {"more": 1}):
        path.write_text(json.dumps(good | wrong))
        with pytest.raises(RunError, match=r"change\.json"):
            c3clust.load(run)
    path.write_text(json.dumps(good))
    os.rename(run / "changes" / "1", tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", run / "changes" / "1")
    assert current(run) == run, "a link is not followed"


def test_a_split_moves_probability_to_its_parts(run, blobs):
    x, _ = blobs
    before = c3clust.load(run).predict_proba(x)
    c3clust.split(run, 1, X=x)
    after = c3clust.load(run).predict_proba(x)
    np.testing.assert_allclose(after[:, 1] + after[:, 3], before[:, 1], atol=1e-6)
    np.testing.assert_allclose(after[:, [0, 2]], before[:, [0, 2]])
    assert Change.read(current(run)).numbers in ([1, 3], [3, 1])
    with pytest.raises(RunError, match="does not fit a model"):
        Split.read(current(run)).parts(np.zeros((1, 3), np.float32))
