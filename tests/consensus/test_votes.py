"""Matching and voting."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from c3clust.consensus.votes import consensus, matched_agreement, rand_index

RNG = np.random.default_rng(0)


def vote(labels, K):
    return consensus(np.eye(K)[labels])[1].argmax(1)


def renamed(labels, K, seed):
    return np.random.default_rng(seed).permutation(K)[labels]


def test_the_names_of_clusters_do_not_matter():
    y = RNG.integers(0, 4, 100)
    clusterings = np.stack([renamed(y, 4, seed) for seed in range(5)])
    assert matched_agreement(vote(clusterings, 4), y, 4) == 1


def test_the_vote_is_better_than_its_members():
    y = RNG.integers(0, 3, 600)
    noisy = np.stack([np.where(RNG.random(600) < 0.3, RNG.integers(0, 3, 600), y) for _ in range(7)])
    noisy = np.stack([renamed(labels, 3, seed) for seed, labels in enumerate(noisy)])
    members = [matched_agreement(labels, y, 3) for labels in noisy]
    assert matched_agreement(vote(noisy, 3), y, 3) > max(members) + 0.1


def test_the_mean_of_matched_assignments_sums_to_one():
    q = RNG.random((4, 50, 3))
    q /= q.sum(2, keepdims=True)
    order, mean = consensus(q)
    np.testing.assert_allclose(mean.sum(1), 1)
    assert all(sorted(each) == [0, 1, 2] for each in order)


def test_the_rand_index_is_scikit_learns():
    for k in (1, 2, 5):
        a, b = RNG.integers(0, k, 60), RNG.integers(0, k + 1, 60)
        assert rand_index(a, b) == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)
        assert rand_index(a, a) == 1
