"""The C3 loss and its parts, as pure functions. Shapes: N images per batch, D projection width."""

import torch
from torch import Tensor

from c3clust import dist
from c3clust.losses.inputs import check_pairs, check_unit_rows
from c3clust.losses.onepass import SAFE_EXPONENT, Block, all_pairs_loss, join_views, largest_square, own_rows
from c3clust.losses.terms import full_precision, twin_mask

__all__ = ["c3_loss", "log_pair_weights", "one_pass_c3_loss", "pair_weights", "positive_pairs", "positives_per_view"]

ONE_PASS_FROM = 128  # images per batch
TWINS = ("always", "threshold")  # which twins are positives: all, or as in the paper's equation those with s >= zeta


def log_pair_weights(s: Tensor, gamma: float) -> Tensor:
    """log w_ij (section 3.2 of the paper): log-softmax over j of gamma (1 - |s_ij|), without gradient."""
    return torch.log_softmax(gamma * (1 - full_precision(s.detach()).abs()), dim=1)  # [2N, 2N]


def pair_weights(s: Tensor, gamma: float) -> Tensor:
    """w_ij: softmax over j of gamma (1 - |s_ij|), so rows sum to 1. s: [2N, 2N] cosines."""
    return log_pair_weights(s, gamma).exp()


def positive_pairs(s: Tensor, zeta: float, twins: str = "always") -> Tensor:
    """[2N, 2N] bool: pairs with s_ij >= zeta, always a view with itself, and with `twins="always"` with its twin."""
    if twins == "always":
        return (s >= zeta) | twin_mask(len(s) // 2, s.device)
    return (s >= zeta) | torch.eye(len(s), dtype=torch.bool, device=s.device)


def positives_per_view(z_a: Tensor, z_b: Tensor, zeta: float, twins: str = "always", shared: bool = False) -> Tensor:
    """Mean number of positives of a view, itself among them. z_a, z_b: [N, D], unit rows; `shared` as in `c3_loss`."""
    if not shared or dist.world_size() == 1:
        z = full_precision(torch.cat([z_a, z_b]).detach())
        return positive_pairs(z @ z.T, zeta, twins).sum(dim=1).to(z.dtype).mean()
    z = join_views(z_a.detach(), z_b.detach(), shared)
    rows = torch.cat([torch.arange(part.start, part.stop) for part in own_rows(len(z), shared)]).to(z.device)
    always = torch.stack([rows, (rows + len(z) // 2) % len(z)], dim=1)[:, : 2 if twins == "always" else 1]
    positive = (z[rows] @ z.T >= zeta).scatter_(1, always, True)
    return dist.total(positive.sum().to(z.dtype)) / len(z)


def c3_loss(
    z_a: Tensor,
    z_b: Tensor,
    zeta: float = 0.6,
    gamma: float = 0.1,
    twins: str = "always",
    shared: bool = False,
) -> Tensor:
    """L_C3 (section 3.2 of the paper): minus the log of the positives over all weighted pairs, mean over 2N views.

    z_a, z_b: [N, D], unit rows. `twins`: "threshold" is the paper's equation, in which a twin is a positive if
    s >= zeta; "always" counts it in any case, as the released code does. From N = 128 on the same value comes from one
    pass over row blocks (`one_pass_c3_loss`), which is faster (benchmarks/README.md), with memory linear in N.
    shared: z_a and z_b are this process's part of the batch; the loss is that of the whole batch, of which each process
    computes its own rows.
    """
    check_pairs(z_a=z_a, z_b=z_b)
    check_unit_rows(z_a=z_a, z_b=z_b)
    if len(z_a) >= ONE_PASS_FROM or (shared and dist.world_size() > 1):
        return one_pass_c3_loss(z_a, z_b, zeta, gamma, twins, shared=shared)
    z = full_precision(torch.cat([z_a, z_b]))  # [2N, D]
    s = z @ z.T  # [2N, 2N] cosine
    log_positive = s.masked_fill(~positive_pairs(s, zeta, twins), -torch.inf).logsumexp(dim=1)  # [2N]
    log_all = (s + log_pair_weights(s, gamma)).logsumexp(dim=1)  # [2N]
    return (log_all - log_positive).mean()


def one_pass_c3_loss(
    z_a: Tensor,
    z_b: Tensor,
    zeta: float,
    gamma: float,
    twins: str = "always",
    block_rows: int | None = None,
    shared: bool = False,
) -> Tensor:
    """`c3_loss` by row blocks (losses/onepass.py): memory linear in N. float16 and bfloat16 are computed in float32."""
    z = join_views(z_a, z_b, shared)
    careful = largest_square(z) * (1 + gamma) > SAFE_EXPONENT
    always = 2 if twins == "always" else 1  # the view itself, and its twin
    block = _careful_c3_block(zeta, gamma, always) if careful else _c3_block(zeta, gamma, always)
    return all_pairs_loss(z, 1.0, block, block_rows, shared)


def _c3_block(zeta: float, gamma: float, always: int) -> Block:
    """u = exp(s - gamma |s|), p = 1{positive} exp(s), A and P their row sums:  G = u / A - p / P."""

    def block(s: Tensor, w: Tensor, p: Tensor, own: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        torch.abs(s, out=w).mul_(-gamma).exp_()
        torch.ge(s, zeta, out=p).scatter_(1, own[:, :always], 1.0)  # 0 or 1 as numbers: masks are several times slower
        p.mul_(s.exp_())
        w_sum, p_sum = w.sum(1), p.sum(1)
        u = w.mul_(s)
        u_sum = u.sum(1)
        loss = (u_sum / (w_sum * p_sum)).log()
        return loss, u.addcmul_(p, (u_sum / p_sum)[:, None], value=-1), 1 / u_sum

    return block


def _careful_c3_block(zeta: float, gamma: float, always: int) -> Block:
    """The same where exp could overflow or vanish: large gamma, or rows far longer than 1."""

    def block(s: Tensor, w: Tensor, p: Tensor, own: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        torch.abs(s, out=w).mul_(-gamma)
        positive = (s >= zeta).scatter_(1, own[:, :always], True)
        p.copy_(s).masked_fill_(~positive, -torch.inf)
        loss = s.add_(w).logsumexp(1) - w.logsumexp(1) - p.logsumexp(1)
        return loss, s.softmax(1).sub_(p.softmax(1)), torch.ones_like(loss)

    return block
