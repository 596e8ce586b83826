"""IDECF's cost against a plain loop, its limits, and the turns of its two networks."""

import pytest
import torch

from c3clust.losses.terms import fuzzy_centres, fuzzy_memberships
from c3clust.methods.idecf import IDECFObjective, MembershipNet, fuzzy_cost, supervision_loss
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("m", [1.5, 2.0])
def test_the_cost_equals_the_loop(m):
    z, centres, u = random(5, 2), random(3, 2, seed=1), random(5, 3, seed=2).softmax(dim=1)
    total = 0.0
    for i in range(5):
        for k in range(3):
            total += u[i, k].item() ** m * sum((z[i, d] - centres[k, d]).item() ** 2 for d in range(2))
    assert fuzzy_cost(z, centres, u, m).item() == pytest.approx(total / 5, abs=1e-10)


def test_the_supervision_equals_the_released_mean_over_all_entries():
    """Up to the kernel, which is one per dimension there: with one dimension, both are the same."""
    z, centres, u = random(5, 1).requires_grad_(), random(3, 1, seed=1), random(5, 3, seed=2).softmax(dim=1)
    kernel = 1 / (1 + (z[:, None] - centres).square()).sum(dim=2)
    log_q = (kernel / kernel.sum(dim=1, keepdim=True)).log()
    expected = torch.nn.functional.kl_div(log_q, u, reduction="none").mean()
    assert supervision_loss(z, centres, u).item() == pytest.approx(expected.item(), abs=1e-12)
    assert torch.autograd.gradcheck(lambda z, u: supervision_loss(z, centres, u), (z, u.requires_grad_()))


@pytest.mark.parametrize("m", [1.5, 2.0])
def test_the_memberships_of_fuzzy_c_means_minimise_the_cost(m):
    z, centres = random(5, 2), random(3, 2, seed=1)
    d2 = torch.cdist(z, centres).square()
    best = fuzzy_memberships(d2, m)
    expected = [
        [1 / sum((d2[i, k] / d2[i, j]).item() ** (1 / (m - 1)) for j in range(3)) for k in range(3)] for i in range(5)
    ]
    torch.testing.assert_close(best, torch.tensor(expected, dtype=torch.float64))
    for seed in range(5):
        assert fuzzy_cost(z, centres, random(5, 3, seed=seed).softmax(dim=1), m) >= fuzzy_cost(z, centres, best, m)


def test_the_fuzzy_means_equal_the_loop_and_minimise_the_cost():
    z, u = random(5, 2), random(5, 3, seed=2).softmax(dim=1)
    centres = fuzzy_centres(z, u, 1.5)
    for k in range(3):
        w = [v**1.5 for v in u[:, k].tolist()]
        expected = [sum(a * b for a, b in zip(w, z[:, d].tolist(), strict=True)) / sum(w) for d in range(2)]
        assert centres[k].tolist() == pytest.approx(expected)
    assert fuzzy_cost(z, centres + 0.1, u) > fuzzy_cost(z, centres, u)


def test_the_networks_take_turns():
    torch.manual_seed(0)
    network = MembershipNet(Centred(Autoencoder((5,), (4,), 2), 2, 3), 2, 3)
    batch = Batch(*torch.randn(2, 6, 5))
    assert [name for name, _ in IDECFObjective(0.1, 1.5, False).losses(network, batch)] == ["member"]
    for name, loss in IDECFObjective(0.1, 1.5, True).losses(network, batch):
        network.zero_grad(set_to_none=True)
        loss.backward()
        assert (network.body.f[0].weight.grad is None) == (name == "member")
    optimisers = IDECFObjective(0.1, 1.5, True).optimisers(network, 0.1)
    for name, moved in (("member", network.g), ("autoencoder", network.body)):
        held = {id(p) for group in optimisers[name].param_groups for p in group["params"]}
        assert held == {id(p) for p in moved.parameters()}
