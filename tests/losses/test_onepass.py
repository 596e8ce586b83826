"""The one-pass losses against the plain formulas, written here from CC's equations 3 and 6 and C3's section 3.2."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from c3clust.losses.onepass import instance_loss
from c3clust.methods.c3.loss import one_pass_c3_loss


def twins(n: int) -> Tensor:
    index = torch.arange(2 * n) % n
    return index[:, None] == index[None, :]


def plain_c3_loss(z_a: Tensor, z_b: Tensor, zeta: float, gamma: float) -> Tensor:
    z = torch.cat([z_a, z_b])
    s = z @ z.T
    positive = (s >= zeta) | twins(len(z_a))
    log_w = torch.log_softmax(gamma * (1 - s.detach().abs()), dim=1)
    return ((s + log_w).logsumexp(1) - s.masked_fill(~positive, -torch.inf).logsumexp(1)).mean()


def plain_instance_loss(z_a: Tensor, z_b: Tensor, tau_i: float) -> Tensor:
    z = torch.cat([z_a, z_b])
    n = len(z_a)
    s = (z @ z.T / tau_i).masked_fill(torch.eye(2 * n, dtype=torch.bool), -torch.inf)
    return F.cross_entropy(s, (torch.arange(2 * n) + n) % (2 * n))


LOSSES = {"c3_loss": one_pass_c3_loss, "instance_loss": instance_loss}
PLAIN = {"c3_loss": plain_c3_loss, "instance_loss": plain_instance_loss}
CASES = [
    ("c3_loss", (0.6, 0.1)),
    ("c3_loss", (0.2, 10.0)),
    ("c3_loss", (2.0, 0.1)),
    ("c3_loss", (-1.0, 0.0)),
    ("c3_loss", (0.6, 3000.0)),
    ("instance_loss", (0.5,)),
    ("instance_loss", (0.002,)),
]


def blobs(n: int, d: int = 32, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Two views of n points around five centres, unit rows."""
    g = torch.Generator().manual_seed(n)
    x = torch.randn(5, d, generator=g)[torch.randint(0, 5, (n,), generator=g)]
    x = x + 0.5 * torch.randn(n, d, generator=g)
    z_a, z_b = (F.normalize(x + 0.3 * torch.randn(n, d, generator=g), dim=1).to(dtype) for _ in range(2))
    return z_a.requires_grad_(), z_b.requires_grad_()


def value_and_gradient(loss: object, z_a: Tensor, z_b: Tensor, *parameters: float, **kw: int) -> tuple[Tensor, Tensor]:
    value = loss(z_a, z_b, *parameters, **kw)  # type: ignore[operator]
    return value.detach(), torch.cat(torch.autograd.grad(value * 3, [z_a, z_b])) / 3


@pytest.mark.parametrize(("name", "parameters"), CASES)
@pytest.mark.parametrize(("n", "block_rows"), [(1, None), (5, 3), (150, None), (150, 1000), (200, 77)])
def test_equal_to_the_plain_formula(name: str, parameters: tuple[float, ...], n: int, block_rows: int | None) -> None:
    z_a, z_b = blobs(n)
    value, gradient = value_and_gradient(LOSSES[name], z_a, z_b, *parameters, block_rows=block_rows)
    exact = [z.detach().double().requires_grad_() for z in (z_a, z_b)]
    # exp(gamma |s|) and exp(s / tau) magnify the rounding of s; where G's terms cancel, theirs is what remains
    tolerance = 1e-6 * max(1.0, parameters[-1] / 10 if name == "c3_loss" else 0.05 / parameters[-1])
    rounding = 2e-7 / (2 * n) ** 0.5
    for reference in ((z_a, z_b), exact):
        want, want_gradient = value_and_gradient(PLAIN[name], *reference, *parameters)
        torch.testing.assert_close(value.to(want), want, rtol=tolerance, atol=tolerance)
        assert (gradient - want_gradient).norm() < tolerance * want_gradient.norm() + rounding


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_double_precision_and_gradcheck(name: str, parameters: tuple[float, ...]) -> None:
    z_a, z_b = blobs(6, 4, torch.float64)
    loss, plain = LOSSES[name], PLAIN[name]
    for got, want in zip(
        value_and_gradient(loss, z_a, z_b, *parameters, block_rows=5),
        value_and_gradient(plain, z_a, z_b, *parameters),
        strict=True,
    ):
        torch.testing.assert_close(got, want, rtol=1e-10, atol=1e-10)
    if name == "instance_loss" or parameters[1] == 0:  # else finite differences would move the weights too
        check = [z.detach().clone().requires_grad_() for z in (z_a, z_b)]
        assert torch.autograd.gradcheck(lambda a, b: loss(a, b, *parameters, block_rows=5), check, eps=1e-7, atol=1e-4)


