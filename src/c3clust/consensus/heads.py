"""Guidance by neighbours: linear heads on feature vectors, whose positives are nearest neighbours in that space.

A sample and one of its nearest neighbours should get the same cluster. The objective is that of TEMI (Adaloglou,
Michels, Kalisch, Kollmann, BMVC 2023, https://arxiv.org/abs/2303.17896). Departures: the heads start from clusterings
of the features; the division by the cluster sizes has an exponent, which is selected; each head sees a random subset of
the dimensions; all heads vote (consensus.py); the teacher is a moving average of assignments, not of weights.

Shapes: n samples, F dimensions, f of them seen by a member, M members, P priors, K clusters, k neighbours, B batch.
"""

import threading
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import torch
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from c3clust import dist
from c3clust.consensus.head_loss import adam_step, logit_gradient
from c3clust.consensus.many import NEAR, near_clusters, train_head
from c3clust.features.vectors import unit_rows

__all__ = [
    "Settings",
    "neighbour_count",
    "starts",
    "train_heads",
]

MIN_DIMENSIONS = 64  # that a member sees; else a tenth of them, or a fifth for many samples
MANY = 5000  # samples
LINKED = 40  # samples per cluster from which average linkage is computed, at least
MOST_LINKED = 4000  # samples, or two per cluster: the time and memory of average linkage grow with the square


@dataclass(frozen=True)
class Settings:
    """The constants of the heads. They were chosen while looking at scores (docs/FOLDERS.md)."""

    members: int = 8
    neighbours: int = 25  # k at most; never more than half a cluster of average size
    beta: float = 0.6  # sharpness of the objective; TEMI's value
    tau: float = 0.1  # temperature of the logits
    passes: int = 40  # over the samples
    steps: tuple[int, int] = (300, 800)  # at least and at most
    batch: int = 512  # B at most
    lr: float = 3e-3  # of Adam; falls to 0 over the second half
    momentum: float = 0.9  # of the teacher, per pass over the samples
    anchors: int = 1500  # samples from which average linkage is computed
    reference_samples: int = 2000  # samples on which the independent clusterings are computed


# 1. Features


def member_rows(z: np.ndarray, dims: np.ndarray, unit: bool) -> np.ndarray:
    """The rows as members see them: [M, n, f], of unit length again."""
    zs = np.stack([z[:, d] for d in dims])
    return unit_rows(zs) if unit else zs


def draw_dims(F: int, M: int, part: float, least: int, rng: np.random.Generator) -> np.ndarray:
    """[M, f]: a random part of the dimensions for each member, at least `least` of them."""
    f = min(F, max(round(part * F), least))
    return np.stack([np.sort(rng.permutation(F)[:f]) for _ in range(M)])


