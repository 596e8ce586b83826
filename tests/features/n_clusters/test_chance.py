"""Probabilities of numbers of clusters, and the answers that are selected from them."""

import numpy as np
import pytest

from c3clust.features.n_clusters.chance import PRIOR, WEIGHTS, chances, curves, select
from c3clust.features.n_clusters.evidence import Evidence
from c3clust.features.n_clusters.partitions import Partitions

KS = np.arange(2, 61)


def curve(peak):
    return -np.abs(np.log(KS / peak))


def test_probabilities_are_those_of_the_formula():
    found = {name: curve(peak) for name, peak in zip(WEIGHTS, (3, 5, 8, 30), strict=True)}
    expected = []
    for i, k in enumerate(KS):
        score = PRIOR[0] * np.log(k) + PRIOR[1] * (np.log(k) - 2) ** 2
        for name, weight in WEIGHTS.items():
            score += weight * (found[name][i] - max(found[name])) / (max(found[name]) - min(found[name]))
        expected.append(np.exp(score) * np.log((k + 0.5) / (k - 0.5)))
    np.testing.assert_allclose(chances(KS, found), np.array(expected) / sum(expected))


def test_numbers_beyond_the_eigenvalues_computed_are_as_the_last():
    evidence = Evidence(list(range(1, 9)), [], [], [])
    evidence.__dict__["score"] = np.linspace(0, 0.7, 8)
    own, cloud = np.array([1, 0.9, 0.5, 0.4, 0.3]), np.array([1, 0.5, 0.4, 0.3, 0.3])
    ks, found = curves(evidence, Partitions([2, 4], np.array([1.0, 0.5]), own, cloud))
    assert ks.tolist() == [2, 3, 4, 5, 6, 7, 8]
    np.testing.assert_allclose(found["silhouette"], np.linspace(0.1, 0.7, 7))
    np.testing.assert_allclose(found["next_eigenvalue"], [-0.5, -0.4, -0.3, -0.3, -0.3, -0.3, -0.3])
    np.testing.assert_allclose(found["above_cloud"], [0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    np.testing.assert_allclose(found["weakest"][[0, 2, 6]], [1, 0.5, 0.5])


def test_where_all_curves_peak_is_chosen():
    for peak in (2, 5, 13, 37):
        answers, _ = select(KS, chances(KS, dict.fromkeys(WEIGHTS, curve(peak))))
        assert answers[0] == pytest.approx(peak, rel=0.2)


def test_curves_without_a_peak_are_no_error():
    chance = chances(KS, dict.fromkeys(WEIGHTS, np.zeros(len(KS))))
    assert chance.sum() == pytest.approx(1)
    assert chances(KS[:1], dict.fromkeys(WEIGHTS, np.zeros(1))) == pytest.approx([1])


def test_the_doubt_is_the_probability_of_numbers_that_are_not_near():
    chance = np.zeros(len(KS))
    chance[KS == 10], chance[KS == 12], chance[KS == 13], chance[KS == 3] = 0.5, 0.2, 0.2, 0.1
    (chosen, *others), doubt = select(KS, chance)
    assert chosen == 10
    assert doubt == pytest.approx(0.3)
    assert 3 in others


def test_one_number_has_no_other():
    assert select(KS[:1], np.ones(1)) == ([2], 0.0)
