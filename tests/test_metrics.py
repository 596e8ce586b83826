"""Metrics against scikit-learn, brute force, and odd inputs."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from c3clust import acc, ari, nmi
from c3clust.metrics import contingency

labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


@given(labels)
def test_acc_is_the_best_of_all_maps(pairs):
    y_true, y_pred = np.array(pairs).T
    best = max(np.mean(np.array(p)[y_pred] == y_true) for p in permutations(range(5)))
    assert acc(y_true, y_pred) == pytest.approx(best)


@given(labels)
def test_nmi_and_ari_are_scikit_learns(pairs):
    y_true, y_pred = np.array(pairs).T
    assert nmi(y_true, y_pred) == pytest.approx(normalized_mutual_info_score(y_true, y_pred))
    assert ari(y_true, y_pred) == pytest.approx(adjusted_rand_score(y_true, y_pred))


@given(labels, st.permutations(range(5)))
def test_names_of_clusters_do_not_matter(pairs, names):
    y_true, y_pred = np.array(pairs).T
    for metric in (acc, nmi, ari):
        assert metric(y_true, y_pred) == pytest.approx(metric(y_true, np.array(names)[y_pred]))


def test_any_label_values_and_numbers_of_clusters():
    assert acc(["cat", "cat", "dog", "dog"], [7, 7, -3, 12]) == 0.75
    assert acc([1.5, 1.5, 2.5], ["x", "x", "x"]) == pytest.approx(2 / 3)
    assert contingency(["b", "a", "b"], [9, 9, 4]).tolist() == [[0, 1], [1, 1]]


def test_a_million_samples_are_no_trouble():
    y = np.random.default_rng(0).integers(0, 200, 1_000_000)
    assert acc(y, (y + 7) % 200) == 1.0


@pytest.mark.parametrize("metric", [acc, nmi, ari])
@pytest.mark.parametrize(("y_true", "y_pred"), [([], []), ([0, 1], [0]), ([[0]], [[0]])])
def test_vectors_that_cannot_be_compared_are_refused(metric, y_true, y_pred):
    with pytest.raises(ValueError, match="cannot be compared"):
        metric(y_true, y_pred)
