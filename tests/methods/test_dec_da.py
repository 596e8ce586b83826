"""DEC-DA: targets of un-augmented samples, assignments of augmented ones."""

import numpy as np
import pytest
import torch

from c3clust.losses.terms import sharpened
from c3clust.methods.dec_da import DECDA, DECDAObjective
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch


@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_the_loss_equals_the_loop(gamma):
    torch.manual_seed(0)
    network = Centred(Autoencoder((5,), (4,), 2), 2, 3)
    torch.nn.init.normal_(network.readout.centres)
    x, x_a = torch.randn(2, 6, 5)
    objective = DECDAObjective(network, gamma)
    objective.sizes = torch.tensor([1.0, 2.0, 3.0])
    t, (z, q) = sharpened(network(x)[1], objective.sizes).tolist(), network(x_a)
    total = sum(a * np.log(a / b) for s, r in zip(t, q.tolist(), strict=True) for a, b in zip(s, r, strict=True)) / 6
    total += gamma * (x_a - network.body.decode(z)).square().mean().item()
    found = objective(network, Batch(x_a, x_a, raw=x, size=(5,)))["loss"].item()
    assert found == pytest.approx(total, rel=1e-5)


def test_without_augmentation_the_batch_is_that_of_dec():
    x = np.random.default_rng(0).normal(size=(40, 5))
    found = DECDA(2, augment="none", hidden=(8,), pretrain_epochs=1, epochs=2, n_init=1, random_state=0).fit(x)
    assert [stage["name"] for stage in found.stages_] == ["dae", "dec_da"]
    assert found.policy_ == {"policy": "none"}


def test_handwriting_is_turned_and_shifted_and_not_cropped():
    x = np.zeros((40, 8, 8), np.float32)
    x[:, 2:6, 3:5] = np.random.default_rng(0).random((40, 4, 2)) > 0.3
    few = {"hidden": (8,), "pretrain_epochs": 1, "epochs": 1, "n_init": 1, "random_state": 0}
    policy = {"policy": "handwriting", "rotation": 10.0, "shift": 0.1, "shear": 0.0, "stretch": 0.0, "stroke": 0.0}
    assert DECDA(2, **few).fit(x).policy_ == policy
    assert DECDA(2, augment="digit", **few).fit(x).policy_["policy"] == "digit"
