"""Estimates without labels: temperature, accuracy, and the comparison with k-means."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from c3clust.consensus.quality import accuracy_interval, compare, softened, support, temperature_for
from c3clust.features.vectors import kept_above_chance

RNG = np.random.default_rng(0)


def rows(n=200, K=4, sharp=3.0):
    x = np.exp(sharp * RNG.normal(size=(n, K)))
    return x / x.sum(1, keepdims=True)


@pytest.mark.parametrize("target", [0.5, 0.7, 0.95])
def test_the_temperature_gives_the_mean_confidence_that_is_asked_for(target):
    mean = rows()
    calibrated = softened(mean, temperature_for(mean, target))
    assert calibrated.max(1).mean() == pytest.approx(target, abs=2e-3)
    assert (calibrated.argmax(1) == mean.argmax(1)).all()
    np.testing.assert_allclose(calibrated.sum(1), 1)


def test_the_order_of_confidences_is_kept():
    mean = rows(K=2)
    np.testing.assert_array_equal(np.argsort(softened(mean, 3.0).max(1)), np.argsort(mean.max(1)))


def test_an_interval_contains_its_estimate():
    low, high = accuracy_interval(0.9, 400, [0.8, 1.0])
    assert 0 <= low < 0.9 < high <= 1


def test_neighbours_kept_are_counted_above_chance():
    labels = np.array([0, 0, 1, 1])
    assert kept_above_chance(labels, np.array([[1], [0], [3], [2]])) == pytest.approx(1)
    assert kept_above_chance(labels, np.array([[2], [3], [0], [1]])) == pytest.approx(-1)
    assert kept_above_chance(np.zeros(4, int), np.array([[1], [0], [3], [2]])) == 0


def test_a_result_is_doubtful_where_k_means_is_better_supported():
    x, y = make_blobs(90, centers=3, cluster_std=0.3, random_state=0)
    near = np.argsort(((x[:, None] - x[None]) ** 2).sum(2), axis=1)[:, 1:6]
    bad = np.where(np.arange(90) < 20, (y + 1) % 3, y)
    assert support(y, [y, y], 3) == 1
    assert compare(bad, y, near, (support(bad, [y], 3), 1.0), 3).doubtful
    assert not compare(y, bad, near, (1.0, support(bad, [y], 3)), 3).doubtful
