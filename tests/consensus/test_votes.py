"""Matching, voting and the selection of the prior."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from c3clust.consensus.votes import (
    EVIDENCE,
    consensus,
    matched_agreement,
    rand_index,
    select_prior,
    stability,
    vote,
)

RNG = np.random.default_rng(0)


def renamed(labels, K, seed):
    return np.random.default_rng(seed).permutation(K)[labels]


def test_the_names_of_clusters_do_not_matter():
    y = RNG.integers(0, 4, 100)
    clusterings = np.stack([renamed(y, 4, seed) for seed in range(5)])
    assert stability(clusterings) == pytest.approx(1)
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


def test_the_prior_on_which_members_agree_is_selected_and_even_sizes_are_kept_without_evidence():
    y = RNG.integers(0, 3, 300)

    def members(noise):
        drawn = np.random.default_rng(1)
        return np.stack([np.where(drawn.random(300) < noise, drawn.integers(0, 3, 300), y) for _ in range(4)])

    assert select_prior([members(0.5), members(0.3), members(0.01)])[0] == 2
    assert select_prior([members(0.012), members(0.3), members(0.01)])[0] == 0
    assert select_prior([np.stack([y] * 4)] * 3)[0] == 0
    chosen, agreement = select_prior([members(0.5), members(0.42)])
    assert agreement[1] > agreement[0] + EVIDENCE, "a gain that counts where members agree more"
    assert chosen == 0


def test_one_member_agrees_with_itself():
    assert stability(RNG.integers(0, 3, (1, 20))) == 1


def test_the_rand_index_is_scikit_learns():
    for k in (1, 2, 5):
        a, b = RNG.integers(0, k, 60), RNG.integers(0, k + 1, 60)
        assert rand_index(a, b) == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)
        assert rand_index(a, a) == 1
