"""The C3 loss against a double loop written from section 3.2 of the paper, at its limits; what stage 2 may touch."""

import copy
import math

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from c3clust import C3, CC
from c3clust.methods.c3 import C3Objective, c3_loss, pair_weights, positives_per_view
from c3clust.networks import ClusterNet
from c3clust.training import Batch


def unit(n, d, seed=0, dtype=torch.float64):
    z = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    return z / z.norm(dim=1, keepdim=True)


def loop(z_a, z_b, zeta, gamma, twins="always"):
    z = torch.cat([z_a, z_b]).tolist()
    n, total, positives = len(z_a), 0.0, 0
    for i in range(2 * n):
        s = [sum(a * b for a, b in zip(z[i], z[j], strict=True)) for j in range(2 * n)]
        w = [math.exp(gamma * (1 - abs(v))) for v in s]
        w = [v / sum(w) for v in w]
        positive = [s[j] >= zeta or j == i or (twins == "always" and j % n == i % n) for j in range(2 * n)]
        numerator = sum(math.exp(s[j]) for j in range(2 * n) if positive[j])
        denominator = sum(w[j] * math.exp(s[j]) for j in range(2 * n))
        total -= math.log(numerator / denominator)
        positives += sum(positive)
    return total / (2 * n), positives / (2 * n)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("zeta", [-1.0, -0.2, 0.3, 0.6, 0.95, 1.0])
@pytest.mark.parametrize("gamma", [0.0, 0.1, 5.0])
@pytest.mark.parametrize("twins", ["always", "threshold"])
def test_loss_and_positives_equal_the_loop(n, zeta, gamma, twins):
    z_a, z_b = unit(n, 3, 1), unit(n, 3, 2)
    loss, positives = loop(z_a, z_b, zeta, gamma, twins)
    assert c3_loss(z_a, z_b, zeta, gamma, twins).item() == pytest.approx(loss, abs=1e-10)
    assert positives_per_view(z_a, z_b, zeta, twins).item() == pytest.approx(positives)


def test_gamma_0_has_half_the_gradient_of_the_released_loss():
    """The released code: no weights, s > zeta, self and twin always positive, the sum divided by N instead of 2N."""
    z_a, z_b = unit(6, 4, 1).requires_grad_(), unit(6, 4, 2).requires_grad_()
    z = torch.cat([z_a, z_b])
    s = z @ z.T
    positive = (s > 0.2) | torch.eye(6, dtype=torch.bool).repeat(2, 2)
    released = -((s.exp() * positive).sum(1) / s.exp().sum(1)).log().sum() / 6
    for e, f in zip(
        torch.autograd.grad(released, (z_a, z_b)),
        torch.autograd.grad(c3_loss(z_a, z_b, 0.2, 0.0), (z_a, z_b)),
        strict=True,
    ):
        torch.testing.assert_close(e, 2 * f)


def test_twins_reach_the_objective(network):
    batch = Batch(*views())
    counts = [C3Objective(1.0, 0.1, twins)(network, batch) for twins in ("always", "threshold")]
    assert [terms["positives_per_view"].item() for terms in counts] == [2, 1]


@pytest.mark.parametrize("gamma", [0.0, 0.1, 3.0])
def test_gradient_at_fixed_weights(gamma):
    """gradcheck needs the weights held, as the method holds them: they are computed with the networks frozen."""
    z_a, z_b = unit(4, 3, 1), unit(4, 3, 2)
    weights = pair_weights(torch.cat([z_a, z_b]) @ torch.cat([z_a, z_b]).T, gamma)
    for z in (z_a, z_b):
        z.requires_grad_()

    def held(a, b):
        z = torch.cat([a, b])
        s = z @ z.T
        positive = (s >= 0.5) | torch.eye(4, dtype=torch.bool).repeat(2, 2)
        return ((weights * s.exp()).sum(1).log() - (positive * s.exp()).sum(1).log()).mean()

    assert torch.autograd.gradcheck(held, (z_a, z_b))
    expected = torch.autograd.grad(held(z_a, z_b), (z_a, z_b))
    found = torch.autograd.grad(c3_loss(z_a, z_b, 0.5, gamma), (z_a, z_b))
    for e, f in zip(expected, found, strict=True):
        torch.testing.assert_close(e, f, rtol=1e-10, atol=1e-12)


def test_gradcheck_of_the_unweighted_loss():
    z_a, z_b = unit(4, 3, 1).requires_grad_(), unit(4, 3, 2).requires_grad_()
    assert torch.autograd.gradcheck(lambda a, b: c3_loss(a, b, 0.5, 0.0), (z_a, z_b))


