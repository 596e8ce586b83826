"""Targets that several steps have in common: of which samples, and when they are computed."""

import numpy as np
import pytest
import torch

from c3clust import augment, methods
from c3clust.errors import InputError
from c3clust.methods._targets import Targets
from c3clust.methods.gatcluster import GATClusterObjective, attention_target, balanced
from c3clust.networks.heads import LabelNet
from c3clust.training import Batch, Stage, TrainingContext, embed, train
from c3clust.training.order import in_passes

NAMES = ("dac", "dccm", "gatcluster", "spice")


def test_each_block_is_trained_as_often_as_there_are_passes():
    order = torch.randperm(20, generator=torch.Generator().manual_seed(0)).view(5, 4)
    made = in_passes(order, 2, 3, torch.Generator().manual_seed(0))
    assert made.shape == (15, 4)
    blocks = [(order[:2], made[:6]), (order[2:4], made[6:12]), (order[4:], made[12:])]
    for rows, passes in blocks:
        for each in passes.view(3, -1):
            assert sorted(each.tolist()) == sorted(rows.flatten().tolist())
    assert not torch.equal(made[:2], made[2:4])


class Noting(Targets):
    """Notes what it is given, and trains the head a little."""

    def __init__(self):
        super().__init__(together=9, passes=2)  # two batches of 4
        self.calls, self.steps = [], []

    def refresh_targets(self, network, context, index):
        super().refresh_targets(network, context, index)
        c = torch.cat([c for _, c in embed(network, context.x[index.numpy()], context.size)])
        assert torch.equal(self.c, c)
        assert network.training
        self.calls.append(index.tolist())

    def __call__(self, network, batch):
        clean = self.clean(network, batch)
        assert torch.equal(clean, self.c[[self.index.tolist().index(i) for i in batch.index.tolist()]])
        self.steps.append((len(self.calls) - 1, batch.index.tolist()))
        return {"loss": (network(batch.x_a)[1] - clean).square().sum()}


def test_the_steps_train_on_the_samples_of_their_targets():
    torch.manual_seed(0)
    x = np.random.default_rng(0).normal(size=(22, 6)).astype(np.float32)
    context = TrainingContext(x, (6,), augment.policy("vector"), 0, torch.device("cpu"))
    objective, network = Noting(), LabelNet(torch.nn.Linear(6, 5), 5, 3)
    train(Stage("dac", 3, 4, 1e-2), network, objective, context)
    assert [len(call) for call in objective.calls] == 3 * [8, 8, 4]
    assert len(objective.steps) == 3 * 5 * 2
    assert all(call == sorted(call) for call in objective.calls)
    for number, call in enumerate(objective.calls):
        trained = [i for which, index in objective.steps if which == number for i in index]
        assert sorted(trained) == sorted(2 * call)


def test_gatcluster_shares_sums_and_sizes_with_all_samples_of_the_targets():
    objective = GATClusterObjective(2, together=6, passes=8)
    objective.index, objective.c = torch.tensor([2, 3, 5, 7, 8, 9]), torch.rand(6, 2).softmax(dim=1)
    objective.labels = torch.tensor([0, 0, 0, 0, 0, 1])
    index = torch.tensor([8, 2, 9])
    even, sharp = objective.targets(None, Batch(torch.empty(3), torch.empty(3), index))
    torch.testing.assert_close(even, balanced(objective.c)[[4, 0, 5]])
    torch.testing.assert_close(sharp, attention_target(objective.c)[[4, 0, 5]])
    assert objective.same(index).tolist() == [[True, True, False], [True, True, False], [False, False, True]]
    assert torch.equal(objective.same(index[:2]), torch.ones(2, 2, dtype=torch.bool))  # its own sizes do not count


@pytest.mark.parametrize("name", NAMES)
def test_wrong_settings_say_what_is_needed(name):
    x = np.random.default_rng(0).random((30, 6)).astype(np.float32)
    with pytest.raises(InputError, match="passes=2 needs target_size"):
        methods.load(name)(3, passes=2).fit(x)
    with pytest.raises(InputError, match="target_size=10 is less than batch_size=16"):
        methods.load(name)(3, target_size=10, batch_size=16).fit(x)
