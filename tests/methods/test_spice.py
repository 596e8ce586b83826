"""SPICE's labels and losses against plain loops, and its stages."""

import math

import pytest
import torch

from c3clust import augment
from c3clust.methods.spice import SPICE, SelfObjective, SemiObjective, double_softmax_loss, prototype_labels, reliable
from c3clust.networks.heads import LinearHeads, NeighbourNet, Projected
from c3clust.training import Batch, TrainingContext


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_labels_of_prototypes_equal_the_loop():
    h, p = random(8, 4), random(8, 2, seed=1).softmax(dim=1)
    chosen, labels = prototype_labels(h, p)
    for k in range(2):
        confident = sorted(range(8), key=lambda i: -p[i, k].item())[:2]
        mean = sum(h[i] / h[i].norm() for i in confident)
        cosine = [float(h[i] @ mean / h[i].norm() / mean.norm()) for i in range(8)]
        assert set(chosen[k].tolist()) == set(sorted(range(8), key=lambda i: -cosine[i])[:4])
        assert set(labels[k].tolist()) == {k}


def test_the_double_softmax_equals_the_loop():
    logits, labels = random(5, 3), torch.tensor([0, 2, 1, 1, 0])
    total = 0.0
    for row, label in zip(logits.tolist(), labels.tolist(), strict=True):
        first = [math.exp(v) / sum(map(math.exp, row)) for v in row]
        total -= math.log(math.exp(first[label]) / sum(map(math.exp, first)))
    assert double_softmax_loss(logits, labels).item() == pytest.approx(total / 5, abs=1e-12)
    sure = double_softmax_loss(100 * torch.eye(3), torch.arange(3)).item()
    assert sure == pytest.approx(math.log(math.e + 2) - 1)  # not 0: certainty is not rewarded without end
    assert torch.autograd.gradcheck(lambda x: double_softmax_loss(x, labels), (logits.requires_grad_(),))


def test_labels_that_neighbours_share_are_reliable():
    labels = torch.tensor([0, 0, 0, 1])
    neighbours = torch.tensor([[1, 2], [0, 3], [0, 1], [0, 1]])
    assert reliable(labels, neighbours, 0.95).tolist() == [True, False, True, False]
    assert reliable(labels, neighbours, 0.5).tolist() == [True, True, True, False]


def test_heads_of_two_layers_do_not_share_units():
    torch.manual_seed(0)
    heads, h = LinearHeads(5, 3, 2, hidden=True), torch.randn(4, 5)
    whole = heads.logits(h)
    first, _, _, last, _ = heads.linear
    hidden = (h @ first.weight[5:].T + first.bias[5:]).clamp_min(0)  # of the second head
    torch.testing.assert_close(whole[:, 1], hidden @ last.weight[3:, :, 0].T + last.bias[3:])
    whole[:, 0].sum().backward()
    assert first.weight.grad[5:].abs().sum() == 0
    assert first.weight.grad[:5].abs().sum() > 0


def net():
    torch.manual_seed(0)
    return NeighbourNet(Projected(torch.nn.Linear(4, 5), 5, 4), LinearHeads(5, 3, 2))


def test_stage_two_trains_the_heads_alone():
    network, x = net(), torch.randn(3, 6, 4)
    objective = SelfObjective()
    objective(network, Batch(x[0], x[1], raw=x[2], size=(4,)))["loss"].backward()
    assert network.body.f.weight.grad is None
    assert network.heads.linear.weight.grad is not None
    trained = objective.optimisers(network, 0.1)["loss"].param_groups[0]["params"]
    assert {id(p) for p in trained} == {id(p) for p in network.heads.parameters()}


def test_stage_three_trains_on_reliable_and_on_confident_labels():
    network, x = net(), torch.randn(3, 6, 4)
    batch = Batch(x[0], x[1], torch.arange(6), raw=x[2], size=(4,))
    none = SemiObjective(torch.full((6,), -1), 1.0)(network, batch)
    assert none["loss"].item() == 0
    some = SemiObjective(torch.tensor([0, 1, -1, -1, -1, -1]), 1.0)(network, batch)
    logits = network.heads.best(network.encode(x[0]))[:2]
    expected = torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1]))
    torch.testing.assert_close(some["loss"], expected)
    assert SemiObjective(torch.full((6,), -1), 0.0)(network, batch)["confident_loss"].item() > 0


def test_samples_of_many_batches_get_their_labels_together():
    torch.manual_seed(0)
    network, x = net(), torch.randn(20, 4)
    context = TrainingContext(x.numpy(), (4,), augment.policy("vector"), 0, torch.device("cpu"))
    objective, index = SelfObjective(together=12, passes=2), torch.arange(3, 15)
    objective.refresh_targets(network, context, index)
    h = network.encode(x[index])
    p, batch = network.heads.assign(h), index[[7, 0, 4, 5]]
    expected = []
    for head in range(2):
        pairs = list(zip(*(t.flatten().tolist() for t in prototype_labels(h, p[:, head])), strict=True))
        assert objective.c[:, head].sum() == len(pairs) == 12
        logits = network.heads.logits(network.encode(x[batch]))[:, head]
        own = [(i, k) for i, k in pairs if index[i] in batch]
        rows = [batch.tolist().index(index[i]) for i, _ in own]
        expected.append(double_softmax_loss(logits[rows], torch.tensor([k for _, k in own])))
    found = objective(network, Batch(x[batch], x[batch], batch, x[batch], (4,)))["loss"]
    torch.testing.assert_close(found, torch.stack(expected).mean())


def test_a_batch_without_chosen_samples_has_no_loss():
    network, x = net(), torch.randn(6, 4)
    objective = SelfObjective(together=6)
    objective.load_state_dict({"index": torch.arange(6), "c": torch.zeros(6, 2, 3, dtype=torch.bool)})
    assert objective(network, Batch(x, x, torch.arange(6), x, (4,)))["loss"].item() == 0


def test_passes_take_the_place_of_epochs():
    x = torch.rand(60, 6, generator=torch.Generator().manual_seed(0)).numpy()
    given = {"pretrain_epochs": 1, "batch_size": 16, "random_state": 0}
    spice = SPICE(3, target_size=32, passes=4, epochs=2, semi_epochs=1, **given).fit(x)
    assert [stage["epochs"] for stage in spice.stages_] == [1, 2, 1]
    assert len(spice.labels_) == 60
