"""DCCM's losses against plain loops, at their limits, and its choice of pairs."""

import math

import pytest
import torch

from c3clust.methods.dccm import CorrelationNet, DCCMObjective, graph_loss, information_loss, label_loss, pick
from c3clust.training import Batch


def assignments(n=6, m=3, seed=0):
    return (3 * torch.randn(n, m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).softmax(dim=1)


def bce(value, target):
    return -math.log(min(value, 1 - 1e-6)) if target else -math.log(1 - min(value, 1 - 1e-6))


def test_the_graph_loss_equals_the_loop():
    p, graph = assignments(), assignments(seed=1) @ assignments(seed=1).T > 0.5
    rows, total = p.tolist(), 0.0
    for i in range(6):
        for j in range(6):
            dot = sum(u * v for u, v in zip(rows[i], rows[j], strict=True))
            total += bce(dot / math.hypot(*rows[i]) / math.hypot(*rows[j]), graph[i, j])
    assert graph_loss(p, graph).item() == pytest.approx(total / 36, abs=1e-9)


@pytest.mark.parametrize("threshold", [0.0, 0.7])
def test_the_label_loss_equals_the_loop(threshold):
    p, target = assignments(), assignments(seed=1)
    total = 0.0
    for row, t in zip(p.tolist(), target.tolist(), strict=True):
        if max(t) >= threshold:
            total += sum(bce(v, k == t.index(max(t))) for k, v in enumerate(row)) / 3
    assert label_loss(p, target, threshold).item() == pytest.approx(total / 6, abs=1e-9)
    assert label_loss(p, target, 1.0).item() == 0


def test_the_information_loss_equals_the_loop():
    a, b = torch.randn(4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    expected = sum(math.log(1 + math.exp(-v)) for v in a.tolist()) / 4
    expected += sum(math.log(1 + math.exp(v)) for v in b.tolist()) / 4
    assert information_loss(a, b).item() == pytest.approx(expected)
    assert information_loss(torch.zeros(3), torch.zeros(2)).item() == pytest.approx(2 * math.log(2))


def test_pairs_are_picked_from_those_allowed_and_never_the_sample_itself():
    allowed = torch.tensor([[1, 1, 0], [0, 1, 0], [1, 0, 1]], dtype=torch.bool)
    for seed in range(10):
        torch.manual_seed(seed)
        found = pick(allowed)
        assert found[0] == 1
        assert found[1] != 1
        assert found[2] == 0


@pytest.mark.parametrize("shape", [(4,), (1, 6, 5)])
def test_the_weights_of_the_terms(shape):
    torch.manual_seed(0)
    f = torch.nn.Sequential(torch.nn.Linear(4, 5)) if len(shape) == 1 else torch.nn.Flatten()
    width, channels = (5, 5) if len(shape) == 1 else (30, 1)
    network, x = CorrelationNet(f, width, channels, 3), torch.rand(3, 6, *shape)
    terms = DCCMObjective((5.0, 1.0, 0.05), 0.95, 0.4)(
        network, Batch(x[0], x[1], torch.arange(6), raw=x[2], size=shape[-2:])
    )
    expected = 5 * terms["label_loss"] + terms["graph_loss"] + 0.05 * terms["information_loss"]
    torch.testing.assert_close(terms["loss"], expected)
