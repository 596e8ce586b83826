"""VAE's two terms against plain loops and torch.distributions, and at their limits."""

import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from c3clust.methods.vae import VAE, VAEObjective, VariationalAutoencoder, gaussian_nll, kl_to_standard_normal
from c3clust.networks.readouts import Centred
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_kl_equals_the_loop_and_torchs_own():
    mu, log_var = random(6, 3, seed=1), random(6, 3, seed=2)
    loop = [
        -0.5 * sum(1 + v - m * m - math.exp(v) for m, v in zip(ms, vs, strict=True))
        for ms, vs in zip(mu.tolist(), log_var.tolist(), strict=True)
    ]
    found = kl_to_standard_normal(mu, log_var)
    assert found.tolist() == pytest.approx(loop, abs=1e-10)
    torch.testing.assert_close(found, kl_divergence(Normal(mu, (log_var / 2).exp()), Normal(0.0, 1.0)).sum(dim=1))
    assert torch.autograd.gradcheck(kl_to_standard_normal, (mu.requires_grad_(), log_var.requires_grad_()))


def test_the_standard_normal_costs_nothing():
    assert (kl_to_standard_normal(torch.zeros(4, 3), torch.zeros(4, 3)) == 0).all()


def test_nll_is_the_normal_density_at_its_best_variance():
    x, x_hat = random(5, 4, seed=1), random(5, 4, seed=2)
    errors = (x - x_hat).square().mean(dim=1)
    variances = torch.linspace(0.5, 8, 751, dtype=torch.float64) * errors.mean() / 2
    density = torch.stack([Normal(x_hat, v.sqrt()).log_prob(x).sum(dim=1).mean() for v in variances])
    expected = -density.max() - 2 * (1 + math.log(2 * math.pi))
    torch.testing.assert_close(gaussian_nll(errors, 4), expected, rtol=0, atol=1e-4)
    assert gaussian_nll(torch.zeros(3), 4).isfinite()


def test_the_objective_is_the_sum_of_both_terms_at_a_drawn_code():
    torch.manual_seed(0)
    network, x = Centred(VariationalAutoencoder((5,), (4,), 2), 2, 3).double(), random(6, 5)
    torch.manual_seed(1)
    terms = VAEObjective()(network, Batch(x, x))
    torch.manual_seed(1)
    mu, log_var = network.body.f(x).split(2, dim=1)
    z = mu + torch.randn_like(mu) * (log_var / 2).exp()
    square = sum(((a - b) ** 2).sum() for a, b in zip(x, network.body.g(z), strict=True))
    nll = 5 / 2 * (square / (5 * 6) + 1e-6).log()
    kl = kl_to_standard_normal(mu, log_var).mean()
    torch.testing.assert_close(terms["loss"], nll + kl, rtol=0, atol=1e-10)


def test_huge_inputs_keep_the_variance_finite():
    body = VariationalAutoencoder((5,), (4,), 2)
    assert body.posterior(torch.full((2, 5), 1e6))[1].exp().isfinite().all()


def test_transform_is_the_mean_code():
    x = np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32)
    vae = VAE(2, hidden=(4,), code_dim=3, epochs=1, random_state=0).fit(x)
    assert vae.transform(x).shape == (20, 3)
    np.testing.assert_array_equal(vae.transform(x), vae.transform(x))
