import numpy as np
import pytest
from sklearn.datasets import make_blobs

import c3clust
from c3clust import KMeans, Pin
from c3clust.records.state import State
from c3clust.report import editing
from c3clust.review.answers import relabel


@pytest.fixture
def run(tmp_path):
    """Three blobs in two clusters."""
    x, y = make_blobs(90, 8, centers=3, cluster_std=0.5, random_state=0)
    KMeans(2, random_state=0).fit(x.astype(np.float32), run_dir=tmp_path / "run")
    return tmp_path / "run", x.astype(np.float32), y


def joined(run, y):
    """The cluster with two blobs, and a sample of each."""
    labels = State.read(run).assignments.clusters
    cluster = next(i for i in (0, 1) if len(set(y[labels == i].tolist())) == 2)
    blobs = sorted(set(y[labels == cluster].tolist()))
    return cluster, [str(np.flatnonzero(y == blob)[0]) for blob in blobs]


def test_neighbours_of_an_answer_follow_and_the_others_stay(run):
    run, x, y = run
    _, (_, other) = joined(run, y)
    before = State.read(run).assignments.clusters
    pins = [Pin("in", (other,))]
    editing.pin(run, pins, *relabel(run, pins, ["mine"]))
    now = State.read(run)
    here = now.assignments.clusters == now.edits.find("mine")
    assert here[int(other)]
    assert here[y == y[int(other)]].mean() > 0.5
    assert (now.assignments.clusters[y != y[int(other)]] == before[y != y[int(other)]]).all()
    assert now.assignments.person.sum() == 1
    assert c3clust.load(run).predict(x).tolist() == now.assignments.clusters.tolist()
    editing.undo(run)
    np.testing.assert_array_equal(State.read(run).assignments.clusters, before)


def test_apart_not_and_together_hold(run):
    run, _, y = run
    cluster, (one, other) = joined(run, y)
    pins = [Pin("apart", (one, other)), Pin("not", (one,), cluster)]
    editing.pin(run, pins, *relabel(run, pins))
    labels = State.read(run).assignments.clusters
    assert labels[int(one)] != labels[int(other)]
    pins = [Pin("together", (one, other))]
    editing.pin(run, pins, *relabel(run, pins))
    labels = State.read(run).assignments.clusters
    assert labels[int(one)] == labels[int(other)]


def test_what_a_person_placed_before_stays(run):
    run, _, y = run
    _, (one, other) = joined(run, y)
    twin = str(np.flatnonzero(y == y[int(other)])[1])
    editing.confirm(run, twin)
    before = State.read(run).assignments.clusters[int(twin)]
    pins = [Pin("in", (other,))]
    editing.pin(run, pins, *relabel(run, pins))
    assert State.read(run).assignments.clusters[int(twin)] == before
    assert one != other
