"""DRC's losses against plain loops and at their limits."""

import math

import pytest
import torch

from c3clust.methods.drc import DRCObjective, contrast_loss, size_loss
from c3clust.networks.heads import LabelNet
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def loop(a, b, tau):
    total = 0.0
    for i in range(len(a)):
        s = [sum(u * v for u, v in zip(a[i], row, strict=True)) / tau for row in b]
        total -= s[i] - math.log(sum(map(math.exp, s)))
    return total / len(a)


@pytest.mark.parametrize("tau", [0.5, 1.0])
def test_the_losses_equal_the_loops(tau):
    a, b = random(6, 3), random(6, 3, seed=1)
    assert contrast_loss(a, b, tau).item() == pytest.approx(loop(a.tolist(), b.tolist(), tau), abs=1e-12)
    p = a.softmax(dim=1)
    sums = [sum(row[k] for row in p.tolist()) for k in range(3)]
    assert size_loss(p).item() == pytest.approx(3 / 36 * sum(s * s for s in sums), abs=1e-12)


def test_limits():
    even = torch.full((4, 2), 0.5, dtype=torch.float64)
    assert contrast_loss(even, even, 1.0).item() == pytest.approx(math.log(4))
    assert size_loss(torch.eye(3)).item() == pytest.approx(1)
    assert size_loss(torch.eye(3)[[0, 0, 0]]).item() == pytest.approx(3)
    p = random(4, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda p: contrast_loss(p, p.flip(0), 0.5) + size_loss(p.softmax(1)), (p,))


def test_the_objective_contrasts_rows_and_columns():
    torch.manual_seed(0)
    network, x = LabelNet(torch.nn.Linear(4, 5), 5, 3).double().eval(), random(2, 6, 4)
    a, b = (network.head(network.encode(each)).detach() for each in x)
    p_a, p_b = a.softmax(1), b.softmax(1)
    expected = loop(a.tolist(), b.tolist(), 0.5) + loop(p_a.T.tolist(), p_b.T.tolist(), 1.0) + 2 * size_loss(p_a).item()
    assert DRCObjective(0.5, 1.0, 2.0)(network, Batch(*x))["loss"].item() == pytest.approx(expected, abs=1e-10)
