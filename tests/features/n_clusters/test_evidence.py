"""The evidence equals plain formulas, and one Gaussian cloud has none."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score, silhouette_score

from c3clust.features.n_clusters.evidence import (
    LINKS,
    Nested,
    cluster_part,
    cut,
    distances,
    gather,
    largest,
    silhouettes,
)
from c3clust.features.vectors import kept_above_chance, nearest


def blobs(k, each=30, d=6, seed=0):
    rng = np.random.default_rng(seed)
    centres = 8 * rng.normal(size=(k, d))
    return np.repeat(centres, each, axis=0).astype(np.float32) + rng.normal(size=(k * each, d)).astype(np.float32)


def test_every_number_is_tried_up_to_the_largest():
    assert [largest(n) for n in (3, 40, 400, 5000)] == [2, 10, 100, 120]
    assert gather(blobs(3), False, np.random.default_rng(0)).ks == list(range(1, 23))


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("most", [1, 2, 9, 60])
def test_a_tree_is_cut_as_scipy_cuts_it(link, most):
    z = np.random.default_rng(0).normal(size=(60, 3))
    tree = linkage(z, link)
    nested = cut(tree, most)
    assert nested.labels.shape == (most, 60)
    for k, labels in enumerate(nested.labels, start=1):
        assert np.unique(labels).tolist() == list(range(k))
        assert adjusted_rand_score(labels, fcluster(tree, k, "maxclust")) == 1


def test_a_tree_of_copies_is_cut_into_as_many_clusters():
    tree = linkage(np.repeat([[0.0], [1.0]], 5, axis=0), "ward")
    assert [len(np.unique(labels)) for labels in cut(tree, 6).labels] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("link", LINKS)
def test_silhouettes_of_nested_clusterings_are_scikit_learns(link):
    z = blobs(4)
    member = cluster_part(z, np.arange(len(z)), 30, (10, link))
    assert member.silhouette[0] == 0
    for labels, found in zip(member.labels[1:], member.silhouette[1:], strict=True):
        assert found == pytest.approx(silhouette_score(z, labels), abs=1e-4)


def test_a_cluster_of_one_sample_has_no_silhouette():
    z = np.array([[0.0], [0.1], [5.0]], dtype=np.float32)
    nested = Nested(np.array([[0, 0, 0], [0, 0, 1]]), [(0, 1)])
    assert silhouettes(distances(z), nested) == pytest.approx([0, silhouette_score(z, [0, 0, 1])], abs=1e-6)


def test_kept_neighbours_are_0_by_chance_and_1_at_best():
    z, rng = blobs(3), np.random.default_rng(0)
    near, true = nearest(z, 5), np.repeat(np.arange(3), 30)
    assert kept_above_chance(true, near) == pytest.approx(1)
    assert abs(kept_above_chance(rng.permutation(true), near)) < 0.15


def test_copies_of_three_samples_are_three_clusters():
    z = np.repeat(np.eye(3, dtype=np.float32), 20, axis=0)
    found = gather(z, False, np.random.default_rng(0))
    assert found.score[found.ks.index(3)] == pytest.approx(1, abs=1e-3)


def test_clusters_exceed_the_cloud_and_a_cloud_does_not():
    rng = np.random.default_rng(0)
    assert gather(blobs(4), False, rng).structure > 20
    assert gather(rng.normal(size=(200, 6)).astype(np.float32), False, rng).structure < 6


def test_directions_of_a_cloud_with_a_few_wide_axes_are_compared_with_the_same():
    found = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = (rng.normal(size=(300, 10)) / np.sqrt(np.arange(1, 11))).astype(np.float32)
        found.append(gather(x - x.mean(0), True, rng).structure)
    assert np.mean(found) < 2.5


def test_resampled_clusterings_agree_at_the_right_number():
    found = gather(blobs(5), False, np.random.default_rng(0))
    assert found.stability[found.ks.index(5)] > 0.99
    assert found.stability[found.ks.index(9)] < 0.9
    assert found.error.shape == found.score.shape == found.kept.shape
