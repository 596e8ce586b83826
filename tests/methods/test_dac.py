"""DAC's loss against a plain double loop over the pairs, its thresholds, and its curriculum."""

import math

import numpy as np
import pytest
import torch

from c3clust.methods.dac import DAC, MEETING, DACObjective, LabelNet, pair_loss, thresholds
from c3clust.training import Batch


def random(n=8, m=3, seed=0, sharpness=3):
    logits = torch.randn(n, m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return (sharpness * logits).softmax(dim=1)


def loop(p, upper, lower):
    total, chosen = 0.0, 0
    for a in p:
        for b in p:
            g = sum(u * v for u, v in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)
            if g >= upper:
                total, chosen = total - math.log(g), chosen + 1
            elif g < lower:
                total, chosen = total - math.log(1 - g), chosen + 1
    return total / chosen


@pytest.mark.parametrize("lamb", [0.0, 0.2, MEETING])
def test_the_loss_equals_the_loop(lamb):
    p = random()
    assert pair_loss(p, *thresholds(lamb)).item() == pytest.approx(loop(p.tolist(), *thresholds(lamb)), abs=1e-12)


def test_the_thresholds_meet():
    assert thresholds(0.0) == (0.95, 0.455)
    assert thresholds(0.1) == pytest.approx((0.85, 0.465))
    upper, lower = thresholds(MEETING)
    assert upper == pytest.approx(lower) == pytest.approx(0.5)


def test_one_hot_assignments_cost_nothing():
    p = torch.eye(3, dtype=torch.float64)[[0, 1, 1, 2]].requires_grad_()
    loss = pair_loss(p, *thresholds(0.0))
    loss.backward()
    assert loss.item() == pytest.approx(0)
    assert p.grad.isfinite().all()


def test_a_pair_counts_as_its_cosine_says():
    p = torch.tensor([[1.0, 0.0], [0.8, 0.6]], dtype=torch.float64)  # cosine 0.8
    own = 2 * -math.log(1)
    assert pair_loss(p, 0.79, 0.5).item() == pytest.approx((own - 2 * math.log(0.8)) / 4)
    assert pair_loss(p, 0.95, 0.81).item() == pytest.approx((own - 2 * math.log(0.2)) / 4)
    assert pair_loss(p, 0.95, 0.5).item() == pytest.approx(0)  # undecided: no part in the mean


def test_samples_and_clusters_can_be_exchanged():
    p, (order, names) = random(), (torch.randperm(8), torch.randperm(3))
    torch.testing.assert_close(pair_loss(p[order][:, names], 0.9, 0.5), pair_loss(p, 0.9, 0.5))


def test_gradient():
    assert torch.autograd.gradcheck(lambda p: pair_loss(p, 0.8, 0.5), (random(6).requires_grad_(),))


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


def test_the_pairs_are_those_of_both_views():
    torch.manual_seed(0)
    network, x = LabelNet(torch.nn.Linear(4, 5), 5, 3).double().eval(), torch.randn(2, 4, 4, dtype=torch.float64)
    p = torch.cat([network(x[0])[1], network(x[1])[1]])
    expected = loop(p.tolist(), *thresholds(0.0))
    assert DACObjective(4)(network, Batch(*x))["loss"].item() == pytest.approx(expected, abs=1e-12)


def test_no_epochs_and_one_cluster():
    x = np.random.default_rng(0).random((12, 4))
    assert DAC(3, epochs=0, random_state=0).fit(x).stages_[0]["epochs"] == 0
    assert (DAC(1, epochs=2, random_state=0).fit(x).labels_ == 0).all()
