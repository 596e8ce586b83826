"""PICA's losses against plain loops, at their limits, and the alternation of its heads."""

import math

import pytest
import torch

from c3clust.methods.pica import PICAObjective, partition_loss, size_loss
from c3clust.networks.heads import InformationNet
from c3clust.training import Batch


def assignments(n=6, m=3, seed=0):
    return torch.randn(n, m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).softmax(dim=1)


def loop(p_a, p_b):
    a, b = list(zip(*p_a, strict=True)), list(zip(*p_b, strict=True))  # columns
    total = 0.0
    for j in range(len(a)):
        cosines = [sum(u * v for u, v in zip(a[j], c, strict=True)) / math.hypot(*a[j]) / math.hypot(*c) for c in b]
        total -= cosines[j] - math.log(sum(map(math.exp, cosines)))
    return total / len(a)


def test_the_losses_equal_the_loops():
    p_a, p_b = assignments(), assignments(seed=1)
    assert partition_loss(p_a, p_b).item() == pytest.approx(loop(p_a.tolist(), p_b.tolist()), abs=1e-12)
    mean = [sum(row[k] for row in p_a.tolist()) / 6 for k in range(3)]
    assert size_loss(p_a).item() == pytest.approx(math.log(3) + sum(q * math.log(q) for q in mean), abs=1e-12)


def test_a_certain_partition_is_the_optimum():
    sure = torch.eye(3, dtype=torch.float64).repeat(2, 1)
    assert partition_loss(sure, sure).item() == pytest.approx(math.log(math.e + 2) - 1)
    assert size_loss(sure).item() == pytest.approx(0, abs=1e-12)
    even = torch.full((4, 3), 1 / 3, dtype=torch.float64)
    assert partition_loss(even, even).item() == pytest.approx(math.log(3))


def test_an_empty_cluster_has_a_finite_gradient():
    p = torch.tensor([[1.0, 0.0], [1.0, 0.0]]).requires_grad_()
    (partition_loss(p, p) + size_loss(p)).backward()
    assert p.grad.isfinite().all()
    q = assignments(4).requires_grad_()
    assert torch.autograd.gradcheck(lambda q: partition_loss(q, q.flip(0)) + size_loss(q), (q,))


def test_the_larger_head_is_first():
    torch.manual_seed(0)
    network = InformationNet(torch.nn.Linear(4, 5), 5, 3, 7, 1)
    found = list(PICAObjective(2.0).losses(network, Batch(*torch.randn(2, 8, 4))))
    assert [name for name, _ in found] == ["over", "main"]
