"""MMDC's exchange of targets against all orders, its loss against a plain loop, and its turns."""

from itertools import permutations

import numpy as np
import pytest
import torch

from c3clust.methods.mmdc import MMDC, MMDCObjective, TurningNet, exchanged, matched, target_loss, turn_loss
from c3clust.training import Batch


def unit(n, m, seed=0):
    z = torch.randn(n, m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(z, dim=1)


def test_the_loss_equals_the_loop():
    y, targets = unit(5, 3), torch.tensor([0, 2, 1, 1, 0])
    total = 0.0
    for row, t in zip(y.tolist(), targets.tolist(), strict=True):
        total += sum((v - (k == t)) ** 2 for k, v in enumerate(row))
    assert target_loss(y, targets).item() == pytest.approx(total / 15, abs=1e-12)
    expected = torch.nn.functional.mse_loss(y, torch.eye(3).double()[targets])  # as in the released code
    assert target_loss(y, targets).item() == pytest.approx(expected.item())
    assert target_loss(torch.eye(3), torch.arange(3)).item() == 0


def test_the_exchange_is_the_best_of_all_orders():
    y, targets = unit(5, 3), np.array([0, 0, 1, 2, 2])
    found = exchanged(y.numpy(), targets)
    assert sorted(found) == sorted(targets)
    best = min(target_loss(y, torch.tensor(order)).item() for order in permutations(targets))
    assert target_loss(y, torch.from_numpy(found)).item() == pytest.approx(best)


def test_targets_stay_equally_frequent_and_are_resumed():
    torch.manual_seed(0)
    network, x = TurningNet(torch.nn.Linear(4, 5), 5, 3), torch.randn(2, 6, 4)
    objective = MMDCObjective(9, 3, 0.5, kmeans=False)
    terms = objective(network, Batch(*x, torch.arange(6), raw=x[0], size=(4,)))
    assert torch.bincount(objective.targets).tolist() == [3, 3, 3]
    assert terms["turn_loss"].item() == 0  # vectors are not turned
    other = MMDCObjective(9, 3, 0.5, kmeans=False)
    other.load_state_dict(objective.state_dict())
    assert torch.equal(other.targets, objective.targets)


@pytest.mark.parametrize(("policy", "turned"), [("photo", True), ("handwriting", False), ("digit", False)])
def test_photographs_are_turned_and_handwriting_is_not(policy, turned):
    x = np.random.default_rng(0).random((12, 8, 8))
    curves = MMDC(3, augment=policy, epochs=1, random_state=0).fit(x).stages_[0]["curves"]
    assert (curves["turn_loss"][0] > 0) == turned
    curves = MMDC(3, augment=policy, turn_weight=0.5, epochs=1, random_state=0).fit(x).stages_[0]["curves"]
    assert curves["turn_loss"][0] > 0


@pytest.mark.parametrize(("shape", "ways"), [((1, 4, 4), {0, 1, 2, 3}), ((1, 4, 6), {0, 2})])
def test_pictures_are_turned(shape, ways):
    class Seen(torch.nn.Flatten):
        def forward(self, x):
            self.x = x
            return super().forward(x)

    network, x = TurningNet(Seen(), int(np.prod(shape)), 3), torch.rand(8, *shape)
    turn_loss(network, x).backward()
    found = {k for row in network.f.x for k in range(4) if any(torch.equal(torch.rot90(p, k, (1, 2)), row) for p in x)}
    assert len(network.f.x) == 8
    assert found == ways


def test_clusters_of_kmeans_are_numbered_as_the_targets_before():
    before = np.array([0, 0, 1, 1, 2, 2])
    assert matched(np.array([2, 2, 0, 0, 1, 1]), before, 3).tolist() == before.tolist()
    assert matched(np.array([1, 1, 1, 1, 0, 0]), before, 3).tolist() in ([0, 0, 0, 0, 2, 2], [1, 1, 1, 1, 2, 2])


@pytest.mark.parametrize(("policy", "epochs"), [("photo", [14, 2]), ("handwriting", [7, 9])])
def test_handwriting_is_refined_longer(policy, epochs):
    x = np.random.default_rng(0).random((12, 8, 8))
    assert [stage["epochs"] for stage in MMDC(3, augment=policy, epochs=16, random_state=0).fit(x).stages_] == epochs
