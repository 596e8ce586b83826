"""DAC's loss against a plain double loop over the pairs, its thresholds, and its curriculum."""

import math

import numpy as np
import pytest
import torch

from c3clust.methods.dac import DAC, MEETING, DACObjective, LabelNet, entropy_loss, pair_loss, squared_loss, thresholds
from c3clust.training import Batch


def random(n=8, m=3, seed=0, sharpness=3):
    logits = torch.randn(n, m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (sharpness * logits).softmax(dim=1)


def cosine(a, b):
    return sum(u * v for u, v in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


def loop(p_a, p_b, p, upper, lower):
    total, chosen = 0.0, 0
    for i, a in enumerate(p_a.tolist()):
        for j, b in enumerate(p_b.tolist()):
            g, s = cosine(a, b), cosine(p[i].tolist(), p[j].tolist())
            if s >= upper:
                total, chosen = total - math.log(g), chosen + 1
            elif s < lower:
                total, chosen = total - math.log(1 - g), chosen + 1
    return total / chosen


@pytest.mark.parametrize("lamb", [0.0, 0.2, MEETING])
def test_the_loss_equals_the_loop(lamb):
    views = random(seed=1), random(seed=2), random()
    assert pair_loss(*views, *thresholds(lamb)).item() == pytest.approx(loop(*views, *thresholds(lamb)), abs=1e-12)


@pytest.mark.parametrize("threshold", [0.5, 0.9])
def test_the_released_loss_equals_the_loop(threshold):
    view, p = random(seed=1), random()
    total = 0.0
    for i in range(8):
        for j in range(8):
            similar = cosine(p[i].tolist(), p[j].tolist()) > threshold
            total += (cosine(view[i].tolist(), view[j].tolist()) - similar) ** 2 / 64
    assert squared_loss(view, p, threshold).item() == pytest.approx(total, abs=1e-12)
    assert torch.autograd.gradcheck(lambda a: squared_loss(a, p, threshold), (view.requires_grad_(),))


def test_the_released_loss_for_photographs_equals_the_loop():
    view, p = random(seed=1), random()
    total = 0.0
    for i in range(8):
        for j in range(8):
            g, s = (cosine(each[i].tolist(), each[j].tolist()) for each in (view, p))
            total -= math.log(min(g, 1 - 1e-6) if s > 0.9 else 1 - g) / 64
        for k in range(3):
            a, u = view[i, k].item(), p[i, k].item() / math.hypot(*p[i].tolist())
            total -= 10 * (u * math.log(a) + (1 - u) * math.log(1 - a)) / 24
    assert entropy_loss(view, p, 0.9).item() == pytest.approx(total, abs=1e-10)
    assert torch.autograd.gradcheck(lambda a: entropy_loss(a, p, 0.9), (view.requires_grad_(),))


def test_the_threshold_of_the_released_code_falls_to_one_half():
    objective, seen = DACObjective(20, "released"), []
    for _ in range(20):
        objective.refresh(None, None)
        seen.append(objective.threshold)
    assert seen == pytest.approx([0.9 - 0.02 * e for e in range(20)])
    assert DACObjective(20, "released-cifar10").threshold == 0.99


def test_the_thresholds_meet():
    assert thresholds(0.0) == (0.95, 0.455)
    assert thresholds(0.1) == pytest.approx((0.85, 0.465))
    upper, lower = thresholds(MEETING)
    assert upper == pytest.approx(lower) == pytest.approx(0.5)


def test_one_hot_assignments_cost_nothing():
    p = torch.eye(3, dtype=torch.float64)[[0, 1, 1, 2]].requires_grad_()
    loss = pair_loss(p, p, p, *thresholds(0.0))
    loss.backward()
    assert loss.item() == pytest.approx(0, abs=1e-5)
    assert p.grad.isfinite().all()


def test_a_pair_counts_as_the_cosine_of_its_samples_says():
    p = torch.tensor([[1.0, 0.0], [0.8, 0.6]], dtype=torch.float64)  # cosine 0.8
    p_b = torch.tensor([[0.6, 0.8], [1.0, 0.0]], dtype=torch.float64)  # cosines with p: 0.6, 1; 0.96, 0.8
    own = -math.log(0.6) - math.log(0.8)
    assert pair_loss(p, p_b, p, 0.79, 0.5).item() == pytest.approx((own - math.log(0.96)) / 4, abs=1e-5)
    assert pair_loss(p, p_b, p, 0.95, 0.5).item() == pytest.approx(own / 2)  # undecided: no part in the mean


def test_views_of_a_sample_become_similar():
    p_a, p_b = random(seed=1).requires_grad_(), random(seed=2)
    p = torch.eye(8, dtype=torch.float64) + 0.3  # cosines of 0.57: all other pairs are undecided
    (step,) = torch.autograd.grad(pair_loss(p_a, p_b, p, *thresholds(0.0)), p_a)
    unit = torch.nn.functional.normalize
    before, after = ((unit(each) * unit(p_b)).sum(dim=1).mean() for each in (p_a, p_a - 0.1 * step))
    assert after > before


def test_samples_and_clusters_can_be_exchanged():
    views, (order, names) = (random(seed=1), random(seed=2), random()), (torch.randperm(8), torch.randperm(3))
    found = pair_loss(*[p[order][:, names] for p in views], 0.9, 0.5)
    torch.testing.assert_close(found, pair_loss(*views, 0.9, 0.5))


def test_gradient():
    views = [random(6, seed=seed).requires_grad_() for seed in (1, 2)]
    assert torch.autograd.gradcheck(lambda a, b: pair_loss(a, b, random(6), 0.8, 0.5), views)


def test_the_curriculum_ends_where_the_thresholds_meet_and_is_resumed():
    objective, seen = DACObjective(4), []
    for _ in range(5):
        objective.refresh(None, None)
        seen.append(objective.lamb)
    assert seen == pytest.approx([MEETING / 4, MEETING / 2, 3 * MEETING / 4, MEETING, MEETING])
    other = DACObjective(4)
    other.load_state_dict(objective.state_dict())
    assert other.lamb == objective.lamb


def test_more_pairs_take_part_from_epoch_to_epoch():
    p = random(sharpness=1)
    unit = torch.nn.functional.normalize(p, dim=1)
    g = unit @ unit.T
    shares = [((g >= u) | (g < low)).double().mean() for u, low in map(thresholds, (0.0, 0.2, MEETING))]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_pairs_are_chosen_by_the_samples():
    torch.manual_seed(0)
    network, x = LabelNet(torch.nn.Linear(4, 5), 5, 3).eval(), torch.randn(3, 6, 4)
    p_a, p_b, p = (network(each)[1] for each in x)
    found = DACObjective(4)(network, Batch(x[0], x[1], raw=x[2], size=(4,)))["loss"].item()
    assert found == pytest.approx(loop(p_a, p_b, p, *thresholds(0.0)), rel=1e-4)


def test_no_epochs_and_one_cluster():
    x = np.random.default_rng(0).random((12, 4))
    assert DAC(3, epochs=0, random_state=0).fit(x).stages_[0]["epochs"] == 0
    assert (DAC(1, epochs=2, random_state=0).fit(x).labels_ == 0).all()
