"""ProPos' losses against plain loops, at their limits, and its target network."""

import math

import numpy as np
import pytest
import torch

from c3clust.methods.propos import Predicting, ProPos, ProPosObjective, alignment_loss, prototypes, scattering_loss
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, Stage
from c3clust.training.loop import _optimisers


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dot(a, b):
    return sum(u * v for u, v in zip(a, b, strict=True))


def test_the_alignment_equals_the_loop():
    q, z = random(5, 3), random(5, 3, seed=1)
    pairs = list(zip(q.tolist(), z.tolist(), strict=True))
    expected = sum(2 - 2 * dot(a, b) / math.hypot(*a) / math.hypot(*b) for a, b in pairs) / 5
    assert alignment_loss(q, z).item() == pytest.approx(expected)
    assert alignment_loss(q, 3 * q).item() == pytest.approx(0, abs=1e-12)


def test_the_scattering_equals_the_loop():
    z, labels = random(6, 3), torch.tensor([0, 0, 1, 1, 3, 3])
    a, b = prototypes(z, labels, 4), prototypes(random(6, 3, seed=1), labels, 4)
    mean = z[:2].mean(0)
    torch.testing.assert_close(a[0], mean / mean.norm())
    rows, others, total = a[[0, 1, 3]].tolist(), b[[0, 1, 3]].tolist(), 0.0
    for k in range(3):
        own = math.exp(dot(rows[k], others[k]) / 0.5)
        rest = sum(math.exp(dot(rows[k], rows[j]) / 0.5) for j in range(3) if j != k)
        total -= math.log(own / (own + rest)) / 3
    present = torch.tensor([True, True, False, True])
    assert scattering_loss(a, b, present).item() == pytest.approx(total, abs=1e-10)


def test_one_cluster_has_nothing_to_scatter():
    a = prototypes(random(4, 3), torch.zeros(4).long(), 1)
    assert scattering_loss(a, a, torch.tensor([True])).item() == 0
    b = torch.nn.functional.normalize(random(3, 3), dim=1).requires_grad_()
    present = torch.ones(3, dtype=torch.bool)
    assert torch.autograd.gradcheck(lambda b: scattering_loss(b, b.flip(1), present), (b,))


@pytest.fixture
def network():
    torch.manual_seed(0)
    return Centred(Predicting(torch.nn.Linear(4, 5), 5, 3), 3, 2)


def test_the_predictor_starts_small_and_learns_ten_times_as_fast(network):
    layers = [layer for layer in network.body.q if isinstance(layer, torch.nn.Linear)]
    assert all(layer.weight.std() < 0.03 and not layer.bias.any() for layer in layers)
    [group] = [g for g in _optimisers(None, network, Stage("byol", 1, 4, 0.1))["loss"].param_groups if g["rate"] == 10]
    assert {id(p) for p in group["params"]} == {id(p) for p in network.body.q.parameters()}


def test_the_rate_grows_in_stage_1_and_falls_in_stage_2():
    x = np.random.default_rng(0).random((32, 6)).astype(np.float32)
    found = ProPos(2, pretrain_epochs=4, epochs=4, batch_size=8, lr=0.01, random_state=0).fit(x)
    byol, propos = (stage["curves"]["learning_rate"] for stage in found.stages_)
    assert byol == sorted(byol)
    assert propos == sorted(propos, reverse=True)
    assert byol[-1] == pytest.approx(0.01, rel=0.1)
    assert propos[-1] < 0.001


def test_batch_statistics_of_the_target_are_its_own(network):
    x, norm = torch.randn(2, 6, 4), network.body.target[2][1]
    with torch.no_grad():
        network.body.online[2][1].running_mean.fill_(100)
    ProPosObjective(2, 0.5, 0, 0, 0.5)(network, Batch(*x, torch.arange(6)))
    assert norm.running_mean.abs().max() < 1


@pytest.mark.parametrize("weight", [0.0, 0.1])
def test_no_gradient_reaches_the_target_which_follows(network, weight):
    objective, x = ProPosObjective(2, 0.9, weight, 0.001, 0.5), torch.randn(2, 6, 4)
    objective.labels = torch.arange(6) % 2
    with torch.no_grad():
        network.body.online[0].weight.add_(1)
    before = network.body.target[0].weight.clone()
    terms = objective(network, Batch(*x, torch.arange(6)))
    terms["loss"].backward()
    assert ("scattering_loss" in terms) == bool(weight)
    assert all(p.grad is None for p in network.body.target.parameters())
    assert network.body.q[0].weight.grad is not None
    torch.testing.assert_close(network.body.target[0].weight, before + 0.1)
    other = ProPosObjective(2, 0.9, weight, 0.001, 0.5)
    other.load_state_dict(objective.state_dict())
    assert torch.equal(other.labels, objective.labels)


def test_noise_is_added_to_what_is_predicted_and_not_to_what_is_scattered(network):
    x, terms = torch.randn(2, 6, 4), []
    for sigma in (0.0, 0.5):
        objective = ProPosObjective(2, 1.0, 0.1, sigma, 0.5)
        objective.labels = torch.arange(6) % 2
        terms.append(objective(network, Batch(*x, torch.arange(6))))
    assert terms[0]["scattering_loss"] == terms[1]["scattering_loss"]
    assert terms[0]["alignment_loss"] != terms[1]["alignment_loss"]


def test_projections_of_the_target_are_clustered(network):
    x, body = torch.randn(6, 4), network.body.eval()
    torch.testing.assert_close(network(x)[0], torch.nn.functional.normalize(body.target(x), dim=1))
