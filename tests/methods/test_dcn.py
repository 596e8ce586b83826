"""DCN's loss and its moving centres against plain loops written from the paper, and at their limits."""

import pytest
import torch

from c3clust.methods.ae import AEObjective
from c3clust.methods.dcn import COUNT, DCNObjective, centre_errors, moved_centres
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def network():
    torch.manual_seed(0)
    made = Centred(Autoencoder((5,), (4,), 2), 2, 3)
    torch.nn.init.normal_(made.readout.centres)
    return made.double()


def test_errors_equal_the_loop():
    z, centres, labels = random(6, 2, seed=1), random(3, 2, seed=2), torch.tensor([0, 2, 1, 1, 0, 2])
    loop = [sum((z[i, d] - centres[labels[i], d]).item() ** 2 for d in range(2)) for i in range(6)]
    assert centre_errors(z, centres, labels).tolist() == pytest.approx(loop, abs=1e-10)


def test_centres_move_as_one_by_one():
    z, centres, labels = random(9, 2, seed=1), random(4, 2, seed=2), torch.tensor([0, 2, 1, 1, 0, 2, 2, 2, 0])
    counts = torch.tensor([100.0, 3.0, 7.0, 5.0], dtype=torch.float64)
    m, c = centres.tolist(), counts.tolist()
    for i, k in enumerate(labels.tolist()):
        c[k] += 1
        m[k] = [m[k][d] - (m[k][d] - z[i, d].item()) / c[k] for d in range(2)]
    moved, counted = moved_centres(centres, counts, z, labels)
    torch.testing.assert_close(moved, torch.tensor(m, dtype=torch.float64), rtol=0, atol=1e-10)
    assert counted.tolist() == c
    assert torch.equal(moved[3], centres[3])  # no code came
    order = torch.randperm(9, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(moved_centres(centres, counts, z[order], labels[order])[0], moved)


@pytest.mark.parametrize("lam", [0.0, 0.05, 2.0])
def test_the_objective_equals_the_loop_and_then_moves_the_centres(network, lam):
    x, before = random(8, 5), network.readout.centres.detach().clone()
    expected, nearest = 0.0, []
    for u in x:
        z = network.body.f(u)
        d2 = [((z - m) ** 2).sum().item() for m in before]
        nearest.append(d2.index(min(d2)))
        expected += (((u - network.body.g(z)) ** 2).sum().item() + lam / 2 * min(d2)) / 5 / 8
    objective = DCNObjective(network, lam)
    z = network.body(x).detach()
    terms = objective(network, Batch(x, x))
    assert terms["loss"].item() == pytest.approx(expected, abs=1e-10)
    moved, counts = moved_centres(before, torch.full((3,), COUNT, dtype=torch.float64), z, torch.tensor(nearest))
    torch.testing.assert_close(network.readout.centres.detach(), moved)
    assert torch.equal(objective.counts, counts)
    terms["loss"].backward()
    assert network.readout.centres.grad is None


def test_without_lambda_it_is_ae(network):
    x = random(8, 5)
    assert (
        DCNObjective(network, 0.0)(network, Batch(x, x))["loss"].item()
        == AEObjective()(network, Batch(x, x))["loss"].item()
    )
