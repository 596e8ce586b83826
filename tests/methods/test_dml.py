"""DML's hard clusters and errors against plain loops, and its autoencoders."""

import itertools

import pytest
import torch

from c3clust.methods.dml import DMLObjective, ManyCodes, hard_clusters, weighted_errors
from c3clust.networks.autoencoder import Autoencoder
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_hard_clusters_equal_the_loop():
    centres = torch.tensor([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    d = {(a, b): (centres[a] - centres[b]).norm().item() for a, b in itertools.permutations(range(4), 2)}
    limit = (min(d.values()) + max(d.values())) / 4
    expected = [any(d[a, b] < limit for b in range(4) if b != a) for a in range(4)]
    assert hard_clusters(centres).tolist() == expected == [True, True, False, False]
    assert hard_clusters(centres[:1]).tolist() == [False]


def test_the_errors_equal_the_loop():
    errors, d2, p = random(4, 3).square(), random(4, 3, seed=1).square(), random(4, 3, seed=2).softmax(dim=1)
    for i in range(4):
        expected = sum(p[i, k].item() ** 1.5 * (errors[i, k] + d2[i, k]).item() for k in range(3))
        assert weighted_errors(errors, d2, p)[i].item() == pytest.approx(expected)


def divided():
    torch.manual_seed(0)
    network = ManyCodes(Autoencoder((5,), (4,), 2), 3, 2, 1.5)
    network.divide(torch.tensor([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0]]))
    return network


def test_one_step_compares_squared_norms_of_samples_and_of_codes():
    network, x, total = divided().double(), random(6, 5), 0.0
    for row in x:
        errors, d2 = [], []
        for k, owner in enumerate(network.owner.tolist()):
            u = network.bodies[owner](row[None])
            errors.append((row - network.bodies[owner].decode(u)[0]).square().sum().item())
            d2.append((u[0] - network.centres[k]).square().sum().item())
        p = [d**-2 / sum(e**-2 for e in d2) for d in d2]
        total += 0.1 * sum(each**1.5 * (error + d) for each, error, d in zip(p, errors, d2, strict=True))
    assert DMLObjective()(network, Batch(x, x))["loss"].item() == pytest.approx(total / 6)


def test_hard_clusters_have_an_autoencoder_of_their_own():
    network = divided()
    assert len(network.bodies) == 3
    assert network.owner.tolist() == [1, 2, 0]
    assert network.bodies[1].f[0].weight is not network.bodies[0].f[0].weight
    DMLObjective()(network, Batch(*torch.randn(2, 6, 5)))["loss"].backward()
    assert all(body.f[0].weight.grad.abs().sum() > 0 for body in network.bodies)


def test_a_saved_state_brings_its_autoencoders_and_a_wrong_one_is_refused():
    state = divided().state_dict()
    other = ManyCodes(Autoencoder((5,), (4,), 2), 3, 2, 1.5)
    other.load_state_dict(state)
    x = torch.randn(4, 5)
    assert torch.equal(other(x)[1], divided()(x)[1])
    with pytest.raises(ValueError, match="do not fit together"):
        ManyCodes(Autoencoder((5,), (4,), 2), 3, 2, 1.5).load_state_dict(state | {"owner": torch.tensor([0, 1, 9])})
