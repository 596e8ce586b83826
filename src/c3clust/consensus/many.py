"""Training of one head for many clusters: each sample compares its NEAR nearest clusters, not all of them.

The objective and the batches are those of `heads.train_heads`. Departures: the steps are the fewest that it takes; a
sample's assignment is a softmax over the clusters that were nearest to it at the start; the teacher's assignments of a
sample are averaged when the sample is in a batch, once per pass, as in temporal ensembling (Laine, Aila, ICLR 2017).

Shapes: n samples, f dimensions, K clusters, C of them near a sample, k neighbours, B batch.
"""

from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_matrix
from torch import Tensor

from c3clust.consensus.head_loss import adam_step, logit_gradient

__all__ = ["NEAR", "near_clusters", "train_head"]

NEAR = 32  # C; up to here all clusters are compared
BLOCK = 2048  # samples whose nearest clusters are found at a time


def near_clusters(z: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """[n, C]: the clusters of largest logit. z: [n, f]; weight: [K, f]; bias: [K]."""
    return torch.cat([torch.addmm(bias, rows, weight.T).topk(NEAR, sorted=False)[1] for rows in z.split(BLOCK)])


def summed(g: Tensor, clusters: Tensor, rows: Tensor, K: int) -> tuple[Tensor, Tensor]:
    """The gradients of weights [K, f] and biases [K], from those of the logits g [B, C] of these clusters.

    A sparse product takes a quarter of the time of a dense one with K = 1000.
    """
    B, C = g.shape
    starts = np.arange(0, B * C + 1, C)
    sparse = csr_matrix((g.numpy().ravel(), clusters.numpy().ravel(), starts), shape=(B, K)).T
    return torch.from_numpy(sparse @ rows.numpy()), torch.from_numpy(sparse @ np.ones(B, np.float32))


def sizes(t: Tensor, near: Tensor) -> Tensor:
    """[K]: the mean of the teacher's assignments t [n, K], which are 0 but for the clusters near [n, C]."""
    total = torch.zeros(t.shape[1]).index_add_(0, near.flatten(), t.gather(1, near).flatten())
    return total / len(t)


def train_head(
    z: Tensor, near: Tensor, partners: Tensor, weight: Tensor, bias: Tensor, prior: float, s: Any, seed: int, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Weights [K, f] and biases [K] after training. near: [n, C]; partners: [n, k]; weight, bias: the start."""
    (n, K), B, generator = (len(z), len(bias)), min(s.batch, len(z)), torch.Generator().manual_seed(seed)
    weight, bias = weight.clone(), bias.clone()
    moments = [(torch.zeros_like(a), torch.zeros_like(a)) for a in (weight, bias)]

    def log_q(rows: Tensor, clusters: Tensor) -> Tensor:
        return torch.addmm(bias, rows, weight.T).gather(1, clusters).div_(s.tau).log_softmax(dim=1)

    t = torch.zeros(n, K)  # the teacher; 0 for clusters that are not near
    for some in torch.arange(n).split(BLOCK):
        t[some] = t[some].scatter_(1, near[some], log_q(z[some], near[some]).exp_())
    p = sizes(t, near)
    order, at, period = torch.randperm(n, generator=generator), 0, max(1, n // B)
    for step in range(1, steps + 1):
        if at + B > n:
            order, at = torch.randperm(n, generator=generator), 0
        i, at = order[at : at + B], at + B
        j = partners[i, torch.randint(partners.shape[1], (B,), generator=generator)]
        rows, clusters = z[i], near[i]  # [B, f], [B, C]
        own, log = i[:, None] * K + clusters, log_q(rows, clusters)
        t_i, t_j = t.take(own), t.take(j[:, None] * K + clusters)
        w = (t_i * t_j).sum(dim=1)
        g = logit_gradient(log, t_j, w, p[clusters], s.beta, prior) / (B * s.tau)
        rate = s.lr * min(1.0, 2 * (1 - (step - 1) / steps))
        for each, moment, gradient in zip((weight, bias), moments, summed(g, clusters, rows, K), strict=True):
            adam_step(each, gradient, moment, step, rate)
        t.put_(own, t_i.lerp(log.exp(), 1 - s.momentum))
        if step % period == 0:
            p = sizes(t, near)
    return weight.numpy() / s.tau, bias.numpy() / s.tau