def test_gamma_0_is_the_unweighted_loss_less_log_2n():
    z_a, z_b = unit(6, 4, 1).requires_grad_(), unit(6, 4, 2).requires_grad_()
    z = torch.cat([z_a, z_b])
    s = z @ z.T
    positive = (s >= 0.6) | torch.eye(6, dtype=torch.bool).repeat(2, 2)
    unweighted = (s.exp().sum(1).log() - (positive * s.exp()).sum(1).log()).mean()
    loss = c3_loss(z_a, z_b, 0.6, 0.0)
    assert loss.item() == pytest.approx(unweighted.item() - math.log(12))
    for e, f in zip(torch.autograd.grad(unweighted, (z_a, z_b)), torch.autograd.grad(loss, (z_a, z_b)), strict=True):
        torch.testing.assert_close(e, f)


def test_weights_sum_to_1_and_hardly_differ_at_the_papers_gamma():
    s = torch.cat([unit(8, 3, 1), unit(8, 3, 2)])
    w = pair_weights(s @ s.T, 0.1)
    torch.testing.assert_close(w.sum(1), torch.ones(16, dtype=w.dtype))
    assert (w.max(dim=1).values / w.min(dim=1).values).max() <= math.exp(0.1)


def test_a_huge_gamma_puts_all_weight_on_the_pair_nearest_to_a_right_angle():
    s = torch.tensor([[1.0, 0.3, -0.1, 0.9]], dtype=torch.float64)
    torch.testing.assert_close(pair_weights(s, 1e4), torch.tensor([[0.0, 0.0, 1.0, 0.0]], dtype=torch.float64))


def test_no_gradient_flows_through_the_weights():
    assert not pair_weights(unit(3, 3).requires_grad_(), 5.0).requires_grad


def test_zeta_minus_1_makes_every_pair_positive_and_trains_nothing():
    z_a, z_b = unit(5, 4, 1).requires_grad_(), unit(5, 4, 2).requires_grad_()
    loss = c3_loss(z_a, z_b, -1.0, 0.0)
    assert loss.item() == pytest.approx(-math.log(10))
    for g in torch.autograd.grad(loss, (z_a, z_b)):
        torch.testing.assert_close(g, torch.zeros_like(g))
    assert positives_per_view(z_a, z_b, -1.0).item() == 10


def test_zeta_1_leaves_the_view_and_its_twin():
    assert positives_per_view(unit(5, 4, 1), unit(5, 4, 2), 1.0).item() == 2


def test_collapse_is_the_minimum():
    z = torch.ones(4, 3, dtype=torch.float64) / math.sqrt(3)
    assert c3_loss(z, z, 0.6, 0.0).item() == pytest.approx(-math.log(8))


def test_order_of_views_and_of_the_batch_does_not_matter():
    z_a, z_b = unit(7, 4, 1), unit(7, 4, 2)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(0))
    assert c3_loss(z_a, z_b).item() == pytest.approx(c3_loss(z_b, z_a).item())
    assert c3_loss(z_a, z_b).item() == pytest.approx(c3_loss(z_a[order], z_b[order]).item())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_finite(dtype):
    z_a, z_b = unit(64, 8, 1).to(dtype).requires_grad_(), unit(64, 8, 2).to(dtype).requires_grad_()
    loss = c3_loss(z_a, z_b)
    loss.backward()
    assert loss.isfinite()
    assert z_a.grad.isfinite().all()


@pytest.fixture
def network():
    torch.manual_seed(0)
    return ClusterNet(torch.nn.Linear(6, 5), 5, 4, 3)


def views():
    g = torch.Generator().manual_seed(0)
    return torch.randn(10, 6, generator=g), torch.randn(10, 6, generator=g)


def gradients(network, loss):
    network.zero_grad()
    loss.backward()
    return {name: None if p.grad is None else p.grad.clone() for name, p in network.named_parameters()}


def test_the_head_gets_no_gradient(network):
    grads = gradients(network, C3Objective(0.6, 0.1)(network, Batch(*views()))["loss"])
    assert all((grads[name] is None) == name.startswith("g_c") for name in grads)


