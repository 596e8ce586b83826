"""The graph of neighbours and its least cut, against plain loops and on data whose clusters are known."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from c3clust import acc
from c3clust.consensus.graph import (
    Grouped,
    cost,
    lower_cut,
    merged,
    moved_groups,
    neighbour_graph,
    normalised_cut,
    read_clusters,
    spectral,
)
from c3clust.features.vectors import unit_rows


def directions(sizes, width=64, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.normal(size=(len(sizes), width))[y] + noise * rng.normal(size=(len(y), width))
    return unit_rows(x - x.mean(axis=0)).astype(np.float32), y


def random_graph(n=9, seed=0):
    w = np.random.default_rng(seed).random((n, n)) * (np.random.default_rng(seed + 1).random((n, n)) < 0.5)
    w = w + w.T
    np.fill_diagonal(w, 0)
    return sp.csr_matrix(w)


def loop_cut(w, labels, m):
    """Σ_m cut(m, rest) / vol(m), from the equation."""
    w, total = w.toarray(), 0.0
    for part in range(m):
        inside = [i for i in range(len(labels)) if labels[i] == part]
        outside = [i for i in range(len(labels)) if labels[i] != part]
        cut = sum(w[i, j] for i in inside for j in outside)
        volume = sum(w[i, j] for i in inside for j in range(len(labels)))
        total += cut / volume if volume else 1.0
    return total


def test_the_cut_equals_the_loop():
    w, labels = random_graph(), np.array([0, 1, 2, 0, 1, 2, 0, 0, 1])
    assert normalised_cut(w, labels, 3) == pytest.approx(loop_cut(w, labels, 3), abs=1e-6)
    assert normalised_cut(w, labels, 4) == pytest.approx(loop_cut(w, labels, 3) + 1, abs=1e-6)  # an empty part


def test_the_prior_adds_the_missing_entropy_of_the_sizes():
    w = random_graph(8)
    even, uneven = np.arange(8) % 2, np.array([0] * 7 + [1])
    assert cost(w, even, 2, 5.0) == pytest.approx(normalised_cut(w, even, 2))
    entropy = -(7 / 8 * np.log(7 / 8) + 1 / 8 * np.log(1 / 8))
    assert cost(w, uneven, 2, 5.0) == pytest.approx(normalised_cut(w, uneven, 2) + 5 * (np.log(2) - entropy))


def test_weights_are_shared_neighbours():
    u, _ = directions([12, 12])
    w, k = neighbour_graph(u, 4).toarray(), 4
    near = [set(np.argsort(-(u @ u[i]) + 9 * (np.arange(len(u)) == i))[:k]) | {i} for i in range(len(u))]
    assert (w == w.T).all()
    for i, j in [(0, 1), (0, 5), (3, 20)]:
        linked = i in near[j] or j in near[i]
        expected = len(near[i] & near[j]) / len(near[i] | near[j]) if linked and i != j else 0
        assert w[i, j] == pytest.approx(expected, abs=1e-6)


def test_the_descent_lowers_the_cut_and_empties_no_part():
    u, y = directions([40, 40, 40])
    w = neighbour_graph(u)
    noisy = np.where(np.random.default_rng(0).random(120) < 0.3, (y + 1) % 3, y)
    found = lower_cut(w, noisy, 3)
    assert normalised_cut(w, found, 3) < normalised_cut(w, noisy, 3)
    assert acc(y, found) > 0.95
    assert np.bincount(found, minlength=3).min() > 0


@pytest.mark.parametrize("link", ["weaker", "both"])
def test_pieces_of_a_class_are_merged(link):
    u, y = directions([60, 60])
    pieces = y * 3 + np.arange(120) % 3
    assert acc(y, merged(neighbour_graph(u), pieces, 2, link)) > 0.95


def test_groups_move_while_the_cost_falls():
    u, y = directions([40, 40])
    w = neighbour_graph(u)
    wrong = y.copy()
    wrong[:10] = 1  # a style of class 0 that lies with class 1
    groups = np.where(np.arange(80) < 10, 0, 1 + y)
    found = moved_groups(Grouped.of(w, wrong, groups, 2), 2, 1.0)
    assert cost(w, found, 2, 1.0) < cost(w, wrong, 2, 1.0)
    assert acc(y, found) == 1


def test_spectral_starts_find_clear_clusters():
    u, y = directions([30, 30, 30], noise=0.3)
    assert acc(y, spectral(neighbour_graph(u), 3, 0)) > 0.95


@pytest.mark.parametrize("sizes", [[60, 60, 60], [150, 40, 20]])
def test_clusters_are_read_even_or_uneven(sizes):
    u, y = directions(sizes, noise=0.8)
    reading = read_clusters(u, u, len(sizes), 0)
    assert acc(y, reading.labels) > 0.95
    assert reading.confidence.min() > 0
    assert reading.confidence.max() <= 1
    again = read_clusters(u, u, len(sizes), 0)
    np.testing.assert_array_equal(reading.labels, again.labels)


@pytest.mark.parametrize(("n", "m"), [(2, 1), (4, 2), (6, 3), (9, 8)])
def test_very_few_samples_are_read(n, m):
    u = unit_rows(np.random.default_rng(0).normal(size=(n, 8))).astype(np.float32)
    assert len(read_clusters(u, u, m, 0).labels) == n


def test_threads_read_the_same_clusters():
    u, _ = directions([60, 60, 60], noise=1.5)
    readings = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            readings.append(read_clusters(u, u, 3, 0))
    finally:
        torch.set_num_threads(1)
    for a, b in zip(*(vars(reading).values() for reading in readings), strict=True):
        np.testing.assert_equal(a, b)
