"""SCAN's losses against plain loops written from the paper, its neighbours and its stages."""

import math

import numpy as np
import pytest
import torch

from c3clust import augment
from c3clust.errors import InputError
from c3clust.methods.scan import (
    SCAN,
    NeighbourNet,
    NeighbourObjective,
    SelfLabelObjective,
    neighbour_loss,
    neighbourhoods,
    self_label_loss,
)
from c3clust.methods.simclr import Projected
from c3clust.networks.heads import LinearHeads
from c3clust.training import Batch, TrainingContext


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def assignments(*shape, seed=0):
    return random(*shape, seed=seed).softmax(dim=-1)


def network():
    torch.manual_seed(0)
    return NeighbourNet(Projected(torch.nn.Linear(4, 5), 5, 4), LinearHeads(5, 3, 2)).double()


def loop_neighbours(p, p_nn, weight):
    n, m = len(p), len(p[0])
    agreement = sum(math.log(sum(p[i][c] * p_nn[i][c] for c in range(m))) for i in range(n)) / n
    mean = [sum(p[i][c] for i in range(n)) / n for c in range(m)]
    return -agreement + weight * sum(q * math.log(q) for q in mean)


def loop_labels(logits, p, threshold):
    chosen = [i for i in range(len(p)) if max(p[i]) > threshold]
    label = {i: p[i].index(max(p[i])) for i in chosen}
    total = weights = 0.0
    for i in chosen:
        weight = len(chosen) / sum(label[j] == label[i] for j in chosen)
        log_sum = math.log(sum(math.exp(v) for v in logits[i]))
        total, weights = total + weight * (log_sum - logits[i][label[i]]), weights + weight
    return total / weights


@pytest.mark.parametrize("weight", [0.0, 2.0, 5.0])
def test_the_neighbour_loss_equals_the_loop(weight):
    p, p_nn = assignments(8, 3), assignments(8, 3, seed=1)
    expected = loop_neighbours(p.tolist(), p_nn.tolist(), weight)
    assert neighbour_loss(p, p_nn, weight).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("threshold", [0.0, 0.6, 0.8])
def test_the_self_label_loss_equals_the_loop(threshold):
    logits, p = random(8, 3), (3 * random(8, 3, seed=1)).softmax(dim=1)
    expected = loop_labels(logits.tolist(), p.tolist(), threshold)
    assert self_label_loss(logits, p, threshold).item() == pytest.approx(expected, abs=1e-12)


def test_equal_clusters_shared_by_neighbours_are_the_optimum():
    sure = torch.eye(4, dtype=torch.float64)[[0, 1, 2, 3]]
    assert neighbour_loss(sure, sure, 5.0).item() == pytest.approx(-5 * math.log(4))
    even = torch.full((6, 4), 0.25, dtype=torch.float64)
    assert neighbour_loss(even, even, 5.0).item() == pytest.approx(math.log(4) - 5 * math.log(4))


def test_neighbours_that_disagree_cost_a_finite_amount_with_a_finite_gradient():
    p = torch.eye(2)[[0, 1]].requires_grad_()
    loss = neighbour_loss(p, p.detach().flip(0))
    loss.backward()
    assert loss.isfinite()
    assert p.grad.isfinite().all()


def test_clusters_weigh_the_same_whatever_their_size():
    logits, p = random(2, 3), torch.eye(3, dtype=torch.float64)[:2]
    many = [0, 0, 0, 0, 1]
    torch.testing.assert_close(self_label_loss(logits[many], p[many]), self_label_loss(logits, p))


def test_without_confident_samples_nothing_is_learned():
    logits = random(4, 3).requires_grad_()
    loss = self_label_loss(logits, torch.full((4, 3), 1 / 3), 0.99)
    loss.backward()
    assert loss.item() == 0
    assert (logits.grad == 0).all()


def test_samples_and_clusters_can_be_exchanged():
    p, p_nn, logits = assignments(8, 4), assignments(8, 4, seed=1), random(8, 4)
    order, names = torch.randperm(8), torch.randperm(4)
    moved = [t[order][:, names] for t in (p, p_nn, logits)]
    torch.testing.assert_close(neighbour_loss(*moved[:2]), neighbour_loss(p, p_nn))
    torch.testing.assert_close(self_label_loss(moved[2], moved[0], 0.5), self_label_loss(logits, p, 0.5))


