"""Consensus on images from scratch: the objective of its second stage, and a fit from the outside."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from c3clust import Consensus, acc, data, load
from c3clust.methods.cc import instance_loss
from c3clust.methods.consensus import GuidedObjective, guidance_loss
from c3clust.networks import ClusterNet
from c3clust.training import Batch


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_guidance_loss_equals_the_loop():
    a, b, labels, weight = random(5, 3), random(5, 3, seed=1), torch.tensor([0, 2, 1, 1, 0]), torch.rand(5).double()
    total = 0.0
    for i in range(5):
        for logits in (a, b):
            total -= weight[i] * torch.log_softmax(logits[i], dim=0)[labels[i]]
    assert guidance_loss(a, b, labels, weight).item() == pytest.approx((total / (2 * weight.sum())).item(), abs=1e-10)
    torch.testing.assert_close(guidance_loss(a, b, labels, weight), guidance_loss(b, a, labels, weight))
    assert guidance_loss(a, b, labels, torch.zeros(5)).item() == 0
    assert torch.autograd.gradcheck(lambda x: guidance_loss(x, b, labels, weight), (a.requires_grad_(),))


def test_the_objective_uses_the_labels_of_its_samples():
    torch.manual_seed(0)
    network, x_a, x_b = ClusterNet(torch.nn.Linear(6, 5), 5, 4, 3), torch.randn(4, 6), torch.randn(4, 6)
    labels, confidence, index = torch.arange(20) % 3, torch.linspace(0.1, 1, 20), torch.tensor([7, 0, 19, 3])
    terms = GuidedObjective(labels, confidence, 0.5)(network, Batch(x_a, x_b, index))
    h_a, h_b = network.encode(x_a), network.encode(x_b)
    guidance = guidance_loss(network.g_c(h_a), network.g_c(h_b), labels[index], confidence[index])
    instance = instance_loss(network.project(h_a), network.project(h_b), 0.5)
    torch.testing.assert_close(terms["loss"], guidance + instance)


def shapes(n=90, seed=0):
    """Small pictures of three kinds: a bar that stands, one that lies, a square."""
    rng = np.random.default_rng(seed)
    y, x = np.arange(n) % 3, np.zeros((n, 12, 12))
    for i in range(n):
        r, c = rng.integers(2, 5, 2)
        rows, columns = ((7, 2), (2, 7), (4, 4))[y[i]]
        x[i, r : r + rows, c : c + columns] = rng.uniform(0.85, 1)
    return x, y


@pytest.fixture(scope="module")
def fitted():
    x, y = shapes()
    return Consensus(3, epochs=30, batch_size=45, guided_epochs=5, random_state=0).fit(x), x, y


def test_stages_quality_and_clusters(fitted, tmp_path):
    method, x, y = fitted
    assert [stage["name"] for stage in method.stages_] == ["instance", "guided"]
    assert acc(y, method.labels_) > 0.9
    assert method.confidence_.mean() == pytest.approx(method.quality_["estimated_accuracy"], abs=0.02)
    assert method.policy_["policy"] == "handwriting"
    np.testing.assert_array_equal(load(method.save(tmp_path / "m")).predict_proba(x), method.predict_proba(x))


def test_every_way_to_give_pictures_has_the_same_result():
    x, _ = shapes(24)
    whole = np.rint(x * 255).astype(np.uint8)
    fitted = [
        Consensus(3, epochs=2, guided_epochs=1, members=2, random_state=0).fit(given)
        for given in (whole, data.load(whole), (whole / 255).astype(np.float32), whole / 255)
    ]
    for other in fitted[1:]:
        np.testing.assert_array_equal(fitted[0].predict_proba(whole), other.predict_proba(whole / 255))


def test_one_picture_alone_is_assigned_as_in_the_batch(fitted):
    method, x, _ = fitted
    np.testing.assert_allclose(method.predict_proba(x[:1]), method.predict_proba(x)[:1], atol=1e-5)


def test_the_temperature_is_part_of_the_network():
    network = ClusterNet(torch.nn.Linear(6, 5), 5, 4, 3)
    h = torch.randn(4, 5)
    plain = network.assign(h)
    network.temperature = torch.tensor(2.0)
    torch.testing.assert_close(network.assign(h), F.softmax(network.g_c(h) / 2, dim=1))
    assert not torch.equal(network.assign(h), plain)
