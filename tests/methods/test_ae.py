"""AE's reconstruction error against a plain loop, and at its limits."""

import numpy as np
import pytest
import torch

from c3clust.methods.ae import AE, AEObjective, reconstruction_errors
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_errors_equal_the_loop():
    x, x_hat = random(6, 5, seed=1), random(6, 5, seed=2)
    loop = [sum((x[i, d] - x_hat[i, d]).item() ** 2 for d in range(5)) / 5 for i in range(6)]
    assert reconstruction_errors(x, x_hat).tolist() == pytest.approx(loop, abs=1e-10)
    assert torch.autograd.gradcheck(reconstruction_errors, (x.requires_grad_(), x_hat.requires_grad_()))


def test_a_perfect_reconstruction_costs_nothing():
    x = random(4, 3)
    assert (reconstruction_errors(x, x) == 0).all()


def test_the_objective_reconstructs_the_scaled_input():
    torch.manual_seed(0)
    network = Centred(Autoencoder((2, 3), (4,), 2), 2, 3).double()
    network.body.scale.fill_(2.0)
    x = random(5, 2, 3)
    x_hat = network.body.g(network.body.f(2 * x.flatten(1)))
    expected = sum(((2 * a.flatten() - b) ** 2).mean().item() for a, b in zip(x, x_hat, strict=True)) / 5
    assert AEObjective()(network, Batch(x, random(5, 2, 3, seed=9)))["loss"].item() == pytest.approx(
        expected, abs=1e-10
    )


def test_inputs_are_scaled_to_mean_square_one():
    x = np.random.default_rng(0).random((50, 4, 4)).astype(np.float32)
    body = AE(2, hidden=(4,), epochs=0, n_init=1, random_state=0).fit(x).network_.body
    assert body.scaled(torch.from_numpy(x)).square().mean().item() == pytest.approx(1, rel=1e-3)  # images become bytes
    blank = AE(1, hidden=(4,), epochs=0, n_init=1, random_state=0).fit(np.zeros((5, 4, 4))).network_.body
    assert blank.scale.item() == 1


def test_samples_of_low_rank_fit_through_a_narrow_code():
    x = np.random.default_rng(0).normal(size=(64, 2)) @ np.random.default_rng(1).normal(size=(2, 6))
    ae = AE(2, hidden=(), code_dim=2, epochs=400, batch_size=64, lr=0.03, n_init=1, random_state=0).fit(x)
    curve = ae.stages_[0]["curves"]["loss"]
    assert curve[-1] < 1e-3 < curve[0]


@pytest.mark.parametrize("hidden", [5, (0,), ("a",), "wide"])
def test_bad_widths_get_one_clear_sentence(hidden):
    with pytest.raises(ValueError, match="hidden"):
        AE(2, hidden=hidden).fit(np.zeros((5, 4)))
