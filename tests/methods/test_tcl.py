"""TCL's losses against plain loops, at their limits, and its choice of labels."""

import math

import pytest
import torch

from c3clust.losses.terms import nt_xent
from c3clust.methods.tcl import TCL, TCLObjective, confident_labels, twin_loss
from c3clust.networks import ClusterNet
from c3clust.training import Batch


def unit(*shape, seed=0):
    z = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(z, dim=1)


def test_the_twin_loss_equals_the_loop():
    z_a, z_b, labels = unit(5, 3), unit(5, 3, seed=1), [0, 0, 1, -1, -1]
    z, total = torch.cat([z_a, z_b]).tolist(), 0.0
    for i in range(10):
        twin, sums = (i + 5) % 10, 0.0
        for j in range(10):
            alike = labels[i % 5] == labels[j % 5] >= 0
            if j == twin or (j != i and not alike):
                sums += math.exp(sum(a * b for a, b in zip(z[i], z[j], strict=True)) / 0.5)
        total -= sum(a * b for a, b in zip(z[i], z[twin], strict=True)) / 0.5 - math.log(sums)
    assert twin_loss(z_a, z_b, torch.tensor(labels), 0.5).item() == pytest.approx(total / 10, abs=1e-10)


def test_without_labels_it_is_nt_xent_and_with_one_label_it_is_nothing():
    z_a, z_b = unit(5, 3), unit(5, 3, seed=1)
    torch.testing.assert_close(twin_loss(z_a, z_b, torch.full((5,), -1)), nt_xent(z_a, z_b, 0.5))
    assert twin_loss(z_a, z_b, torch.zeros(5).long()).item() == pytest.approx(0, abs=1e-12)
    labels = torch.tensor([0, 0, 1, -1, 1])
    assert torch.autograd.gradcheck(lambda a: twin_loss(a, z_b, labels), (z_a.requires_grad_(),))


def test_the_most_confident_half_above_the_threshold_is_labelled():
    top = torch.tensor([0.999, 0.995, 0.994, 0.9, 0.97, 0.96])
    c = torch.stack([top, 1 - top], dim=1)
    c[4:] = c[4:].flip(1)
    assert confident_labels(c, 0.5, 0.99).tolist() == [0, 0, -1, -1, -1, -1]
    assert confident_labels(c, 1.0, 0.95).tolist() == [0, 0, 0, -1, 1, 1]


def test_labels_are_refreshed_and_train_the_cluster_head():
    torch.manual_seed(0)
    network, x = ClusterNet(torch.nn.Linear(4, 5), 5, 4, 3), torch.randn(2, 6, 4)
    objective = TCLObjective(0.5, 0.5, 0.99)
    objective.load_state_dict({"labels": torch.tensor([0, 1, 2, -1, -1, -1])})
    terms = objective(network, Batch(*x, torch.arange(6)))
    terms["loss"].backward()
    assert terms["confident"].item() == pytest.approx(0.5)
    assert network.g_c[0].weight.grad.abs().sum() > 0
    assert TCL(3)._stage_1().epochs == "auto"
