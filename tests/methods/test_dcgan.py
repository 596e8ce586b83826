"""DCGAN's loss against a plain loop, its sizes, and the turns of its two networks."""

import math

import pytest
import torch

from c3clust.methods.dcgan import DCGANObjective, adversarial_loss
from c3clust.networks.adversarial import Adversaries, sides
from c3clust.networks.readouts import Centred
from c3clust.training import Batch


def test_the_loss_equals_the_loop():
    logits = torch.randn(6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    d = [1 / (1 + math.exp(-v)) for v in logits.tolist()]
    assert adversarial_loss(logits, True).item() == pytest.approx(-sum(math.log(v) for v in d) / 6)
    assert adversarial_loss(logits, False).item() == pytest.approx(-sum(math.log(1 - v) for v in d) / 6)
    assert adversarial_loss(torch.zeros(3), True).item() == pytest.approx(math.log(2))
    assert adversarial_loss(torch.tensor([1e4]), False).isfinite()


def test_maps_are_halved_to_four_places():
    assert sides(32, 32) == [(16, 16), (8, 8), (4, 4)]
    assert sides(9, 7) == [(5, 4), (3, 2)]
    assert sides(1, 1) == [(1, 1)]


@pytest.mark.parametrize("shape", [(5,), (1, 8, 8), (3, 9, 7), (1, 1, 1)])
def test_samples_that_are_made_have_the_shape_of_real_ones(shape):
    body = Adversaries(shape, 4, 6)
    x = torch.rand(3, *shape)
    assert body.g(torch.rand(3, 6)).shape == x.shape
    assert body(x).shape == (3, body.d.width)
    assert body.d.logits(x).shape == (3,)


def test_the_networks_take_turns():
    torch.manual_seed(0)
    network = Centred(Adversaries((1, 8, 8), 4, 6), 10, 3)
    assert set(DCGANObjective().optimisers(network, 0.1)) == {"discriminator", "generator"}
    for name, loss in DCGANObjective().losses(network, Batch(*torch.rand(2, 6, 1, 8, 8))):
        network.zero_grad(set_to_none=True)
        loss.backward()
        assert (network.body.g.first[0].weight.grad is None) == (name == "discriminator")
