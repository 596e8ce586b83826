"""The training loop: what it learns, what it logs, what it refuses."""

import numpy as np
import pytest
import torch
from torch import nn

from c3clust import augment
from c3clust.errors import TrainingError
from c3clust.methods.cc import CCObjective
from c3clust.networks import ClusterNet
from c3clust.training import Stage, TrainingContext, auto_epochs, embed, train


def setup(n=40):
    torch.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(n, 6)).astype(np.float32)
    return ClusterNet(nn.Linear(6, 5), 5, 4, 3), x


def run(network, x, **changes):
    stage = Stage(**({"name": "cc", "epochs": 3, "batch_size": 16, "lr": 1e-2} | changes))
    context = TrainingContext(x, (6,), augment.policy("vector"), 0, torch.device("cpu"))
    return train(stage, network, CCObjective(0.5, 1.0), context)


def test_each_curve_has_one_entry_an_epoch():
    curves = run(*setup())
    names = {"loss", "instance_loss", "cluster_loss", "cluster_sizes", "assignment_entropy", "labels_changed"}
    assert names <= set(curves)
    assert {len(curve) for curve in curves.values()} == {3}
    assert all(sum(sizes) == 40 for sizes in curves["cluster_sizes"])


def test_training_lowers_the_loss():
    curves = run(*setup(), epochs=30)
    assert curves["loss"][-1] < curves["loss"][0]


@pytest.mark.parametrize("n", [2, 15, 16, 17])
def test_any_number_of_samples_trains(n):
    assert np.isfinite(run(*setup(n))["loss"]).all()


def test_the_schedules():
    constant, cosine = Stage("x", 4, 2, 0.1), Stage("x", 4, 2, 0.1, "cosine")
    assert [constant.learning_rate(t) for t in (0, 0.5, 1)] == [0.1, 0.1, 0.1]
    assert [cosine.learning_rate(t) for t in (0, 0.5, 1)] == pytest.approx([0.1, 0.05, 0.0])


def test_a_loss_that_is_not_finite_stops_the_training():
    network, x = setup()
    with torch.no_grad():
        network.f.weight.fill_(float("inf"))
    with pytest.raises(TrainingError, match="has diverged"):
        run(network, x)


def test_embed_leaves_the_mode_and_the_gradient_alone():
    network, x = setup()
    network.train()
    z, c = zip(*embed(network, x, (6,), batch=7), strict=True)
    assert network.training
    assert sum(map(len, z)) == len(x)
    assert not z[0].requires_grad
    assert not c[0].requires_grad


@pytest.mark.parametrize(("n", "epochs"), [(1797, 60), (10_000, 15), (500, 200), (60_000, 15)])
def test_auto_epochs_come_to_a_number_of_steps(n, epochs):
    assert auto_epochs(n, 256, 420, 15, 200) == epochs
