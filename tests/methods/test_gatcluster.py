"""GATCluster's losses against plain loops, its window, and the labels of k-means."""

import math

import pytest
import torch

from c3clust.methods.gatcluster import (
    EPS,
    AttentionNet,
    GATClusterObjective,
    balanced,
    invariance_loss,
    relation_loss,
    window,
)
from c3clust.training import Batch


def assignments(n=6, m=3, seed=0):
    return (2 * torch.randn(n, m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).softmax(dim=1)


def test_balanced_assignments_equal_the_loop():
    p = assignments().tolist()
    columns = [sum(row[k] for row in p) for k in range(3)]
    q = [[row[k] / (columns[k] + EPS) for k in range(3)] for row in p]
    expected = [[v / (sum(row) + EPS) for v in row] for row in q]
    torch.testing.assert_close(balanced(assignments()), torch.tensor(expected, dtype=torch.float64))


def test_the_losses_equal_the_loops():
    p, t = assignments().tolist(), assignments(seed=1).tolist()
    expected = -sum(u * v for a, b in zip(p, t, strict=True) for u, v in zip(a, b, strict=True)) / 6
    assert invariance_loss(assignments(), assignments(seed=1)).item() == pytest.approx(expected)
    same, total = torch.arange(6)[:, None] % 2 == torch.arange(6) % 2, 0.0
    for i in range(6):
        for j in range(i + 1):
            g = sum(u * v for u, v in zip(p[i], p[j], strict=True))
            g /= (math.hypot(*p[i]) + EPS) * (math.hypot(*p[j]) + EPS)
            total -= math.log(g if same[i, j] else 1 - g) / 21
    assert relation_loss(assignments(), same).item() == pytest.approx(total, abs=1e-9)


def test_the_window_is_largest_at_its_centre():
    mask = window(4, 6, torch.tensor([[0.375, 0.75]]), torch.ones(1, 2))
    assert mask.shape == (1, 4, 6)
    assert mask[0].argmax().item() == 1 * 6 + 4
    expected = math.exp(-((0.125 - 0.375) ** 2 + (1 / 12 - 0.75) ** 2) / 0.1)
    assert mask[0, 0, 0].item() == pytest.approx(expected, rel=1e-4)


def test_a_small_cluster_gives_no_pairs():
    objective, index = GATClusterObjective(2), torch.arange(30)
    objective.load_state_dict({"labels": torch.arange(30) % 2})
    assert objective.same(index)[0, 2]
    objective.load_state_dict({"labels": (torch.arange(30) == 0).long()})
    assert torch.equal(objective.same(index), torch.eye(30, dtype=torch.bool))


def test_one_hot_assignments_that_agree_are_the_optimum():
    sure = torch.eye(3, dtype=torch.float64)
    assert invariance_loss(sure, balanced(sure)).item() == pytest.approx(-1, abs=2 * EPS)
    torch.manual_seed(0)
    network, objective = AttentionNet(torch.nn.Linear(4, 5), 5, 5, 3), GATClusterObjective(3)
    objective.load_state_dict({"labels": torch.arange(6) % 3})
    x = torch.randn(3, 6, 4)
    loss = objective(network, Batch(x[0], x[1], torch.arange(6), raw=x[2], size=(4,)))["loss"]
    loss.backward()
    assert network.where[0].weight.grad is not None
