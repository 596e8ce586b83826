"""Tensor helpers that two or more methods need."""

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["entropy", "full_precision", "kl_rows", "nt_xent", "sharpened", "twin_mask", "xlogx"]


def full_precision(x: Tensor) -> Tensor:
    """float16 and bfloat16 as float32, where sums of exponentials stay finite; wider types unchanged."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def xlogx(p: Tensor) -> Tensor:
    """p log p, 0 at p = 0 with a finite gradient there (log p alone gives NaN in the backward pass)."""
    return p * p.clamp_min(torch.finfo(p.dtype).tiny).log()


def entropy(p: Tensor, dim: int = -1) -> Tensor:
    """H(p) = -sum p log p along dim, in nats."""
    return -xlogx(p).sum(dim)


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
    v = F.normalize(full_precision(torch.cat([v_a, v_b])), dim=1, eps=1e-8)  # [2K, D]
    s = v @ v.T / tau  # [2K, 2K]
    s = s.masked_fill(torch.eye(len(s), dtype=torch.bool, device=s.device), -torch.inf)
    twin = torch.arange(len(s), device=s.device).roll(len(v_a))  # [2K] the other view of each row
    return F.cross_entropy(s, twin)
