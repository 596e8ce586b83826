"""IIC's loss against a plain loop written from the paper, and at its limits."""

import math

import numpy as np
import pytest
import torch

from c3clust.methods.iic import IIC, IICObjective, InformationNet, information_loss, joint_distribution
from c3clust.networks.heads import LinearHeads
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).softmax(dim=-1)


def loop(p_a, p_b, lamb):
    n, m = len(p_a), len(p_a[0])
    joint = [[sum(p_a[i][c] * p_b[i][d] for i in range(n)) / n for d in range(m)] for c in range(m)]
    joint = [[(joint[c][d] + joint[d][c]) / 2 for d in range(m)] for c in range(m)]
    rows = [sum(joint[c]) for c in range(m)]
    columns = [sum(joint[c][d] for c in range(m)) for d in range(m)]
    return -sum(
        joint[c][d] * (math.log(joint[c][d]) - lamb * math.log(rows[c]) - lamb * math.log(columns[d]))
        for c in range(m)
        for d in range(m)
    )


@pytest.mark.parametrize("lamb", [0.5, 1.0, 1.5])
def test_the_loss_equals_the_loop(lamb):
    p_a, p_b = random(7, 3), random(7, 3, seed=1)
    assert information_loss(p_a, p_b, lamb).item() == pytest.approx(loop(p_a.tolist(), p_b.tolist(), lamb), abs=1e-12)


def test_each_head_has_its_own_loss():
    p_a, p_b = random(2, 7, 3), random(2, 7, 3, seed=1)
    expected = torch.stack([information_loss(a, b) for a, b in zip(p_a, p_b, strict=True)])
    torch.testing.assert_close(information_loss(p_a, p_b), expected)


def test_the_joint_distribution_is_one():
    joint = joint_distribution(random(7, 3), random(7, 3, seed=1))
    assert joint.sum().item() == pytest.approx(1)
    torch.testing.assert_close(joint, joint.T)


def test_equal_clusters_that_agree_have_the_largest_information():
    sure = torch.eye(3, dtype=torch.float64)[[0, 1, 2, 0, 1, 2]]
    assert information_loss(sure, sure).item() == pytest.approx(-math.log(3))
    assert information_loss(sure, sure[:, [1, 2, 0]]).item() > -math.log(3)  # symmetrised: views must agree, not map


def test_one_cluster_or_independent_views_have_no_information():
    one = torch.eye(3, dtype=torch.float64)[[0] * 6]
    half = torch.full((6, 3), 1 / 3, dtype=torch.float64)
    assert information_loss(one, one).item() == pytest.approx(0)
    assert information_loss(half, half).item() == pytest.approx(0, abs=1e-12)


def test_views_samples_and_clusters_can_be_exchanged():
    p_a, p_b = random(8, 4), random(8, 4, seed=1)
    order, names = torch.randperm(8), torch.randperm(4)
    loss = information_loss(p_a, p_b)
    torch.testing.assert_close(information_loss(p_b, p_a), loss)
    torch.testing.assert_close(information_loss(p_a[order], p_b[order]), loss)
    torch.testing.assert_close(information_loss(p_a[:, names], p_b[:, names]), loss)


def test_gradient():
    p_a, p_b = random(5, 3).requires_grad_(), random(5, 3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(information_loss, (p_a, p_b))
    sure = torch.eye(3)[[0, 0, 1]].requires_grad_()  # cluster 2 is empty
    information_loss(sure, sure).backward()
    assert sure.grad.isfinite().all()


def test_a_step_minimises_the_losses_of_both_heads():
    torch.manual_seed(0)
    network, x = InformationNet(torch.nn.Linear(4, 5), 5, 3, 6, 2), torch.randn(2, 9, 4)
    terms = IICObjective(1.0)(network, Batch(*x))
    for name in ("over", "main"):
        p_a, p_b = (getattr(network, name).assign(network.encode(each)) for each in x)
        expected = sum(information_loss(p_a[:, h], p_b[:, h]) for h in range(2)) / 2
        torch.testing.assert_close(terms[f"{name}_loss"], expected)
    torch.testing.assert_close(terms["loss"], terms["over_loss"] + terms["main_loss"])


def test_no_cluster_is_empty_at_the_start():
    """Features with a common offset, as those behind a ReLU, give all samples the same few clusters without a scale."""
    torch.manual_seed(0)
    h = 5 + torch.randn(500, 8)
    sizes = [torch.bincount(LinearHeads(8, 10, 1, scale).best(h).argmax(dim=1), minlength=10) for scale in (None, 2.0)]
    assert sizes[0].min() == 0
    assert sizes[1].min() > 10


def test_the_head_with_the_lowest_loss_gives_the_labels():
    network, x = InformationNet(torch.nn.Linear(4, 5), 5, 3, 6, 3), torch.randn(9, 4)
    network.main.losses.copy_(torch.tensor([0.1, -0.5, 0.0]))
    torch.testing.assert_close(network(x)[1], network.main.assign(network.encode(x))[:, 1])


def test_the_number_of_overclusters():
    x = np.random.default_rng(0).random((20, 4))
    params = {"epochs": 0, "n_heads": 2, "random_state": 0}
    assert IIC(3, **params).fit(x).network_.over.shape == (2, 15)
    assert IIC(3, n_overclusters=7, **params).fit(x).network_.over.shape == (2, 7)
    with pytest.raises(ValueError, match="n_overclusters=0"):
        IIC(3, n_overclusters=0).fit(x)
