"""Consensus on feature vectors, as users see it."""

import json

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import confusion_matrix

from c3clust import Consensus, acc, load
from c3clust.consensus import fit as vectors
from c3clust.errors import InputError
from c3clust.methods import consensus
from c3clust.networks.vector_head import VectorHead


def directions(sizes, width=96, noise=0.12, seed=0):
    """Feature vectors around random directions, as encoders give them; classes of these sizes."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(sizes), width))
    y = np.repeat(np.arange(len(sizes)), sizes)
    x = centres[y] / np.sqrt(width) + noise * rng.normal(size=(len(y), width))
    order = rng.permutation(len(y))
    return x[order].astype(np.float32), y[order]


def test_small_folders_are_not_ruined():
    x, y = directions([50, 50])
    assert acc(y, Consensus(2, random_state=0).fit_predict(x)) > 0.95


def test_uneven_classes_are_found_where_k_means_divides_the_large_ones():
    x, y = directions([200, 60, 20, 10, 10], noise=0.15)
    method = Consensus(5, random_state=0).fit(x)
    assert acc(y, method.labels_) > acc(y, KMeans(5, n_init=10, random_state=0).fit_predict(x)) - 0.01
    assert acc(y, method.labels_) > 0.9


def test_mean_confidence_is_the_estimated_accuracy_and_it_is_honest():
    for noise in (0.1, 0.25):
        x, y = directions([60] * 4, noise=noise)
        method = Consensus(4, random_state=0).fit(x)
        assert method.confidence_.mean() == pytest.approx(method.quality_["estimated_accuracy"], abs=0.02)
        low, high = method.quality_["interval"]
        assert low <= acc(y, method.labels_) <= high


def test_the_estimate_holds_for_new_samples():
    """Fitted on a part of the digits; the clusters are named by the classes that they have there."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    old, new = order[:1200], order[1200:]
    method = Consensus(10, random_state=0).fit(x[old])
    _, classes = linear_sum_assignment(-confusion_matrix(method.labels_, y[old]))
    c = method.predict_proba(x[new])
    assert c.max(axis=1).mean() == pytest.approx(method.quality_["estimated_accuracy"], abs=0.06)
    low, high = method.quality_["interval"]
    assert low <= (classes[c.argmax(axis=1)] == y[new]).mean() <= high


def test_the_same_seed_gives_the_same_bits_and_saved_models_predict_the_same(tmp_path):
    x, _ = directions([40, 30, 20])
    one, other = (Consensus(3, random_state=5).fit(x) for _ in range(2))
    np.testing.assert_array_equal(one.predict_proba(x), other.predict_proba(x))
    loaded = load(one.save(tmp_path / "model"))
    assert isinstance(loaded.network_, VectorHead)
    np.testing.assert_array_equal(loaded.predict_proba(x), one.predict_proba(x))
    np.testing.assert_array_equal(loaded.predict(x[:1]), one.predict(x)[:1])  # one sample alone


def test_a_table_of_few_columns_is_standardised_and_units_do_not_matter():
    x, y = load_wine(return_X_y=True)
    labels = Consensus(3, random_state=0).fit_predict(x)
    assert acc(y, labels) > 0.9
    assert acc(labels, Consensus(3, random_state=0).fit_predict(x * np.geomspace(1e-3, 1e3, 13))) > 0.99


def test_the_record_contains_the_quality(tmp_path):
    x, _ = directions([40, 30, 20])
    Consensus(3, random_state=0).fit(x, run_dir=tmp_path / "run")
    quality = json.loads((tmp_path / "run" / "record.json").read_text())["quality"]
    assert set(quality) == {"estimated_accuracy", "interval", "prior", "agreement", "comparison", "source"}


@pytest.mark.parametrize(("prior", "expected"), [("even", 1.0), ("free", 0.0)])
def test_the_prior_can_be_given(prior, expected):
    x, _ = directions([40, 30, 20])
    assert Consensus(3, prior=prior, random_state=0).fit(x).quality_["prior"] == expected


def test_a_curved_cluster_is_assigned_by_a_quadratic_head():
    rng = np.random.default_rng(0)
    t, y = rng.uniform(0, 2 * np.pi, 600), np.arange(600) % 2
    x = np.c_[np.cos(t), np.sin(t)] * np.where(y, 5.0, 1.0)[:, None] + rng.normal(0, 0.2, (600, 2))
    found = Consensus(2, prior="even", random_state=0).fit(x[:400])
    assert acc(y[:400], found.labels_) > 0.97
    assert acc(y[400:], found.predict(x[400:])) > 0.97


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prior": 2.0}, "prior=2.0"),
        ({"prior": "odd"}, "prior='odd'"),
        ({"members": 0}, "members=0"),
        ({"prior": 0.7}, "without an encoder"),
    ],
)
def test_bad_values_are_named(params, message):
    with pytest.raises(InputError, match=message):
        Consensus(3, **params).fit(np.zeros((9, 4)))


@pytest.mark.parametrize(("n", "K"), [(2, 1), (3, 3), (5, 2), (12, 5), (20, 1)])
def test_very_few_samples(n, K):
    labels = Consensus(K, random_state=0).fit_predict(np.random.default_rng(0).random((n, 3)))
    assert len(set(labels)) == K


def test_identical_samples_end_in_one_cluster():
    assert len(set(Consensus(3, random_state=0).fit_predict(np.ones((20, 4))))) == 1


def test_more_samples_than_are_clustered(monkeypatch):
    monkeypatch.setattr(vectors, "MOST", 100)
    x, y = directions([100, 100, 100])
    found = Consensus(3, random_state=0).fit_predict(x)
    assert acc(y, found) > 0.95
    monkeypatch.setattr(consensus, "MOST", 100)  # only those rows are read
    np.testing.assert_array_equal(Consensus(3, random_state=0).fit_predict(x), found)
