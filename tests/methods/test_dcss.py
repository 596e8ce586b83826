"""DCSS's losses against plain loops, at their limits, and its choice of pairs."""

import pytest
import torch

from c3clust.methods.dcss import FuzzyObjective, PairNet, PairObjective, fuzzy_errors, similarity_loss
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_fuzzy_errors_equal_the_loop():
    errors, d2, p = random(4).square(), random(4, 3, seed=1).square(), random(4, 3, seed=2).softmax(dim=1)
    for i in range(4):
        expected = sum(p[i, k].item() ** 1.5 * (errors[i].item() + 0.1 * d2[i, k].item()) for k in range(3))
        assert fuzzy_errors(errors, d2, p)[i].item() == pytest.approx(expected)


def test_phase_1_compares_squared_norms_of_samples_and_of_codes():
    torch.manual_seed(0)
    network = Centred(Autoencoder((5,), (4,), 2), 2, 3).double()
    torch.nn.init.normal_(network.readout.centres)
    x, centres, total = random(6, 5), network.readout.centres.tolist(), 0.0
    z = network.body(x)
    for row, back, u in zip(x.tolist(), network.body.decode(z).tolist(), z.tolist(), strict=True):
        error = sum((a - b) ** 2 for a, b in zip(row, back, strict=True))
        d2 = [sum((a - b) ** 2 for a, b in zip(u, centre, strict=True)) for centre in centres]
        p = [d**-2 / sum(e**-2 for e in d2) for d in d2]
        total += sum(each**1.5 * (error + 0.1 * d) for each, d in zip(p, d2, strict=True))
    assert FuzzyObjective(1.5)(network, Batch(x, x))["loss"].item() == pytest.approx(total / 6)


def test_the_similarity_loss_equals_the_loop():
    q, p = (2 * random(6, 3)).softmax(dim=1), (4 * random(6, 3, seed=1)).softmax(dim=1)
    s, total, pairs = p @ p.T, 0.0, 0
    for i in range(6):
        for j in range(6):
            g = sum(a * b for a, b in zip(q[i].tolist(), q[j].tolist(), strict=True))
            if s[i, j] > 0.8:
                total, pairs = total + 1 - g, pairs + 1
            elif s[i, j] < 0.2:
                total, pairs = total + g, pairs + 1
    assert similarity_loss(q, s).item() == pytest.approx(total / pairs, abs=1e-12)


def test_one_hot_assignments_cost_nothing_and_unclear_pairs_wait():
    sure = torch.eye(3, dtype=torch.float64)[[0, 0, 1, 2]]
    assert similarity_loss(sure, sure @ sure.T).item() == 0
    q = random(4, 3).softmax(dim=1).requires_grad_()
    loss = similarity_loss(q, torch.full((4, 4), 0.5))
    loss.backward()
    assert loss.item() == 0
    assert torch.autograd.gradcheck(lambda q: similarity_loss(q, sure @ sure.T), (q,))


@pytest.fixture
def network():
    torch.manual_seed(0)
    made = PairNet(Centred(Autoencoder((5,), (4,), 2), 2, 3), 2, 3, 1.5)
    torch.nn.init.normal_(made.base.readout.centres)
    return made


def test_the_pair_network_starts_from_the_fuzzy_memberships(network):
    x = torch.randn(6, 5)
    z, q = network(x)
    torch.testing.assert_close(q, network.memberships(z))
    d2 = [[(a - b).square().sum().item() for b in network.base.readout.centres] for a in z]
    p = [[d ** -(1 / 0.5) / sum(e ** -(1 / 0.5) for e in row) for d in row] for row in d2]
    torch.testing.assert_close(q, torch.tensor(p))


def test_pairs_are_chosen_by_the_centres_first_and_by_the_network_then(network):
    torch.nn.init.normal_(network.g[-1].weight)
    objective, batch, clear = PairObjective(0.8, 0.2, 8), Batch(*torch.randn(2, 6, 5)), []
    for _ in range(3):
        objective.refresh(network, None)
        clear.append(objective(network, batch)["clear_pairs"].item())
    assert clear[0] == clear[1] != clear[2]
    other = PairObjective(0.8, 0.2, 8)
    other.load_state_dict(objective.state_dict())
    assert other.epoch == 3
