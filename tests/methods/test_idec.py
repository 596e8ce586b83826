"""IDEC's objective against its two terms, and at its limits."""

import pytest
import torch

from c3clust import augment
from c3clust.methods.ae import AEObjective
from c3clust.methods.dec import DECObjective, prepare_sharpening
from c3clust.methods.idec import IDECObjective
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, TrainingContext


def context(x):
    return TrainingContext(x.numpy(), (5,), augment.policy("none"), 0, torch.device("cpu"))


@pytest.fixture
def network():
    torch.manual_seed(0)
    made = Centred(Autoencoder((5,), (4,), 2), 2, 3)
    torch.nn.init.normal_(made.readout.centres)
    prepare_sharpening(made)
    return made


@pytest.fixture
def x():
    return torch.randn(30, 5, generator=torch.Generator().manual_seed(1))


def value(objective, network, x):
    if hasattr(objective, "refresh"):
        objective.refresh(network, context(x))
    return objective(network, Batch(x[:8], x[:8]))["loss"].item()


@pytest.mark.parametrize("gamma", [0.0, 0.1, 3.0])
def test_the_loss_is_reconstruction_plus_gamma_times_dec(network, x, gamma):
    reconstruction = sum(
        ((u - network.body.g(network.body.f(u))) ** 2).sum().item() / 5 for u in x[:8]
    ) / 8  # fmt: skip
    expected = reconstruction + gamma * value(DECObjective(network), network, x)
    assert value(IDECObjective(network, gamma), network, x) == pytest.approx(expected, rel=1e-5)


def test_without_gamma_it_is_ae(network, x):
    assert value(IDECObjective(network, 0.0), network, x) == value(AEObjective(), network, x)


def test_encoder_decoder_and_centres_move(network, x):
    objective = IDECObjective(network, 0.1)
    objective.refresh(network, context(x))
    objective(network, Batch(x, x))["loss"].backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())