def small(rng, n=60):
    return np.concatenate([rng.normal(k * 4, 1, size=(n // 3, 5)) for k in range(3)])


def test_start_from_a_saved_run_equals_start_from_the_estimator(tmp_path):
    x = small(np.random.default_rng(0))
    cc = CC(3, epochs=3, random_state=0).fit(x)
    cc.save(tmp_path / "cc")
    one = C3(3, start=cc, epochs=2, random_state=0).fit(x)
    other = C3(3, start=tmp_path / "cc", epochs=2, random_state=0).fit(x)
    np.testing.assert_array_equal(one.predict_proba(x), other.predict_proba(x))


def test_start_equals_the_start_it_would_have_trained_itself():
    x = small(np.random.default_rng(0))
    whole = C3(3, cc_epochs=3, epochs=0, random_state=0).fit(x)
    cc = CC(3, epochs=3, random_state=0).fit(x)
    np.testing.assert_array_equal(whole.predict_proba(x), cc.predict_proba(x))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"zeta": 1.4}, r"zeta=1.4 is outside \[-1, 1\]: it is compared with a cosine"),
        ({"zeta": float("nan")}, "zeta=nan is not a finite number"),
        ({"gamma": -1}, r"gamma=-1 is outside \[0, inf\)"),
        ({"twins": "alway"}, "Did you mean always"),
        ({"epochs": -1}, "epochs=-1"),
        ({"cc_batch_size": 1}, "cc_batch_size=1"),
        ({"start": 3}, "start is a int"),
        ({"backbone": "resnet19"}, "Did you mean resnet1"),
        ({"device": "cuda:99"}, r"device='cuda:99' cannot be used here: .*[^.]\. Use device"),
    ],
)
def test_bad_parameters_get_one_sentence(params, message):
    with pytest.raises(ValueError, match=message):
        C3(2, **params).fit(np.random.default_rng(0).normal(size=(20, 3)))


def test_the_defaults_are_the_papers():
    c3 = C3()
    assert (c3.zeta, c3.gamma, c3.twins) == (0.6, 0.1, "always")
    assert (c3.schedule, c3.cc_schedule, c3.batch_size, c3.cc_batch_size) == ("constant", "constant", 128, 256)
    assert (c3.encoder, c3.augment, c3.tau_i, c3.tau_c) == (None, "auto", 0.5, 1.0)


@pytest.mark.parametrize(("backbone", "rates"), [("resnet18", [3e-4, 1e-5]), ("auto", [1e-3, 1e-4])])
def test_small_networks_have_larger_learning_rates(backbone, rates):
    x = np.random.default_rng(0).integers(0, 255, (8, 3, 8, 8), dtype=np.uint8)
    c3 = C3(2, backbone=backbone, cc_epochs=1, epochs=1, random_state=0).fit(x)
    assert [stage["curves"]["learning_rate"] for stage in c3.stages_] == [[rates[0]], [rates[1]]]
    assert [stage["name"] for stage in c3.stages_] == ["cc", "c3"]


SOURCES = {
    "vectors": lambda: np.random.default_rng(0).normal(size=(40, 100)),
    "few columns": lambda: np.random.default_rng(0).normal(size=(40, 3)),
    "handwriting": lambda: load_digits().images[:40] / 16,
    "photographs": lambda: np.random.default_rng(0).integers(0, 255, (40, 3, 8, 8), dtype=np.uint8),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_fit_executes_the_loss_of_the_paper(kind, monkeypatch):
    calls = []

    def counted(*args, **kwargs):
        calls.append(args)
        return c3_loss(*args, **kwargs)

    monkeypatch.setattr("c3clust.methods.c3.estimator.c3_loss", counted)
    C3(2, cc_epochs=1, epochs=2, batch_size=20, random_state=0).fit(SOURCES[kind]())
    assert len(calls) == 4  # 2 epochs of 2 steps


def test_the_head_is_unchanged_by_stage_2_and_the_start_is_not_touched():
    x = small(np.random.default_rng(0))
    cc = CC(3, epochs=3, random_state=0).fit(x)
    before = copy.deepcopy(cc.network_.state_dict())
    after = C3(3, start=cc, epochs=2, lr=1e-2, random_state=0).fit(x).network_.state_dict()
    same = {name: torch.equal(before[name], after[name]) for name in before}
    assert all(same[name] for name in same if name.startswith("g_c"))
    assert not same["g_i.0.weight"]
    assert all(torch.equal(before[k], v) for k, v in cc.network_.state_dict().items())


@pytest.mark.parametrize("gamma", [0.0, 0.1, 3000.0])
@pytest.mark.parametrize("twins", ["always", "threshold"])
def test_a_large_batch_takes_one_pass_and_gives_the_same(monkeypatch, gamma, twins):
    z_a, z_b = unit(130, 16, 1).requires_grad_(), unit(130, 16, 2).requires_grad_()
    one_pass = c3_loss(z_a, z_b, 0.3, gamma, twins)
    found = torch.autograd.grad(one_pass, (z_a, z_b))
    monkeypatch.setattr("c3clust.methods.c3.loss.ONE_PASS_FROM", 10**9)
    plain = c3_loss(z_a, z_b, 0.3, gamma, twins)
    torch.testing.assert_close(one_pass, plain, rtol=1e-10, atol=0)
    for f, e in zip(found, torch.autograd.grad(plain, (z_a, z_b)), strict=True):
        torch.testing.assert_close(f, e, rtol=1e-8, atol=1e-14)
