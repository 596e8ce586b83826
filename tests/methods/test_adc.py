"""ADC's losses against plain loops, at their limits, and the start of its centroids."""

import math

import pytest
import torch

from c3clust.methods.adc import LENGTH, PER_CLUSTER, ADCObjective, AssociationNet, view_loss, visit_loss, walker_loss
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def steps(a, b):
    rows = []
    for u in a:
        e = [math.exp(sum(x * y for x, y in zip(u, v, strict=True))) for v in b]
        rows.append([value / sum(e) for value in e])
    return rows


def test_the_losses_equal_the_loops():
    a, b, target = random(3, 2), random(5, 2, seed=1), random(3, 3, seed=2).softmax(dim=1)
    there, back = steps(a.tolist(), b.tolist()), steps(b.tolist(), a.tolist())
    total = 0.0
    for i in range(3):
        for j in range(3):
            total -= target[i, j].item() * math.log(sum(there[i][k] * back[k][j] for k in range(5))) / 3
    assert walker_loss(a, b, target).item() == pytest.approx(total, abs=1e-10)
    visited = [sum(there[i][k] for i in range(3)) / 3 for k in range(5)]
    assert visit_loss(a, b).item() == pytest.approx(-sum(map(math.log, visited)) / 5, abs=1e-10)


def test_walks_that_return_cost_nothing_and_visits_at_least_log_n():
    far = 20 * torch.eye(4, dtype=torch.float64)
    assert walker_loss(far, far, torch.eye(4, dtype=torch.float64)).item() == pytest.approx(0, abs=1e-8)
    assert visit_loss(far, far).item() == pytest.approx(math.log(4))
    assert visit_loss(far[:1], far).item() > math.log(4)
    a = random(3, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda a: walker_loss(a, random(4, 2), torch.eye(3)) + visit_loss(a, a), (a,))


def test_walks_from_views_end_at_a_view_of_the_same_sample():
    far = 20 * torch.eye(4, dtype=torch.float64)
    assert view_loss(far, far, far).item() == pytest.approx(math.log(2) + math.log(4))  # two views, four samples
    assert view_loss(far, far.flip(0), far).item() > 10
    z_a, z_b, z = random(3, 2), random(3, 2, seed=1), random(3, 2, seed=2)
    views = torch.cat([z_a, z_b]).tolist()
    there, back = steps(views, z.tolist()), steps(z.tolist(), views)
    total = 0.0
    for i in range(6):
        for j in (i % 3, i % 3 + 3):
            total -= math.log(sum(there[i][k] * back[k][j] for k in range(3))) / 12
    visited = [sum(there[i][k] for i in range(6)) / 6 for k in range(3)]
    assert view_loss(z_a, z_b, z).item() == pytest.approx(total - sum(map(math.log, visited)) / 3)


def test_the_centroids_start_at_the_centres_and_the_logits_choose_the_nearest():
    torch.manual_seed(0)
    network, centres = AssociationNet(torch.nn.Linear(4, 5), 5, 3, 3), torch.eye(3)
    network.place(centres)
    assert network.centroids.shape == (3 * PER_CLUSTER, 3)
    assert (network.logits(LENGTH * centres).argmax(dim=1) == torch.arange(3)).all()
    assert (network.logits(network.centroids).argmax(dim=1) == network.owners).all()


def test_the_warm_up_trains_views_only():
    torch.manual_seed(0)
    network, x = AssociationNet(torch.nn.Linear(4, 5), 5, 3, 3), torch.randn(3, 6, 4)
    batch = Batch(x[0], x[1], torch.arange(6), x[2])
    ADCObjective(warming_up=True)(network, batch)["loss"].backward()
    assert network.centroids.grad is None
    ADCObjective(warming_up=False)(network, batch)["loss"].backward()
    assert network.centroids.grad.abs().sum() > 0
