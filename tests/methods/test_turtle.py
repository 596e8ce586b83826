"""TURTLE's losses against plain loops, and its two levels of optimisation."""

import math

import pytest
import torch

from c3clust.methods.turtle import TaskNet, TURTLEObjective, soft_cross_entropy, task_loss
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
        moved = {part for part in ("inner", "task") if getattr(network, part).weight.grad is not None}
        assert moved == {name}
    assert names == ["inner"] * 3 + ["task"]
