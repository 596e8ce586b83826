"""Tensor helpers that two or more methods need."""

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust.losses.inputs import check_pairs

__all__ = [
    "balanced_cross_entropy",
    "entropy",
    "full_precision",
    "fuzzy_centres",
    "fuzzy_memberships",
    "kl_rows",
    "nt_xent",
    "pair_bce",
    "sharpened",
    "twin_mask",
    "xlogx",
]


def full_precision(x: Tensor) -> Tensor:
    """float16 and bfloat16 as float32, where sums of exponentials stay finite; wider types unchanged."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def xlogx(p: Tensor) -> Tensor:
    """p log p, 0 at p = 0 with a finite gradient there (log p alone gives NaN in the backward pass)."""
    return p * p.clamp_min(torch.finfo(p.dtype).tiny).log()


def entropy(p: Tensor) -> Tensor:
    """H(p) = -sum p log p over the last dimension, in nats."""
    return -xlogx(p).sum(dim=-1)


def kl_rows(t: Tensor, q: Tensor) -> Tensor:
    """KL(t_i ‖ q_i) = Σ_j t_ij log(t_ij / q_ij) of each row: [N, M], [N, M] -> [N]. Finite where q underflows to 0."""
    return (xlogx(t) - t * q.clamp_min(torch.finfo(q.dtype).tiny).log()).sum(dim=1)


def sharpened(q: Tensor, sizes: Tensor) -> Tensor:
    """DEC's target t_ij ~ q_ij² / sizes_j, rows sum to 1. q: [N, M]; sizes: [M], the sums of q over all samples."""
    t = q.square() / sizes.clamp_min(torch.finfo(q.dtype).tiny)
    return t / t.sum(dim=1, keepdim=True)


def twin_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    """[2n, 2n] bool: True where row and column are views of the same image (the view itself, and its twin)."""
    return torch.eye(n, dtype=torch.bool, device=device).repeat(2, 2)


def nt_xent(v_a: Tensor, v_b: Tensor, tau: float) -> Tensor:
    """Contrast each of the 2K rows with all others but itself; its twin is the one positive. Cosine, mean over 2K.

    CC uses this form twice: over views (rows of z) and over clusters (columns of c).
    v_a, v_b: [K, D], any length of rows.
    """
    check_pairs(v_a=v_a, v_b=v_b)
    v = F.normalize(full_precision(torch.cat([v_a, v_b])), dim=1, eps=1e-8)  # [2K, D]
    s = v @ v.T / tau  # [2K, 2K]
    s = s.masked_fill(torch.eye(len(s), dtype=torch.bool, device=s.device), -torch.inf)
    twin = torch.arange(len(s), device=s.device).roll(len(v_a))  # [2K] the other view of each row
    return F.cross_entropy(s, twin)


def balanced_cross_entropy(logits: Tensor, labels: Tensor, chosen: Tensor) -> Tensor:
    """The mean, over the clusters that have chosen samples, of their mean cross entropy: clusters weigh the same.

    0 where no sample is chosen. logits: [N, M]; labels: [N]; chosen: [N] bool.
    """
    weight = F.one_hot(labels, logits.shape[1]) * chosen[:, None]  # [N, M]
    sizes = weight.sum(dim=0)  # [M]
    each = -(weight * F.log_softmax(full_precision(logits), dim=1)).sum(dim=0) / sizes.clamp_min(1)  # [M]
    return each.sum() / (sizes > 0).sum().clamp_min(1)


def pair_bce(g: Tensor, r: Tensor) -> Tensor:
    """-r log g - (1 - r) log(1 - g) of each pair, g within [1e-6, 1 - 1e-6] so that it is finite. Any shape."""
    g = full_precision(g).clamp(1e-6, 1 - 1e-6)
    return -(r * g.log() + (1 - r) * torch.log1p(-g))


def fuzzy_memberships(d2: Tensor, m: float) -> Tensor:
    """p_ik ~ d_ik^(-2 / (m - 1)) of fuzzy c-means, rows sum to 1. d2: [N, M], squared distances; m > 1."""
    return torch.softmax(-d2.clamp_min(1e-12).log() / (m - 1), dim=1)


def fuzzy_centres(z: Tensor, p: Tensor, m: float) -> Tensor:
    """Σ_i p_ik^m z_i / Σ_i p_ik^m, the means of fuzzy c-means. z: [N, D]; p: [N, M] -> [M, D]."""
    w = p**m
    return w.T @ z / w.sum(dim=0).clamp_min(torch.finfo(w.dtype).tiny)[:, None]