def neighbour_count(n: int, K: int, most: int) -> int:
    """At most half a cluster of average size, n / 2K."""
    return int(min(max(n // (2 * K), 3), most, n - 1))


def head_dims(n: int, F: int, M: int, rng: np.random.Generator) -> np.ndarray:
    """[M, f]: the dimensions that the heads see. Few of them make members differ; with many samples more are better."""
    return draw_dims(F, M, 1 / 5 if n > MANY else 1 / 10, MIN_DIMENSIONS, rng)


def step_count(n: int, s: Settings) -> int:
    """Steps of training. With few passes the teacher hardly moves, and members stay where they started."""
    return int(np.clip(s.passes * n // min(s.batch, n), *s.steps))


# 2. Starts


def nearest_mean(z: np.ndarray, anchors: np.ndarray, labels: np.ndarray, K: int) -> np.ndarray:
    """[n]: the cluster whose mean over the anchors is nearest."""
    means = np.stack([z[anchors][labels == c].mean(0) if (labels == c).any() else z[anchors[0]] for c in range(K)])
    return ((means**2).sum(1) - 2 * z @ means.T).argmin(1)


class _Quiet:
    """Ignore warnings about convergence. Threads may be inside at the same time, which catch_warnings alone forbids."""

    def __init__(self) -> None:
        self.lock, self.inside, self.stack = threading.Lock(), 0, ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore", ConvergenceWarning)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.stack.close()


QUIET = _Quiet()


def kmeans(z: np.ndarray, K: int, seed: int, n_init: int = 2) -> KMeans:
    """scikit-learn's k-means; fewer distinct samples than clusters are no reason for a warning here.

    Of many clusters fewer starts are tried: their sums of squares differ little.
    """
    n_init = n_init if K <= NEAR else max(1, n_init // 3)
    with QUIET:
        return KMeans(K, n_init=n_init, random_state=seed).fit(z)


def linkage_start(z: np.ndarray, K: int, anchors: np.ndarray) -> np.ndarray:
    """Average linkage of the anchors. It finds clusters of uneven sizes where k-means divides the large ones."""
    labels = fcluster(linkage(z[anchors], "average"), K, "maxclust") - 1 if len(anchors) > 1 else np.zeros(1, int)
    found = nearest_mean(z, anchors, labels, K)
    found[anchors] = labels
    return found


def starts(views: np.ndarray, K: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """[M, n]: every other member starts from average linkage, the rest from k-means. views: [M, n, f], smoothed."""
    n, draws = views.shape[1], []
    for m in range(len(views)):
        anchors = rng.permutation(n)[
            : min(max(int(0.8 * n), 2 * K), max(most, min(LINKED * K, max(MOST_LINKED, 2 * K))), n)
        ]
        draws.append((m, anchors, int(rng.integers(2**31)) if m % 2 else 0))

    def start(draw: tuple[int, np.ndarray, int]) -> np.ndarray:
        m, anchors, seed = draw
        return kmeans(views[m], K, seed).labels_ if m % 2 else linkage_start(views[m], K, anchors)

    return np.stack(dist.shared_map(start, draws, threads=True))


# 3. Training: all members and all priors at once


def start_heads(z: Tensor, labels: np.ndarray, K: int, unit: bool) -> tuple[Tensor, Tensor]:
    """Weights [M, K, f] and biases [M, K, 1] from clusterings [M, n] of the rows z [M, n, f].

    Rows of unit length: the cosine with the mean direction. Others: the nearest mean, z mu - |mu|^2 / 2.
    """
    one_hot = torch.zeros(*labels.shape, K).scatter_(2, torch.as_tensor(labels, dtype=torch.long).unsqueeze(2), 1.0)
    means = torch.bmm(one_hot.mT, z) / one_hot.sum(1).clamp(min=1).unsqueeze(2)  # [M, K, f]
    square = (means**2).sum(dim=2, keepdim=True)
    return (means / square.sqrt().clamp(min=1e-6), torch.zeros_like(square)) if unit else (means, -square / 2)


def train_heads(
    zs: np.ndarray,
    neighbours: np.ndarray,
    start: np.ndarray,
    K: int,
    priors: Sequence[float],
    s: Settings,
    seed: int,
    unit: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Weights [P, M, K, f] and biases [P, M, K] of one head for each prior and member.

    zs: [M, n, f]; neighbours: [n, k]; start: [M, n] labels. Members do not depend on each other, and all see the same
    batches: several processes train some members each.
    """
    if dist.world_size() > 1:
        mine = dist.part(len(zs))
        some = slice(mine.start, mine.stop)
        own = _train_members(zs[some], neighbours, start[some], K, priors, s, seed, unit) if mine else ()
        found = [pair for pair in dist.gather_objects(own) if pair]
        return np.concatenate([w for w, _ in found], axis=1), np.concatenate([b for _, b in found], axis=1)
    return _train_members(zs, neighbours, start, K, priors, s, seed, unit)


@torch.no_grad()
def _train_members(
    zs: np.ndarray,
    neighbours: np.ndarray,
    start: np.ndarray,
    K: int,
    priors: Sequence[float],
    s: Settings,
    seed: int,
    unit: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """`train_heads` of these members."""
    if K > NEAR:
        return _train_one_by_one(zs, neighbours, start, K, priors, s, seed, unit)
    M, n, f = zs.shape
    P, B = len(priors), min(s.batch, n)
    generator = torch.Generator().manual_seed(seed)
    z = torch.from_numpy(zs)  # [M, n, f]
    partners = torch.from_numpy(neighbours)
    prior = torch.tensor(priors).view(P, 1)
    weight, bias = (each.repeat(1, P, 1) for each in start_heads(z, start, K, unit))  # [M, P K, f], [M, P K, 1]
    moments = [(torch.zeros_like(a), torch.zeros_like(a)) for a in (weight, bias)]

    def log_q(rows: Tensor) -> Tensor:
        return torch.log_softmax(torch.baddbmm(bias.mT, rows, weight.mT).div_(s.tau).view(M, -1, P, K), dim=3)

    t = log_q(z).exp_()  # [M, n, P, K], the teacher: moving average of the assignments
    p = t.mean(dim=1, keepdim=True)  # [M, 1, P, K], cluster sizes
    order, at, period, steps = torch.randperm(n, generator=generator), 0, max(1, n // B), step_count(n, s)
    for step in range(1, steps + 1):
        if at + B > n:
            order, at = torch.randperm(n, generator=generator), 0
        i, at = order[at : at + B], at + B
        j = partners[i, torch.randint(partners.shape[1], (B,), generator=generator)]
        rows, t_j = z[:, i], t[:, j]
        w = (t[:, i] * t_j).sum(dim=3)  # [M, B, P]: pairs that the teacher separates count little
        g = logit_gradient(log_q(rows), t_j, w, p, s.beta, prior).view(M, B, P * K) / (B * s.tau)
        rate = s.lr * min(1.0, 2 * (1 - (step - 1) / steps))
        adam_step(weight, torch.bmm(g.mT, rows), moments[0], step, rate)
        adam_step(bias, g.sum(dim=1).unsqueeze(2), moments[1], step, rate)
        if step % period == 0:
            t.lerp_(log_q(z).exp_(), 1 - s.momentum)
            p = t.mean(dim=1, keepdim=True)
    weight, bias = weight.view(M, P, K, f).transpose(0, 1), bias.view(M, P, K).transpose(0, 1)
    return weight.numpy() / s.tau, bias.numpy() / s.tau


def _train_one_by_one(
    zs: np.ndarray,
    neighbours: np.ndarray,
    start: np.ndarray,
    K: int,
    priors: Sequence[float],
    s: Settings,
    seed: int,
    unit: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """`train_heads` for many clusters: one head at a time, so that memory does not grow with their number."""
    found, steps, partners = [], s.steps[0], torch.from_numpy(neighbours)
    for z, labels in zip(torch.from_numpy(zs), start, strict=True):
        weight, bias = (each[0] for each in start_heads(z[None], labels[None], K, unit))
        near = near_clusters(z, weight, bias[:, 0])
        found.append([train_head(z, near, partners, weight, bias[:, 0], each, s, seed, steps) for each in priors])
    weights, biases = (np.array([[head[part] for head in member] for member in found]) for part in (0, 1))
    return weights.swapaxes(0, 1), biases.swapaxes(0, 1)


def assignments(zs: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """[M, n, K]: softmax of the members' logits. zs: [M, n, f]; weight: [M, K, f]; bias: [M, K]."""
    found = np.empty((len(zs), zs.shape[1], weight.shape[1]), np.float32)
    for out, member in zip(found, zip(zs, weight, bias, strict=True), strict=True):
        out[:] = _assignment(*member)
    return found


def labels_of(zs: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """[M, n]: the cluster that each member assigns; the assignments of one member at a time are in memory."""
    return np.stack([_assignment(*member).argmax(1) for member in zip(zs, weight, bias, strict=True)])


def _assignment(z: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """[n, K] of one member."""
    return torch.addmm(*map(torch.from_numpy, (bias, z, weight.T))).softmax(dim=1).numpy()
