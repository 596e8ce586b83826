"""The losses over all pairs of views, value and gradient in one pass over blocks of rows.

The plain formulas keep a dozen [2N, 2N] tensors between forward and backward. Here each block of rows of s = z zᵀ
gives its share of the loss and, dL/ds being known in closed form, of the gradient:

    L = 1/(2N) Σ_i ℓ_i        G_ij = dℓ_i / ds_ij        dL/dz = (G + Gᵀ) z / (2N)

A block of G is used for both terms while it is in the cache, then discarded: memory is linear in N. Value and gradient
equal the plain ones up to rounding. There is no second derivative; requesting it is an error.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

__all__ = ["SAFE_EXPONENT", "Block", "all_pairs_loss", "instance_loss", "join_views", "largest_square"]

# A block takes rows of s [B, 2N], which it may overwrite, two spare tensors of that shape, and the place of the rows'
# own view and twin [B, 2]. It returns ℓ [B], g [B, 2N] and r [B] with G = r g: scaling z by r is cheaper than g.
Block = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]

SAFE_EXPONENT = 60.0  # in float32 a sum of 1e8 terms e^60 is finite and e^-60 is not zero: no maximum to subtract


def instance_loss(z_a: Tensor, z_b: Tensor, tau_i: float, block_rows: int | None = None) -> Tensor:
    """The instance loss of CC, the anchor itself left out. z_a, z_b: [N, D], unit rows, float32 at least."""
    z = join_views(z_a, z_b)
    careful = largest_square(z) / tau_i > SAFE_EXPONENT
    return all_pairs_loss(z, 1 / tau_i, _careful_instance_block if careful else _instance_block, block_rows)


def _instance_block(s: Tensor, _: Tensor, __: Tensor, own: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """s comes divided by tau_i. u = exp(s), 0 for the anchor itself, A its row sum:  G = u / A - 1{twin}."""
    itself, twin = own[:, :1], own[:, 1:]
    u = s.exp_().scatter_(1, itself, 0.0)
    u_sum = u.sum(1)
    loss = (u_sum / u.gather(1, twin).squeeze(1)).log()
    return loss, u.scatter_add_(1, twin, -u_sum[:, None]), 1 / u_sum


def _careful_instance_block(s: Tensor, _: Tensor, __: Tensor, own: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same where exp could overflow or vanish: small tau_i, or rows far longer than 1."""
    itself, twin = own[:, :1], own[:, 1:]
    s.scatter_(1, itself, -torch.inf)
    loss = s.logsumexp(1) - s.gather(1, twin).squeeze(1)
    return loss, s.softmax(1).scatter_add_(1, twin, -torch.ones_like(loss)[:, None]), torch.ones_like(loss)


def all_pairs_loss(z: Tensor, scale: float, block: Block, block_rows: int | None = None) -> Tensor:
    """L = 1/(2N) Σ_i ℓ_i over the rows of s = scale z zᵀ, each block of rows given to `block`."""
    return _AllPairs.apply(z, scale, block, block_rows)


def join_views(z_a: Tensor, z_b: Tensor) -> Tensor:
    """[2N, D] in float32, or in float64 if the inputs are."""
    dtype = torch.promote_types(torch.promote_types(z_a.dtype, z_b.dtype), torch.float32)
    return torch.cat([z_a.to(dtype), z_b.to(dtype)])


def largest_square(z: Tensor) -> float:
    """The largest |s_ij| that these rows can give."""
    return float(z.detach().square().sum(1).max())


class _AllPairs(torch.autograd.Function):
    """The mean of ℓ_i over all views; the gradient is ready when the value is."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, scale: float, block: Block, block_rows: int | None) -> Tensor:
        rows = block_rows or (min(1024, 128 * torch.get_num_threads()) if z.device.type == "cpu" else 1024)
        with torch.autocast(z.device.type, enabled=False):
            value, gradient = _sweep(z, scale, block, rows, ctx.needs_input_grad[0])
        ctx.save_for_backward(gradient)
        return value

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None, None, None]:
        if torch.is_grad_enabled():  # only under create_graph=True; a constant gradient would be silently wrong
            raise RuntimeError(
                "a one-pass loss has no second derivative: with create_graph=True use the plain formula."
            )
        (gradient,) = ctx.saved_tensors
        return gradient * outputs[0], None, None, None


def _sweep(z: Tensor, scale: float, block: Block, rows: int, with_gradient: bool) -> tuple[Tensor, Tensor | None]:
    """The loss, and dL/dz, where s = scale z zᵀ."""
    n = len(z)
    index = torch.arange(n, device=z.device)
    own = torch.stack([index, (index + n // 2) % n], dim=1)  # [2N, 2] each view's own place and its twin's
    work = z.new_empty(3, min(rows, n), n)
    loss = z.new_empty(n)
    gradient = torch.zeros_like(z) if with_gradient else None
    for start in range(0, n, rows):
        here = slice(start, start + rows)
        z_rows = z[here]
        s, w, p = work[:, : len(z_rows)]
        torch.addmm(s, z_rows, z.T, beta=0, alpha=scale, out=s)
        loss[here], g, r = block(s, w, p, own[here])
        if gradient is not None:
            gradient[here].addcmul_(g @ z, r[:, None])
            gradient.addmm_(g.T, z_rows * r[:, None])
    return loss.mean(), None if gradient is None else gradient.mul_(scale / n)
