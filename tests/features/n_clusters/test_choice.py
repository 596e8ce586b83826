"""The number of clusters that is found, without labels."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine, make_blobs

from c3clust.features.n_clusters import choose_k


def standardised(x):
    return (x - x.mean(0)) / x.std(0)


@pytest.mark.parametrize(("k", "d", "seed"), [(3, 10, 0), (6, 8, 1), (12, 16, 2)])
def test_blobs_are_counted(k, d, seed):
    x, _ = make_blobs(40 * k, d, centers=k, cluster_std=1.5, random_state=seed)
    found = choose_k(x, scaled=True, seed=seed)
    assert found.chosen == k
    assert found.runner_up not in (None, 1, k)
    assert str(k) in found.reason


@pytest.mark.parametrize(("k", "d"), [(20, 10), (37, 16)])
def test_large_numbers_are_found_exactly(k, d):
    x, _ = make_blobs(20 * k, d, centers=k, random_state=0)
    assert choose_k(x, scaled=True, seed=0).chosen == k


@pytest.mark.parametrize("k", [2, 3])
def test_few_blobs_of_few_features_are_counted(k):
    x, _ = make_blobs(60 * k, 2, centers=k, cluster_std=0.8, random_state=3)
    assert choose_k(x, scaled=True, seed=0).chosen == k


def test_blobs_of_uneven_sizes_are_counted():
    x, _ = make_blobs([120, 60, 30, 15, 10], 12, cluster_std=1.0, random_state=0)
    assert choose_k(x, scaled=True, seed=0).chosen == 5


def test_wine_has_three_kinds():
    assert choose_k(standardised(load_wine().data), scaled=True, seed=0).chosen == 3


def test_groups_of_clusters_are_another_answer():
    groups = np.random.default_rng(0).normal(size=(3, 1, 16)) * 8
    parts = groups + np.random.default_rng(1).normal(size=(3, 4, 16)) * 2
    x, _ = make_blobs(480, 16, centers=parts.reshape(12, 16), cluster_std=0.6, random_state=0)
    found = choose_k(x, scaled=True, seed=0)
    assert found.chosen == 12
    assert 2 <= found.runner_up <= 4, "about as many as there are groups; rounding decides which"


def test_two_kinds_of_iris_overlap():
    found = choose_k(standardised(load_iris().data), scaled=True, seed=0)
    assert found.chosen in (2, 3)


@pytest.mark.parametrize(("n", "d"), [(30, 2), (200, 1), (300, 10), (150, 300)])
def test_a_gaussian_cloud_is_one_cluster(n, d):
    x = np.random.default_rng(n + d).normal(size=(n, d))
    found = choose_k(x, scaled=False, seed=0)
    assert found.chosen == 1
    assert "one cluster" in found.reason


@pytest.mark.parametrize(("n", "d"), [(60, 3), (300, 2), (400, 10)])
@pytest.mark.parametrize("kind", ["cube", "student", "joint student"])
def test_clouds_that_are_not_gaussian_are_one_cluster(kind, n, d):
    rng = np.random.default_rng(n + d)
    if kind == "cube":
        x = rng.random((n, d))
    elif kind == "student":
        x = rng.standard_t(5, (n, d))
    else:
        x = rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(5, (n, 1)) / 5)
    assert choose_k(x, scaled=True, seed=0).chosen == 1


def test_copies_of_one_sample_are_one_cluster():
    x = np.tile(np.random.default_rng(0).normal(size=50), (100, 1))
    found = choose_k(x, scaled=False, seed=0)
    assert (found.chosen, found.runner_up, found.others) == (1, None, [])
    assert "same" in found.reason


def test_the_others_are_other_answers_and_clear_clusters_leave_less_doubt():
    clear, _ = make_blobs(300, 8, centers=5, cluster_std=0.8, random_state=0)
    blurred, _ = make_blobs(300, 8, centers=5, cluster_std=5.5, random_state=0)
    a, b = (choose_k(x, scaled=True, seed=0) for x in (clear, blurred))
    answers = np.sort([a.chosen, *a.others])
    assert (a.chosen, a.runner_up) == (5, a.others[0])
    assert (answers[1:] / answers[:-1] >= 1.5).all()
    assert 0 <= a.doubt < b.doubt <= 1
    assert sum(a.chance) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_few_samples_are_no_error(n):
    found = choose_k(np.random.default_rng(n).normal(size=(n, 4)), scaled=False, seed=0)
    assert 1 <= found.chosen < n


def test_same_seed_same_choice_and_json_holds_it():
    x, _ = make_blobs(200, 5, centers=4, random_state=0)
    a, b = (choose_k(x, scaled=True, seed=3).plain() for _ in range(2))
    a.pop("seconds"), b.pop("seconds")
    assert json.loads(json.dumps(a, allow_nan=False)) == a == b
    lengths = {len(a[name]) for name in ("ks", "chance", "score", "low", "high", "above_cloud", "kept", "stability")}
    assert len(lengths) == 1


def test_scale_and_shift_of_the_features_do_not_matter():
    x, _ = make_blobs(200, 5, centers=4, random_state=0)
    assert choose_k(1000 * x + 50, scaled=True, seed=0).chosen == choose_k(x, scaled=True, seed=0).chosen
