"""The training loop: what it learns, what it logs, what it refuses."""

import sys

import numpy as np
import pytest
import torch
from torch import nn

from c3clust import augment
from c3clust.errors import TrainingError
from c3clust.methods.cc import CCObjective, InstanceObjective
from c3clust.networks import ClusterNet
from c3clust.training import Stage, TrainingContext, auto_epochs, embed, train
from c3clust.training.checkpoint import Checkpoints


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


def test_assignments_that_are_not_trained_are_not_evaluated(monkeypatch):
    context = TrainingContext(setup()[1], (6,), augment.policy("vector"), 0, torch.device("cpu"))
    stage, trained = Stage("warmup", 3, 16, 1e-2), []
    for assigns in (True, False):
        monkeypatch.setattr(InstanceObjective, "assigns", assigns)
        network = setup()[0]
        context.generator.manual_seed(0)
        curves = train(stage, network, InstanceObjective(0.5), context)
        assert ("cluster_sizes" in curves) == assigns
        trained.append(network.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(trained[0].values(), trained[1].values(), strict=True))


def test_without_evaluation_parameters_that_are_not_finite_stop_the_training():
    network, x = setup()
    context = TrainingContext(x, (6,), augment.policy("vector"), 0, torch.device("cpu"))
    with torch.no_grad():
        network.g_c[0].bias.fill_(float("nan"))  # which the instance loss does not see
    with pytest.raises(TrainingError, match="has diverged"):
        train(Stage("warmup", 1, 16, 1e-2), network, InstanceObjective(0.5), context)


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


def test_embed_leaves_the_mode_and_the_gradient_alone(monkeypatch):
    monkeypatch.setattr(sys.modules["c3clust.training.embed"], "BATCH", 7)
    network, x = setup()
    network.train()
    z, c = zip(*embed(network, x, (6,)), strict=True)
    assert network.training
    assert sum(map(len, z)) == len(x)
    assert not z[0].requires_grad
    assert not c[0].requires_grad


@pytest.mark.parametrize(("n", "epochs"), [(1797, 60), (10_000, 15), (500, 200), (60_000, 15)])
def test_auto_epochs_come_to_a_number_of_steps(n, epochs):
    assert auto_epochs(n, 256, 420, 15, 200) == epochs


# What an objective may do besides its loss.


def fit(objective, x, folder=None, policy="none", epochs=3):
    """A network after `epochs` of 3 steps, with its curves. With a folder, each step leaves a checkpoint."""
    torch.manual_seed(0)
    network = ClusterNet(nn.Linear(6, 5), 5, 4, 3)
    context = TrainingContext(x, (6,), augment.policy(policy), 0, torch.device("cpu"))
    context.checkpoints = None if folder is None else Checkpoints(folder, minutes=0)
    curves = train(Stage("x", epochs, 16, 1e-2), network, objective, context)
    return network, {name: curve for name, curve in curves.items() if name != "seconds"}


class Killed(BaseException):
    """Stands for the end of the process."""


class Mortal:
    """An objective that ends the process before its `last`th step."""

    last = -1

    def count(self):
        self.last -= 1
        if self.last == 0:
            raise Killed


def assert_resumed_bit_for_bit(make, x, folder):
    """Killed before each 2nd step that it takes, the training ends as if nothing had happened."""
    whole, curves = fit(make(), x, policy="vector")
    for attempt in range(20):
        objective = make()
        objective.last = 2
        try:
            one, again = fit(objective, x, folder, policy="vector")
            break
        except Killed:
            assert attempt < 10
    assert attempt > 5
    assert again == curves
    for (name, a), b in zip(whole.state_dict().items(), one.state_dict().values(), strict=True):
        assert torch.equal(a, b), name


class Seen:
    """Keeps the batches that it is given."""

    def __init__(self):
        self.batches = []

    def __call__(self, network, batch):
        self.batches.append(batch)
        return {"loss": network(batch.x_a)[1].square().mean()}


class Shifted(Seen):
    """The partner of sample i is i + 1."""

    def partners(self, index, generator):
        return (index + 1) % 50


def test_the_index_is_the_position_of_each_sample():
    x, objective = setup(50)[1], Seen()
    fit(objective, x, policy="vector")
    assert len(objective.batches) == 9
    for batch in objective.batches:
        assert torch.equal(batch.x, torch.from_numpy(x)[batch.index])
        assert not torch.equal(batch.x_a, batch.x_b)
    epoch = torch.cat([batch.index for batch in objective.batches[:3]])
    assert len(epoch.unique()) == 48  # no sample twice in an epoch


