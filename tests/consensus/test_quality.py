"""Estimates without labels: temperature, accuracy, and the comparison with k-means."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from c3clust.consensus.partition import Partition
from c3clust.consensus.quality import (
    Model,
    accuracy_interval,
    compare,
    estimate,
    signals,
    softened,
    support,
    temperature_for,
)
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


def found(y, wrong, clusters, names=("graph", "k-means", "mixture")):
    """A result and members, each of which has that share of its samples in a random cluster."""
    members = {name: np.where(RNG.random(len(y)) < wrong, RNG.integers(0, clusters, len(y)), y) for name in names}
    return Partition(y, members, True, np.zeros((len(y), 0), int), clusters)


def test_the_estimate_rises_with_the_agreement_on_more_than_two_clusters():
    y = np.arange(300) % 5
    low, some, all_agree = (estimate(found(y, wrong, 5), y[:, None])[0] for wrong in (0.6, 0.3, 0.0))
    assert low < some < all_agree
    assert all_agree > 0.95


def test_agreement_on_two_clusters_says_nothing():
    y = np.arange(200) % 2
    one, (low, high) = estimate(found(y, 0.0, 2), y[:, None])
    other, _ = estimate(found(y, 0.5, 2), y[:, None])
    assert one == other
    assert low < 0.6 < 0.9 < high


@pytest.mark.parametrize("clusters", [2, 3, 20])
@pytest.mark.parametrize("doubt", [0.0, 0.4, 5.0])
def test_the_interval_contains_the_estimate_and_no_less_than_chance(clusters, doubt):
    y = np.arange(400) % clusters
    about, (low, high) = estimate(found(y, 0.3, clusters), y[:, None], doubt)
    assert np.exp(-doubt) / clusters <= low <= about <= high <= 1


def test_doubt_about_the_number_lowers_the_estimate_and_widens_the_interval():
    model = Model(0.2, {"two": 0.5, "several": 0.8}, -0.5, 0.5, 0.3)
    known = {"clusters": 4, "two": 0.0, "several": 0.9}
    (sure, (low, high)), (doubtful, (lower, same)) = model(known), model(known, 0.5)
    assert doubtful == pytest.approx(sure * 0.85)
    assert lower == pytest.approx(low * 0.7)
    assert same == high


def test_a_single_member_leaves_everything_open():
    y = np.arange(40) % 4
    assert estimate(found(y, 0.0, 4, ["k-means"]), y[:, None]) == (0.625, (0.25, 1.0))


def test_clusterings_of_one_kind_are_not_compared():
    y = np.arange(300) % 5
    other = found(y, 0.5, 5, ["k-means"])
    graphs = Partition(y, other.members | {"graph 0": y, "graph 1": y}, True, other.near, 5)
    share = support(y, list(other.members.values()), 5)
    assert signals(graphs)["several"] == pytest.approx(((3 * share + 2) / 5) ** 2)


def test_an_empty_cluster_does_not_count():
    assert signals(found(np.arange(100) % 2, 0.0, 3))["two"] == 1


def test_two_clusters_of_what_may_be_forty_are_not_half_right():
    y = np.arange(200) % 2
    about, (low, _) = estimate(found(y, 0.0, 2), y[:, None], doubt=np.log(20))
    assert low < 0.1
    assert about < 0.1
