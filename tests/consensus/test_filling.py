"""Empty clusters are filled by splitting others."""

import numpy as np
import pytest

from c3clust import Consensus, acc
from c3clust.consensus import filling
from c3clust.consensus.filling import best_splits, separation


def blobs(sizes, seed=0, width=80, spread=0.1):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return (rng.normal(size=(len(sizes), width))[y] + spread * rng.normal(size=(len(y), width))).astype(np.float32), y


def test_the_cluster_that_holds_two_groups_is_split_first():
    x, y = blobs([40, 40, 10])
    labels = np.minimum(y, 1)  # groups 1 and 2 share a cluster
    first, second = best_splits(labels, x, 2)
    assert first.cluster == 1
    np.testing.assert_array_equal(first.leaving, y == 2)
    assert first.separation > second.separation


def test_clusters_too_large_for_a_tree_are_split_by_a_part(monkeypatch):
    monkeypatch.setattr(filling, "ANCHORS", 30)
    x, y = blobs([80, 40])
    np.testing.assert_array_equal(best_splits(np.zeros(120, int), x, 1)[0].leaving, y == 1)


def test_equal_samples_are_not_split():
    assert best_splits(np.zeros(9, int), np.ones((9, 4), np.float32), 1) == []


def test_two_samples_are_split():
    assert best_splits(np.zeros(2, int), np.eye(2, dtype=np.float32), 1)[0].leaving.sum() == 1


def test_separation_by_a_plain_loop():
    rows, inside = np.random.default_rng(0).normal(size=(9, 4)), np.arange(9) < 3
    means = [rows[inside].mean(0), rows[~inside].mean(0)]
    within = sum(((row - means[0 if i else 1]) ** 2).sum() for row, i in zip(rows, inside, strict=True)) / 9
    assert separation(rows, inside) == pytest.approx(((means[0] - means[1]) ** 2).sum() / within)


@pytest.mark.parametrize("prior", ["free", "auto"])
@pytest.mark.parametrize("seed", range(3))
def test_k_asked_is_k_given(prior, seed):
    """Overlapping classes of uneven sizes, for which heads without pressure leave clusters empty."""
    x, _ = blobs([150, 60, 30, 15, 8, 6], seed, spread=2.0)
    method = Consensus(6, prior=prior, random_state=seed).fit(x)
    assert len(set(method.labels_)) == 6
    np.testing.assert_array_equal(method.predict(x), method.labels_)


def test_a_group_without_a_cluster_gets_one():
    x, y = blobs([120, 120, 12], seed=1, spread=0.3)
    assert acc(y, Consensus(3, prior="free", random_state=0).fit_predict(x)) > 0.98
