"""JULE's affinity, criterion and triplets against plain loops."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs

from c3clust.methods import jule
from c3clust.methods.jule import NEAREST, Merger, first_clusters, neighbour_graph, triplet_loss


@pytest.fixture
def graph():
    return neighbour_graph(np.random.default_rng(0).normal(size=(24, 2)), 5)


def fast_affinity(w, a, b):
    """A(a, b) of the paper, by matrices, of clusters that were merged of parts: flows of the parts are added."""
    flow = [
        sum((w[np.ix_(i, j)] @ w[np.ix_(j, i)]).sum() for i in one for j in other) for one, other in ((a, b), (b, a))
    ]
    return sum(each / sum(map(len, one)) ** 2 for each, one in zip(flow, (a, b), strict=True))


def test_the_graph_equals_the_loop():
    z = np.random.default_rng(0).normal(size=(8, 2))
    w, d2 = neighbour_graph(z, 3).toarray(), np.square(z[:, None] - z).sum(2)
    nearest = [sorted((d2[i, j], j) for j in range(8) if j != i)[:3] for i in range(8)]
    sigma = np.mean([d for row in nearest for d, _ in row])
    for i, row in enumerate(nearest):
        assert set(np.flatnonzero(w[i])) == {j for _, j in row}
        for d, j in row:
            assert w[i, j] == pytest.approx(np.exp(-d / sigma))


@pytest.mark.parametrize("many", [6, 100])
def test_affinities_and_merges_equal_the_loop(graph, many, monkeypatch):
    monkeypatch.setattr(jule, "MANY", many)
    w, labels = graph.toarray(), np.arange(24) // 2
    merger, parts = Merger(graph, labels), {k: [[2 * k, 2 * k + 1]] for k in range(12)}
    for _ in range(8):
        found, best = merger.affinities(), -np.inf
        for a in parts:
            row = sorted(((fast_affinity(w, parts[a], parts[b]), b) for b in parts if b != a), reverse=True)
            for value, b in row:
                assert found[a, b] == pytest.approx(value, rel=1e-4, abs=1e-6)
            top = [value for value, _ in row[: NEAREST if len(parts) > many else 1]]
            best = max(best, top[0] + sum(top[0] - value for value in top[1:]) / max(len(top) - 1, 1))
        one, other = merger.best_pair()
        row = sorted((found[one, b] for b in parts if b != one), reverse=True)[: NEAREST if len(parts) > many else 1]
        assert found[one, other] == row[0]
        assert row[0] + sum(row[0] - value for value in row[1:]) / max(len(row) - 1, 1) == pytest.approx(best, rel=1e-4)
        merger.join(one, other)
        parts[one] += parts.pop(other)
        assert all(set(merger.labels[np.concatenate(parts[k])]) == {k} for k in parts)


def test_a_cluster_without_affinity_joins_the_nearest_one_first():
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(0, 0.1, (20, 2)), rng.normal(5, 0.1, (20, 2)), [[4.0, 4.0], [4.0, 4.01]]])
    labels = np.repeat([0, 1, 2, 3, 4], [10, 10, 10, 10, 2])
    merger = Merger(neighbour_graph(z, 1), labels)
    merger.join_isolated(z)
    assert merger.labels[-1] == merger.labels[-2] != 4
    assert merger.labels[-1] in merger.labels[20:40]


def test_blobs_are_merged_to_blobs():
    z, y = make_blobs(60, centers=3, cluster_std=0.3, random_state=0)
    w = neighbour_graph(z, 15)
    labels = Merger(w, first_clusters(w)).merge_until(3)
    assert len({(a, b) for a, b in zip(labels, y, strict=True)}) == 3


def test_the_triplets_equal_the_loop():
    generator = torch.Generator().manual_seed(0)
    z = torch.nn.functional.normalize(torch.randn(6, 3, generator=generator, dtype=torch.float64), dim=1)
    labels, negatives = torch.tensor([0, 0, 0, 1, 1, 2]), torch.tensor([[3, 4], [4, 5], [5, 3], [0, 1], [5, 2], [1, 0]])
    terms = []
    for i in range(6):
        for j in range(6):
            if j != i and labels[i] == labels[j]:
                for k in negatives[i]:
                    near, far = ((z[i] - z[other]).square().sum().item() for other in (j, k))
                    terms.append(max(0.0, near - far + 0.2))
    assert triplet_loss(z, labels, negatives, 0.2).item() == pytest.approx(sum(terms) / len(terms), abs=1e-10)
    assert triplet_loss(z, torch.zeros(6).long(), negatives).item() == 0
    assert triplet_loss(z, torch.arange(6), negatives).item() == 0
