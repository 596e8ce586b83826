"""DEN's terms against plain loops, and at their limits."""

import math

import numpy as np
import pytest
import torch

from c3clust.methods.ae import reconstruction_errors
from c3clust.methods.den import DEN, DENObjective, group_norms, locality_errors
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_terms_equal_the_loops():
    z, z_nn, d2 = random(5, 6), random(5, 6, seed=1), random(5, seed=2).square()
    for i in range(5):
        square = sum((a - b) ** 2 for a, b in zip(z[i].tolist(), z_nn[i].tolist(), strict=True))
        assert locality_errors(z, z_nn, d2, 2.0)[i].item() == pytest.approx(math.exp(-d2[i].item() / 2) * square)
        groups = [z[i, 2 * g : 2 * g + 2].tolist() for g in range(3)]
        expected = sum(math.sqrt(2) * math.hypot(*group) for group in groups)
        assert group_norms(z, 3)[i].item() == pytest.approx(expected, abs=1e-9)


def test_limits_and_gradient():
    z = random(4, 6)
    assert (locality_errors(z, z, torch.zeros(4)) == 0).all()
    zero = torch.zeros(2, 6, dtype=torch.float64, requires_grad=True)
    group_norms(zero, 3).sum().backward()
    assert zero.grad.isfinite().all()
    assert torch.autograd.gradcheck(lambda z: group_norms(z, 3), (z.requires_grad_(),))


def test_the_objective_weighs_its_terms():
    torch.manual_seed(0)
    network = Centred(Autoencoder((5,), (4,), 6), 6, 3).double()
    x, x_nn = random(4, 5), random(4, 5, seed=1)
    objective = DENObjective(torch.arange(4)[:, None], 2.0, 0.5, 0.1, 3)
    assert torch.equal(objective.partners(torch.tensor([2, 0]), torch.Generator()), torch.tensor([2, 0]))
    z, z_nn = network.body(x), network.body(x_nn)
    expected = reconstruction_errors(x, network.body.decode(z)).mean() + 0.1 * group_norms(z, 3).mean()
    expected = expected + 0.5 * locality_errors(z, z_nn, (x - x_nn).square().sum(1) / 2).mean()
    torch.testing.assert_close(objective(network, Batch(x, x_nn))["loss"], expected)


def test_the_code_has_a_group_for_each_cluster():
    x = np.random.default_rng(0).normal(size=(30, 4))
    assert DEN(3, hidden=(8,), group_size=4, epochs=1, n_init=1, random_state=0).fit(x).transform(x).shape == (30, 12)
