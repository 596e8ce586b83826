"""DEC's assignment, target and loss against plain loops written from the paper, and at their limits."""

import copy
import math

import numpy as np
import pytest
import torch

from c3clust import augment
from c3clust.losses.terms import kl_rows, sharpened
from c3clust.methods.dec import DEC, DECObjective, SharpenedTarget, prepare_sharpening
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, TrainingContext


def context(x):
    return TrainingContext(x.numpy(), (5,), augment.policy("none"), 0, torch.device("cpu"))


def network(dtype=torch.float64):
    torch.manual_seed(0)
    made = Centred(Autoencoder((5,), (4,), 2), 2, 3)
    torch.nn.init.normal_(made.readout.centres)
    prepare_sharpening(made)
    return made.to(dtype)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def loop_assignment(z, centres):
    rows = []
    for u in z:
        row = [1 / (1 + sum((a - b) ** 2 for a, b in zip(u, m, strict=True))) for m in centres]
        rows.append([v / sum(row) for v in row])
    return rows


def loop_target(q):
    m = len(q[0])
    sizes = [sum(row[j] for row in q) for j in range(m)]
    rows = [[row[j] ** 2 / sizes[j] for j in range(m)] for row in q]
    return [[v / sum(row) for v in row] for row in rows]


def test_assignment_target_and_loss_equal_the_loops():
    net, x = network(), random(8, 5, seed=1)
    z, q = net(x)
    q_loop = loop_assignment(z.tolist(), net.readout.centres.tolist())
    np.testing.assert_allclose(q.detach(), q_loop, rtol=0, atol=1e-10)
    t_loop = loop_target(q_loop)
    np.testing.assert_allclose(sharpened(q, q.sum(dim=0)).detach(), t_loop, rtol=0, atol=1e-10)
    kl = [sum(a * math.log(a / b) for a, b in zip(t, p, strict=True)) for t, p in zip(t_loop, q_loop, strict=True)]
    np.testing.assert_allclose(kl_rows(torch.tensor(t_loop, dtype=torch.float64), q).tolist(), kl, rtol=0, atol=1e-10)


def test_the_objective_is_the_mean_over_the_batch_with_the_target_of_all_samples():
    net, x = network(torch.float32), random(40, 5, seed=1).float()
    objective = DECObjective(net)
    objective.refresh(net, context(x))
    q_all = net(x)[1].detach().double()
    t = torch.tensor(loop_target(q_all.tolist()))[:8]
    expected = (t * (t / q_all[:8]).log()).sum(dim=1).mean().item()
    assert objective(net, Batch(x[:8], x[:8]))["loss"].item() == pytest.approx(expected, abs=1e-6)


def test_the_target_rests_between_refreshes():
    net, x = network(torch.float32), random(20, 5).float()
    target = SharpenedTarget(net)
    target.refresh(net, context(x))
    before = target.target(x)
    with torch.no_grad():
        net.readout.centres.add_(1.0)
    assert torch.equal(target.target(x), before)
    target.refresh(net, context(x))
    assert not torch.equal(target.target(x), before)


def test_equal_distributions_cost_nothing_and_others_something():
    q = random(6, 4).softmax(dim=1)
    torch.testing.assert_close(kl_rows(q, q), torch.zeros(6, dtype=torch.float64))
    assert (kl_rows(sharpened(q, q.sum(dim=0)), q) > 0).all()


def test_one_hot_assignments_are_their_own_target():
    q = torch.eye(3, dtype=torch.float64)[[0, 1, 1, 2]]
    torch.testing.assert_close(sharpened(q, q.sum(dim=0)), q)


def test_an_underflowing_assignment_is_finite_with_a_finite_gradient():
    logits = torch.tensor([[0.0, 500.0, -500.0]], requires_grad=True)
    q = logits.softmax(dim=1)
    loss = kl_rows(torch.tensor([[0.5, 0.5, 0.0]]), q).sum()
    loss.backward()
    assert loss.isfinite()
    assert logits.grad.isfinite().all()


def test_encoder_and_centres_move_and_the_decoder_rests():
    net, x = network(torch.float32), random(20, 5).float()
    objective = DECObjective(net)
    objective.refresh(net, context(x))
    objective(net, Batch(x, x))["loss"].backward()
    assert net.readout.centres.grad.abs().sum() > 0
    assert all(p.grad is not None for p in net.body.f.parameters())
    assert all(p.grad is None for p in net.body.g.parameters())


def test_stage_two_starts_from_k_means_on_the_codes():
    x = np.random.default_rng(0).normal(size=(60, 5))
    params = {"hidden": (8,), "pretrain_epochs": 2, "random_state": 0}
    none = DEC(3, **params, epochs=0).fit(x)
    some = DEC(3, **params, epochs=3, lr=1e-2).fit(x)
    assert (none.labels_ == none.start_labels_).all()
    assert (none.start_labels_ == some.start_labels_).all()
    assert [s["name"] for s in some.stages_] == ["dae", "dec"]
    assert not torch.equal(none.network_.readout.centres, some.network_.readout.centres)


def test_gradient():
    q = random(4, 3).softmax(dim=1)
    t = copy.deepcopy(q).flip(0)
    assert torch.autograd.gradcheck(lambda p: kl_rows(t, p), (q.requires_grad_(),))
