"""TEMI's loss against a plain loop written from the paper, its teacher and its limits."""

import math

import numpy as np
import pytest
import torch

import c3clust
from c3clust.export import onnx_model
from c3clust.methods.temi import TEMI, TEMIObjective, UnitHeads, information_loss, pair_weights
from c3clust.training import Batch


def assignments(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).softmax(dim=-1)


def loop(p, t, sizes, w, beta):
    total = 0.0
    for i in range(len(p)):
        total -= w[i] * math.log(sum((p[i][k] * t[i][k]) ** beta / sizes[k] for k in range(len(sizes))))
    return total / len(p)


@pytest.mark.parametrize("beta", [0.6, 1.0])
def test_the_loss_equals_the_loop(beta):
    p, t, sizes = assignments(2, 6, 3), assignments(2, 6, 3, seed=1), assignments(2, 3, seed=2)
    w = pair_weights(assignments(2, 6, 3, seed=3), t)
    found = information_loss(p, t, sizes, w, beta)
    for h in range(2):
        expected = loop(p[h].tolist(), t[h].tolist(), sizes[h].tolist(), w.tolist(), beta)
        assert found[h].item() == pytest.approx(expected, abs=1e-12)


def test_the_weight_is_the_mean_agreement_of_the_heads():
    t, t_nn = assignments(2, 4, 3), assignments(2, 4, 3, seed=1)
    expected = [sum(float(t[h, i] @ t_nn[h, i]) for h in range(2)) / 2 for i in range(4)]
    assert pair_weights(t, t_nn).tolist() == pytest.approx(expected)


def test_independent_assignments_tell_nothing_and_certain_ones_log_m():
    even = torch.full((1, 4, 4), 0.25, dtype=torch.float64)
    ones, sizes = torch.ones(4, dtype=torch.float64), even[:, 0]
    assert information_loss(even, even, sizes, ones, 1.0).item() == pytest.approx(0, abs=1e-12)
    sure = torch.eye(4, dtype=torch.float64)[None]
    assert information_loss(sure, sure, sizes, ones, 1.0).item() == pytest.approx(-math.log(4))


def test_gradient_and_finite_where_head_and_teacher_disagree():
    p, t, sizes = assignments(1, 4, 3).requires_grad_(), assignments(1, 4, 3, seed=1), assignments(1, 3, seed=2)
    w = torch.ones(4, dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda p: information_loss(p, t, sizes, w), (p,))
    sure = torch.eye(2)[None].requires_grad_()
    loss = information_loss(sure, sure.detach().flip(1), torch.full((1, 2), 0.5), torch.ones(2))
    loss.sum().backward()
    assert loss.isfinite().all()
    assert sure.grad.isfinite().all()


def test_heads_with_a_hidden_layer_equal_the_loop():
    torch.manual_seed(0)
    network, x = UnitHeads(4, 3, 2, 0.1, hidden=5), torch.randn(6, 4)
    net = network.heads.linear
    with torch.no_grad():
        net.lengths.mul_(torch.rand(2, 3, 1))
    found, z = network.assign(x), network.project(x)
    for head in range(2):
        first = slice(5 * head, 5 * head + 5)
        hidden = torch.nn.functional.gelu(z @ net.first.weight[first].T + net.first.bias[first])
        code = hidden @ net.second.weight[256 * head : 256 * head + 256, :, 0].T
        for k in range(3):
            vector = net.lengths[head, k] * net.vectors[head, k] / net.vectors[head, k].norm()
            logit = (code @ vector) / code.norm(dim=1) / 0.1
            assert torch.allclose(net(z).view(6, 2, 3)[:, head, k], logit, atol=1e-5)
    assert torch.allclose(network(x)[1], found[0])
    assert (found.sum(dim=2) - 1).abs().max() < 1e-6


def test_a_model_with_hidden_layers_is_saved_and_exported(tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    x = torch.randn(60, 6, generator=torch.Generator().manual_seed(0)).numpy()
    temi = TEMI(3, hidden_dim=8, n_heads=2, epochs=2, batch_size=30, random_state=0).fit(x)
    temi.save(tmp_path / "model")
    temi.to_onnx(tmp_path / "model.onnx")
    for other in (c3clust.load(tmp_path / "model"), onnx_model.load(tmp_path / "model.onnx")):
        np.testing.assert_allclose(other.predict_proba(x), temi.predict_proba(x), atol=1e-6)


def test_the_teacher_follows_and_is_resumed():
    torch.manual_seed(0)
    network, x = UnitHeads(4, 3, 2, 0.1), torch.randn(2, 6, 4)
    objective = TEMIObjective(torch.zeros(6, 1), network, 0.6, 0.9)
    before = network.heads.linear.weight.detach().clone()
    with torch.no_grad():
        network.heads.linear.weight.add_(1.0)
    objective(network, Batch(*x))["loss"].backward()
    torch.testing.assert_close(objective.teacher.network.heads.linear.weight, before + 0.1)
    other = TEMIObjective(torch.zeros(6, 1), network, 0.6, 0.9)
    other.load_state_dict(objective.state_dict())
    assert torch.equal(other.sizes, objective.sizes)
    assert torch.equal(other.teacher.network.heads.linear.weight, objective.teacher.network.heads.linear.weight)