def test_gradcheck_with_weights_held() -> None:
    """Finite differences of the loss whose weights stay those of the given point."""
    z_a, z_b = blobs(5, 4, torch.float64)
    z = torch.cat([z_a, z_b]).detach()
    log_w = torch.log_softmax(4.0 * (1 - (z @ z.T).abs()), dim=1)

    def held(z: Tensor) -> Tensor:
        s = z @ z.T
        positive = (s >= 0.6) | twins(5)
        return ((s + log_w).logsumexp(1) - s.masked_fill(~positive, -torch.inf).logsumexp(1)).mean()

    _, gradient = value_and_gradient(one_pass_c3_loss, z_a, z_b, 0.6, 4.0)
    eps = 1e-6
    for i in range(10):
        for j in range(4):
            step = torch.zeros_like(z)
            step[i, j] = eps
            slope = (held(z + step) - held(z - step)) / (2 * eps)
            torch.testing.assert_close(gradient[i, j], slope, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(("name", "parameters"), CASES)
@pytest.mark.parametrize("length", [0.9, 1.001, 5.0, 40.0])
def test_rows_need_not_be_unit(name: str, parameters: tuple[float, ...], length: float) -> None:
    z_a, z_b = ((length * z.detach()).double().requires_grad_() for z in blobs(20))
    value, gradient = value_and_gradient(LOSSES[name], z_a, z_b, *parameters, block_rows=16)
    want, want_gradient = value_and_gradient(PLAIN[name], z_a, z_b, *parameters)
    torch.testing.assert_close(value, want, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(gradient, want_gradient, rtol=1e-8, atol=1e-10)
    single = value_and_gradient(LOSSES[name], z_a.float(), z_b.float(), *parameters)[0]
    torch.testing.assert_close(single.double(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("name", "parameters"), CASES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_computed_in_float32(name: str, parameters: tuple[float, ...], dtype: torch.dtype) -> None:
    z_a, z_b = (z.detach().to(dtype).requires_grad_() for z in blobs(40))
    loss = LOSSES[name]
    with torch.autocast("cpu", dtype=dtype):
        value, gradient = value_and_gradient(loss, z_a, z_b, *parameters)
    full = [z.detach().float().requires_grad_() for z in (z_a, z_b)]
    want, want_gradient = value_and_gradient(loss, *full, *parameters)
    assert value.dtype == torch.float32
    assert gradient.dtype == dtype
    torch.testing.assert_close(value, want)
    torch.testing.assert_close(gradient.float(), want_gradient, rtol=1e-2, atol=1e-4)


@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_without_gradient_and_twice(name: str, parameters: tuple[float, ...]) -> None:
    z_a, z_b = blobs(10)
    loss = LOSSES[name]
    with torch.no_grad():
        assert not loss(z_a, z_b, *parameters).requires_grad
    torch.testing.assert_close(loss(z_a.detach(), z_b.detach(), *parameters), loss(z_a, z_b, *parameters).detach())
    one_sided = loss(z_a, z_b.detach(), *parameters)
    one_sided.backward()
    assert z_b.grad is None
    assert z_a.grad is not None
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(loss(z_a, z_b, *parameters), [z_a], create_graph=True)


def test_shuffling_and_swapping_change_nothing() -> None:
    z_a, z_b = blobs(50)
    order = torch.randperm(50, generator=torch.Generator().manual_seed(0))
    for name, parameters in CASES[:2] + CASES[5:6]:
        loss = LOSSES[name]
        value = loss(z_a, z_b, *parameters)
        torch.testing.assert_close(loss(z_b, z_a, *parameters), value)
        torch.testing.assert_close(loss(z_a[order], z_b[order], *parameters, block_rows=30), value)
