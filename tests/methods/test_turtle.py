"""TURTLE's losses against plain loops, and its two levels of optimisation."""

import math

import numpy as np
import pytest
import torch

from c3clust.methods.turtle import LENGTH, LengthAndDirection, TaskNet, TURTLEObjective, soft_cross_entropy, task_loss
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def loop(logits, p, gamma):
    n, m = len(p), len(p[0])
    total = 0.0
    for i in range(n):
        log_sum = math.log(sum(math.exp(v) for v in logits[i]))
        total -= sum(p[i][k] * (logits[i][k] - log_sum) for k in range(m)) / n
    mean = [sum(p[i][k] for i in range(n)) / n for k in range(m)]
    return total + gamma * sum(q * math.log(q) for q in mean)


@pytest.mark.parametrize("gamma", [0.0, 10.0])
def test_the_losses_equal_the_loop(gamma):
    logits, p = random(6, 3), random(6, 3, seed=1).softmax(dim=1)
    assert task_loss(logits, p, gamma).item() == pytest.approx(loop(logits.tolist(), p.tolist(), gamma), abs=1e-12)
    assert soft_cross_entropy(logits, p).item() == pytest.approx(loop(logits.tolist(), p.tolist(), 0.0), abs=1e-12)


def test_labels_that_the_classifier_predicts_cost_nothing_but_their_spread():
    p = torch.eye(4, dtype=torch.float64)
    assert task_loss(100 * p, p, 10.0).item() == pytest.approx(-10 * math.log(4))


def test_the_classifier_is_constant_for_the_task_head():
    logits, p = random(5, 3).requires_grad_(), random(5, 3, seed=1).softmax(dim=1).requires_grad_()
    assert torch.autograd.gradcheck(lambda p: task_loss(logits, p), (p,))
    task_loss(logits, p).backward()
    assert logits.grad is None


def test_the_classifier_takes_its_steps_before_the_task_head():
    torch.manual_seed(0)
    network, objective = TaskNet(4, 3), TURTLEObjective(3, 10.0)
    assert set(objective.optimisers(network, 0.1)) == {"inner", "task"}
    names = []
    for name, loss in objective.losses(network, Batch(*torch.randn(2, 6, 4))):
        names.append(name)
        network.zero_grad()
        loss.backward()
        moved = {part for part in ("inner", "task") if getattr(network, part).bias.grad is not None}
        assert moved == {name}
    assert names == ["inner"] * 3 + ["task"]


def one_step(network, objective, optimisers, x):
    for name, loss in objective.losses(network, Batch(x, x)):
        optimisers[name].zero_grad()
        loss.backward()
        optimisers[name].step()
    return network.inner.weight.detach().clone()


@pytest.mark.parametrize("warm_start", [False, True])
def test_the_classifier_starts_anew_unless_it_is_warm(warm_start):
    torch.manual_seed(0)
    network, objective, x = TaskNet(4, 3), TURTLEObjective(2, 10.0, warm_start), torch.randn(6, 4)
    optimisers = objective.optimisers(network, 0.1)
    optimisers["task"] = torch.optim.SGD(network.task.parameters(), lr=0.0)  # the labels stay
    first, second = (one_step(network, objective, optimisers, x) for _ in range(2))
    assert torch.equal(first, second) != warm_start
    assert warm_start or first.abs().max() <= 0.2 + 1e-6  # two steps of Adam from 0


def test_the_task_head_is_the_linear_layer_of_its_length_and_direction():
    torch.manual_seed(0)
    head, h = LengthAndDirection(4, 3), torch.randn(5, 4)
    torch.testing.assert_close(head(h), h @ head.direction.T + head.bias)  # at the start, as drawn
    with torch.no_grad():
        head.direction.mul_(7)
        head.length.fill_(2.0)
    unit = torch.stack([row / row.norm() for row in head.direction])
    torch.testing.assert_close(head(h), 2 * h @ unit.T + head.bias)


def test_features_keep_the_ratios_of_their_distances():
    x = 100 + random(20, 4).numpy() * [1.0, 2.0, 3.0, 10.0]
    network = TaskNet(4, 3).double()
    network.fit_scale(x)
    h = network(torch.from_numpy(x))[0]
    assert h.mean(dim=0).abs().max() < 1e-4
    assert h.square().sum(dim=1).mean().sqrt().item() == pytest.approx(LENGTH, rel=1e-4)
    d = torch.pdist(h) / torch.pdist(torch.from_numpy(x))
    torch.testing.assert_close(d, d[0].expand_as(d), rtol=1e-4, atol=0)
    network.fit_scale(np.ones((5, 4)))
    assert network(torch.ones(5, 4, dtype=torch.float64))[1].isfinite().all()
