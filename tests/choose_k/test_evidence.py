"""The evidence equals plain formulas, and one Gaussian cloud has none."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from c3clust.choose_k.evidence import MIDDLE, cluster_part, distances, gather, grid, silhouettes
from c3clust.rows import kept_above_chance, nearest


def blobs(k, each=30, d=6, seed=0):
    rng = np.random.default_rng(seed)
    centres = 8 * rng.normal(size=(k, d))
    return np.repeat(centres, each, axis=0).astype(np.float32) + rng.normal(size=(k * each, d)).astype(np.float32)


def test_the_numbers_that_are_tried():
    assert grid(3) == [1, 2]
    assert grid(40) == list(range(1, 11))
    many = grid(5000)
    assert many[:13] == [*range(1, 13), 14]
    assert many[-1] <= 120
    assert all(b / a < 1.2 for a, b in pairwise(many[12:]))


def test_silhouettes_of_nested_clusterings_are_scikit_learns():
    z = blobs(4)
    member = cluster_part(z, np.arange(len(z)), [1, 2, 3, 4, 7, 30], MIDDLE[0])
    assert member.silhouette[0] == 0
    for labels, found in list(zip(member.labels, member.silhouette, strict=True))[1:]:
        assert found == pytest.approx(silhouette_score(z, labels), abs=1e-4)


def test_a_cluster_of_one_sample_has_no_silhouette():
    z = np.array([[0.0], [0.1], [5.0]], dtype=np.float32)
    assert silhouettes(distances(z), [np.array([0, 0, 1])])[0] == pytest.approx(
        silhouette_score(z, [0, 0, 1]), abs=1e-6
    )


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


def test_resampled_clusterings_agree_at_the_right_number():
    found = gather(blobs(5), False, np.random.default_rng(0))
    assert found.stability[found.ks.index(5)] > 0.99
    assert found.stability[found.ks.index(9)] < 0.9
    assert found.error.shape == found.score.shape == found.kept.shape
