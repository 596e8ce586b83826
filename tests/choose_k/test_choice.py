"""The number of clusters that is found, without labels."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_blobs

from c3clust.choose_k import choose_k
from c3clust.choose_k.choice import apart


def standardised(x):
    return (x - x.mean(0)) / x.std(0)


@pytest.mark.parametrize(("k", "d", "seed"), [(3, 10, 0), (6, 8, 1), (12, 16, 2)])
def test_blobs_are_counted(k, d, seed):
    x, _ = make_blobs(40 * k, d, centers=k, cluster_std=1.5, random_state=seed)
    found = choose_k(x, scaled=True, seed=seed)
    assert found.chosen == k
    assert found.runner_up is None or apart(found.runner_up, k)
    assert str(k) in found.reason


def test_blobs_of_uneven_sizes_are_counted():
    x, _ = make_blobs([120, 60, 30, 15, 10], 12, cluster_std=1.0, random_state=0)
    assert choose_k(x, scaled=True, seed=0).chosen == 5


def test_wine_has_three_kinds():
    assert choose_k(standardised(load_wine().data), scaled=True, seed=0).chosen == 3


def test_two_kinds_of_iris_overlap():
    found = choose_k(standardised(load_iris().data), scaled=True, seed=0)
    assert found.chosen in (2, 3)


@pytest.mark.parametrize(("n", "d"), [(30, 2), (200, 1), (300, 10), (150, 300)])
def test_a_gaussian_cloud_is_one_cluster(n, d):
    x = np.random.default_rng(n + d).normal(size=(n, d))
    found = choose_k(x, scaled=False, seed=0)
    assert found.chosen == 1
    assert "one cluster" in found.reason


def test_copies_of_one_sample_are_one_cluster():
    x = np.tile(np.random.default_rng(0).normal(size=50), (100, 1))
    found = choose_k(x, scaled=False, seed=0)
    assert (found.chosen, found.runner_up) == (1, None)
    assert "same" in found.reason


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_few_samples_are_no_error(n):
    found = choose_k(np.random.default_rng(n).normal(size=(n, 4)), scaled=False, seed=0)
    assert 1 <= found.chosen < n


def test_same_seed_same_choice_and_json_holds_it():
    x, _ = make_blobs(200, 5, centers=4, random_state=0)
    a, b = (choose_k(x, scaled=True, seed=3).plain() for _ in range(2))
    a.pop("seconds"), b.pop("seconds")
    assert json.loads(json.dumps(a, allow_nan=False)) == a == b
    lengths = {len(a[name]) for name in ("ks", "score", "low", "high", "above_cloud", "kept", "stability")}
    assert len(lengths) == 1


def test_scale_and_shift_of_the_features_do_not_matter():
    x, _ = make_blobs(200, 5, centers=4, random_state=0)
    assert choose_k(1000 * x + 50, scaled=True, seed=0).chosen == choose_k(x, scaled=True, seed=0).chosen
