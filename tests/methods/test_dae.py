"""DAE's corruption, and its limits: no noise is AE."""

import torch

from c3clust.methods.ae import AEObjective
from c3clust.methods.dae import DAEObjective, corrupt
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch


def test_corruption_zeroes_the_asked_share_and_touches_nothing_else():
    torch.manual_seed(0)
    x = torch.rand(100, 1, 10, 10) + 1
    seen = corrupt(x, 0.25)
    assert ((seen == 0) | (seen == x)).all()
    assert abs((seen == 0).double().mean().item() - 0.25) < 0.02
    assert torch.equal(corrupt(x, 0.0), x)
    assert (corrupt(x, 1.0) == 0).all()


def test_without_noise_it_is_ae():
    torch.manual_seed(0)
    network, x = Centred(Autoencoder((5,), (4,), 2), 2, 3), torch.randn(6, 5)
    assert torch.equal(DAEObjective(0.0)(network, Batch(x, x))["loss"], AEObjective()(network, Batch(x, x))["loss"])


def test_the_target_is_the_clean_sample():
    network, x = Centred(Autoencoder((5,), (4,), 2), 2, 3), torch.randn(6, 5)
    blind = network.body.decode(network.body(torch.zeros(6, 5)))
    expected = (x - blind).square().mean()
    torch.testing.assert_close(DAEObjective(1.0)(network, Batch(x, x))["loss"], expected)
