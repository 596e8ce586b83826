"""EDESC's affinities and losses against plain loops, and its bases."""

import numpy as np
import pytest
import torch

from c3clust import augment
from c3clust.methods.edesc import EDESC, EDESCObjective, SubspaceNet, basis_loss, subspace_affinities
from c3clust.networks.autoencoder import Autoencoder
from c3clust.training import Batch, TrainingContext


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_affinities_equal_the_loop():
    z, bases, eta, d = random(4, 6), random(3, 6, 2, seed=1), 5.0, 2
    for i in range(4):
        held = [sum((bases[k, :, j] @ z[i]).item() ** 2 for j in range(d)) + eta * d for k in range(3)]
        expected = [h / sum(held) for h in held]
        assert subspace_affinities(z, bases, eta)[i].tolist() == pytest.approx(expected, abs=1e-12)


def test_the_affinities_do_not_depend_on_the_order_of_the_batch():
    for seed in range(20):
        z, bases = random(20, 10, seed=seed).float(), random(2, 10, 5, seed=seed + 1).float()
        order = torch.randperm(20, generator=torch.Generator().manual_seed(seed))
        assert torch.equal(subspace_affinities(z, bases, 5.0)[order], subspace_affinities(z[order], bases, 5.0))


def test_the_loss_of_the_bases_equals_the_loop():
    bases = random(3, 6, 2)
    vectors = [(k, bases[k, :, j]) for k in range(3) for j in range(2)]
    unit = sum((float(v @ v) - 1) ** 2 for _, v in vectors) ** 0.5
    off = sum(float(u @ v) ** 2 for a, u in vectors for b, v in vectors if a != b) ** 0.5
    assert basis_loss(bases).item() == pytest.approx(unit + off, abs=1e-9)


def test_orthonormal_bases_cost_nothing_with_a_finite_gradient():
    bases = torch.eye(6, dtype=torch.float64).view(6, 3, 2).permute(1, 0, 2).clone().requires_grad_()
    loss = basis_loss(bases)
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-5)
    assert bases.grad.isfinite().all()
    assert torch.autograd.gradcheck(
        lambda z: subspace_affinities(z, bases.detach(), 5.0), (random(3, 6).requires_grad_(),)
    )


def test_the_bases_span_the_clusters():
    rng = np.random.default_rng(0)
    z = np.zeros((40, 4), np.float32)
    z[:20, :2], z[20:, 2:] = 5 + rng.normal(size=(20, 2)), 5 + rng.normal(size=(20, 2))
    torch.manual_seed(0)
    network = SubspaceNet(Autoencoder((3,), (4,), 4), 2, 2, 0.1)
    network.place(z, np.repeat([0, 1], 20))
    labels = subspace_affinities(torch.from_numpy(z), network.bases, 0.1).argmax(dim=1)
    assert labels.tolist() == [0] * 20 + [1] * 20


def test_targets_are_those_of_all_samples_before_the_epoch():
    torch.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    network = SubspaceNet(Autoencoder((3,), (4,), 4), 2, 2, 0.1)
    context = TrainingContext(x, (3,), augment.policy("none"), 0, torch.device("cpu"))
    objective, index = EDESCObjective(0.1), torch.tensor([3, 11, 4])
    objective.refresh(network, context)
    s = network(torch.from_numpy(x))[1]
    square = s.square() / s.sum(dim=0)
    target = (square / square.sum(dim=1, keepdim=True)).detach()
    with torch.no_grad():
        network.bases.mul_(1.5)  # a step: the targets stay
    rows = torch.from_numpy(x)[index]
    terms = objective(network, Batch(rows, rows, index))
    z, moved = network(rows)
    expected = torch.nn.functional.kl_div(moved.log(), target[index], reduction="none").mean()  # the released code's
    assert terms["cluster_loss"].item() == pytest.approx(expected.item(), abs=1e-7)
    decoded = torch.nn.functional.mse_loss(network.body.decode(z), network.body.scaled(rows))
    assert terms["reconstruction_loss"].item() == pytest.approx(decoded.item(), abs=1e-6)
    other = EDESCObjective(0.1)
    other.load_state_dict(objective.state_dict())
    assert torch.equal(other.targets, objective.targets)


def test_stages_and_widths():
    x = np.random.default_rng(0).normal(size=(30, 4))
    found = EDESC(3, hidden=(8,), pretrain_epochs=1, epochs=2, n_init=1, random_state=0).fit(x)
    assert [(stage["name"], stage["epochs"]) for stage in found.stages_] == [("dae", 1), ("edesc", 2)]
    assert found.transform(x).shape == (30, 15)