def test_gradient():
    p, p_nn = assignments(5, 3).requires_grad_(), assignments(5, 3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(neighbour_loss, (p, p_nn))
    logits = random(5, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda logits: self_label_loss(logits, assignments(5, 3), 0.4), (logits,))


def test_a_sample_and_its_neighbours_among_the_projections():
    net, x = network().float(), random(12, 4).float()
    context = TrainingContext(x.numpy(), (4,), augment.policy("none"), 0, torch.device("cpu"))
    z = torch.nn.functional.normalize(net.body.project(x), dim=1)
    cosine = (z @ z.T).fill_diagonal_(-2)
    itself, found = neighbourhoods(net, context, 3).tensor_split([1], dim=1)
    assert torch.equal(itself.squeeze(1), torch.arange(12))
    assert torch.equal(found.sort(dim=1).values, cosine.topk(3, dim=1).indices.sort(dim=1).values)


def test_a_partner_is_one_of_the_neighbours():
    neighbours = torch.arange(30).view(10, 3)
    objective, index = NeighbourObjective(neighbours, 5.0), torch.tensor([4, 0, 7])
    drawn = [objective.partners(index, torch.Generator().manual_seed(seed)) for seed in range(20)]
    assert all((partner[:, None] == neighbours[index]).any(dim=1).all() for partner in drawn)
    assert len({int(partner[0]) for partner in drawn}) == 3


def test_stage_two_trains_all_heads_on_the_pair_and_records_their_losses():
    net, x = network(), random(2, 6, 4)
    p, p_nn = (net.heads.assign(net.encode(each)).detach().transpose(0, 1) for each in x)
    losses = [loop_neighbours(a, b, 5.0) for a, b in zip(p.tolist(), p_nn.tolist(), strict=True)]
    loss = NeighbourObjective(torch.zeros(6, 1), 5.0)(net, Batch(*x))["loss"]
    assert loss.item() == pytest.approx(sum(losses) / 2, abs=1e-12)
    assert net.heads.losses.tolist() == pytest.approx([0.1 * each for each in losses])


def test_stage_three_takes_labels_from_the_samples_and_trains_the_best_head_on_views():
    net, (x, x_a, x_b) = network().float(), random(3, 6, 4).float()
    net.heads.losses.copy_(torch.tensor([0.0, -1.0]))
    with torch.no_grad():
        net.heads.linear.weight.mul_(20)
    terms = SelfLabelObjective(0.6)(net, Batch(x_a, x_b, raw=x, size=(4,)))
    logits, p = (net.heads.logits(net.encode(each))[:, 1].detach() for each in (x_a, x))
    p = p.softmax(dim=1)
    assert terms["loss"].item() == pytest.approx(loop_labels(logits.tolist(), p.tolist(), 0.6), rel=1e-5)
    assert terms["confident"].item() == pytest.approx((p.max(dim=1).values > 0.6).double().mean().item())


def test_the_stages_and_their_lengths():
    x = np.random.default_rng(0).normal(size=(30, 4))
    params = {"pretrain_epochs": 1, "epochs": 2, "n_heads": 2, "random_state": 0}
    lengths = [(stage["name"], stage["epochs"]) for stage in SCAN(3, **params).fit(x).stages_]
    assert lengths == [("simclr", 1), ("scan", 2), ("self_label", 2)]
    rates = [stage["curves"]["learning_rate"][0] for stage in SCAN(3, **params, schedule="constant").fit(x).stages_]
    assert rates == [1e-3, 1e-3, 1e-4]
    without = SCAN(3, **params, self_label_epochs=0).fit(x)
    assert (without.labels_ == without.start_labels_).all()


def test_few_samples_have_few_neighbours():
    x = np.random.default_rng(0).normal(size=(3, 4))
    assert len(SCAN(3, pretrain_epochs=1, epochs=1, random_state=0).fit(x).labels_) == 3


def test_strong_views_are_those_of_stages_2_and_3_only():
    seen = {"weak": 0, "strong": 0}

    def counting(name):
        def policy(x, size, generator):
            seen[name] += 1
            return augment.prepare(x, size)

        return policy

    x = np.random.default_rng(0).random((40, 8, 8))
    options = {"pretrain_epochs": 1, "epochs": 1, "batch_size": 20, "random_state": 0}
    SCAN(2, augment=counting("weak"), strong=counting("strong"), **options).fit(x)
    assert seen == {"weak": 4, "strong": 8}  # two views of two batches in each stage
    with pytest.raises(InputError, match="unknown augmentation policy"):
        SCAN(2, strong="stronger", **options).fit(x)