def test_the_second_view_is_of_the_partner():
    x, objective = setup(50)[1], Shifted()
    fit(objective, x)
    for batch in objective.batches:
        assert torch.equal(batch.x_a, torch.from_numpy(x)[batch.index])
        assert torch.equal(batch.x_b, torch.from_numpy(x)[(batch.index + 1) % 50])


class Adversarial(Mortal):
    """g_I and g_C are opponents: the first lowers what the second raises, each with its own optimiser."""

    def __init__(self):
        self.moved = []

    def optimisers(self, network, lr):
        return {
            "critic": torch.optim.RMSprop(network.g_c.parameters(), lr=0.5 * lr),
            "maker": torch.optim.SGD([*network.f.parameters(), *network.g_i.parameters()], lr=lr, momentum=0.9),
        }

    def losses(self, network, batch):
        self.count()
        before = network.g_c[0].weight.detach().clone(), network.f.weight.detach().clone()
        yield "critic", -self.game(network, batch)
        between = network.g_c[0].weight.detach().clone(), network.f.weight.detach().clone()
        yield "maker", self.game(network, batch)
        after = network.g_c[0].weight, network.f.weight
        self.moved.append([not torch.equal(a, b) for a, b in zip((*before, *between), (*between, *after), strict=True)])

    def game(self, network, batch):
        z, c = network(batch.x_a)
        return (z[:, :3] * c).sum(dim=1).mean()


def test_two_optimisers_take_turns():
    objective = Adversarial()
    _, curves = fit(objective, setup(50)[1])
    # The critic moves g_C and not f, then the maker f and not g_C.
    assert objective.moved == [[True, False, False, True]] * 9
    assert curves["loss"] == pytest.approx(np.add(curves["critic_loss"], curves["maker_loss"]), abs=1e-6)
    assert {len(curve) for curve in curves.values()} == {3}


def test_each_optimiser_keeps_its_share_of_the_learning_rate():
    made = {}

    class Watched(Adversarial):
        def optimisers(self, network, lr):
            made.update(super().optimisers(network, lr))
            return made

    fit(Watched(), setup(50)[1])
    assert [made[name].param_groups[0]["lr"] for name in ("critic", "maker")] == pytest.approx([0.5e-2, 1e-2])


def test_the_momentum_of_two_optimisers_is_resumed(tmp_path):
    assert_resumed_bit_for_bit(Adversarial, setup(50)[1], tmp_path)


class Shared(Adversarial):
    """One optimiser takes the steps of both losses, with shared moments."""

    def optimisers(self, network, lr):
        adam = torch.optim.Adam(network.parameters(), lr=lr)
        return {"critic": adam, "maker": adam}


def test_an_optimiser_of_two_losses_is_resumed(tmp_path):
    assert_resumed_bit_for_bit(Shared, setup(50)[1], tmp_path)


class Banked(Mortal):
    """A memory bank: each sample is drawn to its own last assignment, and all to the mean at the epoch's start."""

    def __init__(self):
        self.bank, self.mean, self.refreshed = torch.full((50, 3), 1 / 3), torch.zeros(3), 0

    def refresh(self, network, context):
        self.mean, self.refreshed = self.bank.mean(dim=0), self.refreshed + 1

    def __call__(self, network, batch):
        self.count()
        c = network(batch.x_a)[1]
        loss = (c - 2 * self.bank[batch.index] + self.mean).square().mean()
        self.bank[batch.index] = c.detach()
        return {"loss": loss}

    def state_dict(self):
        return {"bank": self.bank, "mean": self.mean}

    def load_state_dict(self, state):
        self.bank, self.mean = state["bank"].clone(), state["mean"].clone()


def test_a_memory_of_each_sample_is_refreshed_once_per_epoch_and_resumed(tmp_path):
    objective = Banked()
    fit(objective, setup(50)[1])
    assert objective.refreshed == 3
    assert (objective.bank != 1 / 3).any(dim=1).sum() >= 48
    assert_resumed_bit_for_bit(Banked, setup(50)[1], tmp_path)


def test_partners_are_resumed(tmp_path):
    class Random(Mortal):
        def partners(self, index, generator):
            return torch.randint(50, (len(index),), generator=generator)

        def __call__(self, network, batch):
            self.count()
            return {"loss": (network(batch.x_a)[1] - network(batch.x_b)[0][:, :3]).square().mean()}

    assert_resumed_bit_for_bit(Random, setup(50)[1], tmp_path)
