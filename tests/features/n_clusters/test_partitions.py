"""Clusterings of the graph: clear clusters are found again at their number, and clouds have none."""

import numpy as np
import pytest

from c3clust.features.n_clusters.partitions import DIMENSIONS, found_again, partitions


def blobs(k, each=30, d=6, spread=8.0):
    rng = np.random.default_rng(0)
    x = np.repeat(spread * rng.normal(size=(k, d)), each, axis=0) + rng.normal(size=(k * each, d))
    return (x - x.mean(0)).astype(np.float32)


def test_jaccard_of_clusters_is_that_of_sets():
    a, b = np.array([0, 0, 0, 1, 1, 3]), np.array([5, 5, 2, 2, 2, 2])
    sets = [[{*np.flatnonzero(labels == c)} for c in np.unique(labels)] for labels in (a, b)]
    expected = [max(len(own & other) / len(own | other) for other in sets[1]) for own in sets[0]]
    assert found_again(a, b) == pytest.approx(expected)
    assert found_again(a, a) == pytest.approx(1)


@pytest.mark.parametrize("unit", [False, True])
def test_the_weakest_cluster_is_found_again_at_the_right_number(unit):
    found = partitions(blobs(5), unit, np.random.default_rng(0))
    at = found.ks.index(5)
    assert found.weakest[at] > 0.95
    assert found.weakest[at + 2 :].max() < 0.8
    assert found.eigenvalues[4] > 0.95 > found.eigenvalues[5]
    assert found.cloud[4] < 0.95


@pytest.mark.parametrize("n", [4, 5, 9, 30])
def test_few_samples_are_no_error(n):
    found = partitions(blobs(1, n), False, np.random.default_rng(0))
    assert found.weakest.shape == (len(found.ks),)
    assert len(found.eigenvalues) == len(found.cloud) == DIMENSIONS


def test_copies_are_no_error():
    copies = np.repeat(np.eye(3, dtype=np.float32), 20, axis=0) - np.float32(1 / 3)
    found = partitions(copies, False, np.random.default_rng(0))
    assert np.isfinite(found.weakest).all()
    assert found.weakest[found.ks.index(3)] == pytest.approx(1)
