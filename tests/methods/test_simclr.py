"""SimCLR's objective against a plain loop over the 2N views."""

import math

import numpy as np
import pytest
import torch

from c3clust.methods.simclr import Projected, SimCLR, SimCLRObjective
from c3clust.networks.readouts import Centred
from c3clust.training import Batch


def loop(rows, tau):
    n, total = len(rows) // 2, 0.0
    cosine = [[float(torch.cosine_similarity(u, v, dim=0)) for v in rows] for u in rows]
    for i in range(2 * n):
        others = sum(math.exp(cosine[i][j] / tau) for j in range(2 * n) if j != i)
        total -= cosine[i][(i + n) % (2 * n)] / tau - math.log(others)
    return total / (2 * n)


@pytest.mark.parametrize("tau", [0.1, 0.5, 2.0])
def test_the_objective_contrasts_the_projections(tau):
    torch.manual_seed(0)
    network = Centred(Projected(torch.nn.Linear(6, 5), 5, 4), 5, 3).double()
    x_a, x_b = torch.randn(7, 6, dtype=torch.float64), torch.randn(7, 6, dtype=torch.float64)
    rows = network.body.g(network.body.f(torch.cat([x_a, x_b]))).detach()
    assert SimCLRObjective(tau)(network, Batch(x_a, x_b))["loss"].item() == pytest.approx(loop(rows, tau), abs=1e-10)


def test_a_constant_encoder_pays_the_logarithm_of_all_others():
    network = Centred(Projected(torch.nn.Linear(6, 5), 5, 4), 5, 3)
    x = torch.ones(8, 6)
    assert SimCLRObjective(0.5)(network, Batch(x, x))["loss"].item() == pytest.approx(math.log(15), rel=1e-5)


def test_features_are_unit_rows_without_the_head():
    x = np.random.default_rng(0).random((20, 8, 8))
    z = SimCLR(2, epochs=1, projection_dim=4, n_init=1, random_state=0).fit(x).transform(x)
    assert z.shape == (20, 256)
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), 1, rtol=1e-5)
