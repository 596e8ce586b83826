"""The losses over all pairs of views, value and gradient in one pass over blocks of rows.

The plain formulas keep a dozen [2N, 2N] tensors between forward and backward. Here each block of rows of s = z zᵀ
gives its fraction of the loss and, dL/ds being known in closed form, of the gradient:

    L = 1/(2N) Σ_i ℓ_i        G_ij = dℓ_i / ds_ij        dL/dz = (G + Gᵀ) z / (2N)

A block of G is used for both terms while it is in the cache, then discarded: memory is linear in N. Value and gradient
equal the plain ones up to rounding. There is no second derivative; requesting it is an error.

A batch that is `shared` by several processes: each is given its part of z_a and z_b, computes its own rows of s against
all columns, and its fraction of dL/dz; the shares are summed (dist). The value is that of the whole batch.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from c3clust import dist
from c3clust.losses.inputs import check_pairs

__all__ = ["SAFE_EXPONENT", "Block", "all_pairs_loss", "instance_loss", "join_views", "largest_square"]

# A block takes rows of s [B, 2N], which it may overwrite, two spare tensors of that shape, and the place of the rows'
# own view and twin [B, 2]. It returns ℓ [B], g [B, 2N] and r [B] with G = r g: scaling z by r is cheaper than g.
Block = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]]

SAFE_EXPONENT = 60.0  # in float32 a sum of 1e8 terms e^60 is finite and e^-60 is not zero: no maximum to subtract


def instance_loss(
    z_a: Tensor, z_b: Tensor, tau_i: float, block_rows: int | None = None, shared: bool = False
) -> Tensor:
    """The instance loss of CC, the anchor itself left out. z_a, z_b: [N, D], unit rows, float32 at least."""
    z = join_views(z_a, z_b, shared)
    careful = largest_square(z) / tau_i > SAFE_EXPONENT
    return all_pairs_loss(z, 1 / tau_i, _careful_instance_block if careful else _instance_block, block_rows, shared)


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


def all_pairs_loss(
    z: Tensor, scale: float, block: Block, block_rows: int | None = None, shared: bool = False
) -> Tensor:
    """L = 1/(2N) Σ_i ℓ_i over the rows of s = scale z zᵀ, each block of rows given to `block`. z: of `join_views`."""
    loss = _AllPairs.apply(z, scale, block, block_rows, own_rows(len(z), shared))
    return dist.total(loss) if shared else loss


def join_views(z_a: Tensor, z_b: Tensor, shared: bool = False) -> Tensor:
    """[2N, D] in float32, or in float64 if the inputs are; of all processes if the batch is shared."""
    check_pairs(z_a=z_a, z_b=z_b)
    dtype = torch.promote_types(torch.promote_types(z_a.dtype, z_b.dtype), torch.float32)
    if not shared or dist.world_size() == 1:
        return torch.cat([z_a.to(dtype), z_b.to(dtype)])
    z = dist.gather_columns(torch.stack([z_a.to(dtype), z_b.to(dtype)])[None])  # [world, 2, N / world, D]
    return z.transpose(0, 1).flatten(0, 2)


def own_rows(n: int, shared: bool) -> list[range]:
    """The rows of this process among n joined views: its part of the first views, and of the second ones."""
    if not shared or dist.world_size() == 1:
        return [range(n)]
    each, first = n // 2 // dist.world_size(), n // 2 // dist.world_size() * dist.rank()
    return [range(start, start + each) for start in (first, n // 2 + first)]


def largest_square(z: Tensor) -> float:
    """The largest |s_ij| that these rows can give."""
    return float(z.detach().square().sum(1).max())


class _AllPairs(torch.autograd.Function):
    """The sum of ℓ_i over the own rows, divided by 2N; the gradient is ready when the value is."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, scale: float, block: Block, block_rows: int | None, own: list[range]) -> Tensor:
        rows = block_rows or (min(1024, 128 * torch.get_num_threads()) if z.device.type == "cpu" else 1024)
        with torch.autocast(z.device.type, enabled=False):
            value, gradient = _sweep(z, scale, block, rows, own, ctx.needs_input_grad[0])
        ctx.save_for_backward(gradient)
        return value

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor, None, None, None, None]:
        if torch.is_grad_enabled():  # only under create_graph=True; a constant gradient would be silently wrong
            raise RuntimeError(
                "a one-pass loss has no second derivative: with create_graph=True use the plain formula."
            )
        (gradient,) = ctx.saved_tensors
        return gradient * outputs[0], None, None, None, None


def _sweep(
    z: Tensor, scale: float, block: Block, rows: int, ranges: list[range], with_gradient: bool
) -> tuple[Tensor, Tensor | None]:
    """The fraction of these rows in the loss and in dL/dz, where s = scale z zᵀ."""
    n = len(z)
    index = torch.arange(n, device=z.device)
    own = torch.stack([index, (index + n // 2) % n], dim=1)  # [2N, 2] each view's own place and its twin's
    work = z.new_empty(3, min(rows, n), n)
    losses = []
    gradient = torch.zeros_like(z) if with_gradient else None
    for here in (slice(i, min(i + rows, part.stop)) for part in ranges for i in part[::rows]):
        z_rows = z[here]
        s, w, p = work[:, : len(z_rows)]
        torch.addmm(s, z_rows, z.T, beta=0, alpha=scale, out=s)
        loss, g, r = block(s, w, p, own[here])
        losses.append(loss)
        if gradient is not None:
            gradient[here].addcmul_(g @ z, r[:, None])
            gradient.addmm_(g.T, z_rows * r[:, None])
    return torch.cat(losses).sum() / n, None if gradient is None else gradient.mul_(scale / n)
