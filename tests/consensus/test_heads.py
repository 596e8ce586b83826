"""The loss of guidance by neighbours against plain loops, its gradient, and the parts around it."""

import math
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from c3clust.consensus.head_loss import adam_step, logit_gradient, neighbour_loss
from c3clust.consensus.heads import (
    Settings,
    draw_dims,
    head_dims,
    kmeans,
    linkage_start,
    neighbour_count,
    step_count,
)
from c3clust.features.vectors import lengths_alike, nearest, scale_rows, smoothed


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def loop_loss(q, t, w, p, beta, prior):
    """-w log Σ_m (q_m t_m)^β / p_m^prior, mean over the samples, from the equation."""
    total = 0.0
    for i in range(q.shape[0]):
        inner = sum((q[i, m] * t[i, m]) ** beta / p[0, m] ** prior for m in range(q.shape[1]))
        total += -w[i] * math.log(inner)
    return total / q.shape[0]


@pytest.mark.parametrize("prior", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("beta", [0.6, 1.0])
def test_the_loss_equals_the_loop(beta, prior):
    q, t = random(7, 4).softmax(dim=1), random(7, 4, seed=1).softmax(dim=1)
    w, p = (q * t).sum(dim=1), q.mean(dim=0, keepdim=True)
    expected = loop_loss(q.numpy(), t.numpy(), w.numpy(), p.numpy(), beta, prior)
    assert neighbour_loss(q.log(), t, w, p, beta, prior).item() == pytest.approx(expected, abs=1e-10)


def test_agreement_on_one_cluster_of_equal_sizes_costs_nothing_but_the_prior():
    """q = t = one-hot: the loss is -log(1 / p^prior) = -prior log K for K equal clusters."""
    q = torch.eye(4, dtype=torch.float64).clamp(min=1e-30)
    p = torch.full((1, 4), 0.25, dtype=torch.float64)
    assert neighbour_loss(q.log(), q, torch.ones(4), p, 1.0, 1.0).item() == pytest.approx(-math.log(4), abs=1e-6)
    assert neighbour_loss(q.log(), q, torch.ones(4), p, 1.0, 0.0).item() == pytest.approx(0, abs=1e-6)


def test_the_order_of_clusters_does_not_matter():
    q, t = random(7, 4).softmax(dim=1), random(7, 4, seed=1).softmax(dim=1)
    w, p, order = (q * t).sum(dim=1), q.mean(dim=0, keepdim=True), [2, 0, 3, 1]
    one = neighbour_loss(q.log(), t, w, p)
    torch.testing.assert_close(neighbour_loss(q[:, order].log(), t[:, order], w, p[:, order]), one)


@pytest.mark.parametrize("prior", [0.0, 0.5, 1.0])
def test_the_closed_form_is_the_gradient(prior):
    logits = random(6, 4).requires_grad_()
    t = random(6, 4, seed=1).softmax(dim=1)
    w, p = random(6, seed=2).sigmoid(), random(1, 4, seed=3).sigmoid()
    log_q = torch.log_softmax(logits, dim=1)
    neighbour_loss(log_q, t, w, p, 0.6, prior).backward()
    torch.testing.assert_close(logit_gradient(log_q.detach(), t, w, p, 0.6, prior) / 6, logits.grad)


def test_a_step_of_adam_is_that_of_torch():
    ours = torch.ones(3)
    theirs = torch.nn.Parameter(ours.clone())
    optimiser, moments = torch.optim.Adam([theirs], lr=0.1), (torch.zeros(3), torch.zeros(3))
    for step in range(1, 5):
        gradient = torch.arange(3.0) - step
        adam_step(ours, gradient, moments, step, 0.1)
        theirs.grad = gradient.clone()
        optimiser.step()
    torch.testing.assert_close(ours, theirs.detach())


def test_nearest_neighbours_equal_the_loop_and_leave_the_sample_out():
    z = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    found = nearest(z, 4, block=7)
    for i, row in enumerate(found):
        distance = ((z - z[i]) ** 2).sum(1)
        distance[i] = np.inf
        assert set(row) == set(np.argsort(distance)[:4])


@pytest.mark.parametrize(("n", "K", "expected"), [(100, 2, 25), (250, 10, 12), (12, 6, 3), (3, 3, 2)])
def test_neighbours_are_at_most_half_a_cluster(n, K, expected):
    assert neighbour_count(n, K, 25) == expected


@pytest.mark.parametrize(("shift", "factor"), [(0.0, 1.0), (1e3, 1.0), (0.0, 1e-3), (-50.0, 70.0)])
@pytest.mark.parametrize("unit", [True, False])
def test_shift_and_scale_do_not_matter(shift, factor, unit):
    x = np.random.default_rng(0).normal(size=(40, 6))
    one = scale_rows(x.astype(np.float32), unit)[0]
    np.testing.assert_allclose(scale_rows((factor * x + shift).astype(np.float32), unit)[0], one, atol=2e-3)


def test_directions_are_used_where_lengths_are_alike():
    rng = np.random.default_rng(0)
    assert lengths_alike(rng.normal(size=(200, 300)))
    assert not lengths_alike(rng.normal(size=(200, 2)))


def test_smoothed_rows_are_means_with_the_neighbours():
    z = np.arange(8.0).reshape(4, 2)
    near = np.array([[1, 2], [0, 2], [1, 3], [1, 2]])
    np.testing.assert_allclose(smoothed(z, near)[0], z[[0, 1, 2]].mean(0))


def test_average_linkage_finds_a_small_cluster_beside_a_large_one():
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(0, 1, (190, 5)), rng.normal(9, 0.3, (10, 5))])
    labels = linkage_start(z, 2, np.arange(0, 200, 2))
    assert len(set(labels[:190])) == len(set(labels[190:])) == 1
    assert labels[0] != labels[-1]


def test_members_see_a_part_of_many_dimensions_and_all_of_few():
    rng = np.random.default_rng(0)
    many, few = draw_dims(1280, 3, 0.2, 64, rng), draw_dims(20, 3, 0.2, 64, rng)
    assert many.shape == (3, 256)
    assert len(set(map(tuple, many))) == 3
    assert (few == np.arange(20)).all()


def test_many_samples_get_more_dimensions_and_as_many_passes():
    rng, s = np.random.default_rng(0), Settings()
    assert head_dims(500, 1280, 3, rng).shape == (3, 128)
    assert head_dims(10_000, 1280, 3, rng).shape == (3, 256)
    assert [step_count(n, s) for n in (3, 500, 3840, 7680, 20_000)] == [300, 300, 300, 600, 800]


def test_k_means_is_quiet_in_several_threads():
    before = list(warnings.filters)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda seed: kmeans(np.ones((20, 2)), 3, seed).labels_, range(40)))
    assert all((labels == labels[0]).all() for labels in found)
    assert warnings.filters == before
