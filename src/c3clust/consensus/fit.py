"""Feature vectors as a whole: features in, a head that assigns samples and its quality out."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from c3clust import dist
from c3clust.consensus.members import kmeans
from c3clust.consensus.partition import NARROW, Partition, partition
from c3clust.consensus.quality import Comparison, compare, estimate, support, temperature_for
from c3clust.features.vectors import lengths_alike, scale_rows
from c3clust.networks.vector_head import VectorHead, expand, expanded_width

__all__ = ["MOST", "PRIORS", "Quality", "fit_vectors"]

PRIORS = ("auto", "even", "free")
FEW = 4  # samples per cluster; below, the result is that of k-means
MOST = 10_000  # samples that are clustered; the head assigns the rest
PRODUCTS = 1e9  # samples times clusters times products of features, up to which the head is quadratic
DECAYS = (1e-2, 1e-3, 1e-4)  # weight decay of the head: the first with which every cluster has samples
STEPS = 60  # of L-BFGS
BLOCK = 4096  # samples that are assigned at a time


@dataclass(frozen=True)
class Quality:
    """What is known about a result without labels."""

    estimated_accuracy: float
    interval: tuple[float, float]  # 90 %
    prior: float  # 1: clusters of similar sizes were favoured; 0: not
    agreement: dict[str, float]  # of each member with the result
    comparison: Comparison
    source: str = "members"  # who made the labels; or "k-means"

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)


def fit_vectors(
    x: np.ndarray, n_clusters: int, *, scaled: bool, prior: str, seed: int, doubt: float = 0.0
) -> tuple[VectorHead, Quality]:
    """Cluster features [n, F]: the clusters on which clusterings of different kinds agree (partition.py).

    scaled: the features have a common scale and keep their lengths, as do others whose lengths differ much. doubt: the
    expected |log(K / number of groups)|, 0 if K was given; it lowers the estimate of the accuracy.
    """
    if len(x) > MOST:  # x may be an object that reads rows on access
        x = x[np.sort(np.random.default_rng(seed).permutation(len(x))[:MOST])]
    unit = not scaled and lengths_alike(x)
    z, centre, scale = scale_rows(x, unit)
    network = VectorHead(n_clusters, x.shape[1])
    network.centre.copy_(torch.from_numpy(centre))
    network.scale.fill_(scale)
    network.unit.fill_(unit)
    few = len(x) < FEW * n_clusters or len(np.unique(z, axis=0)) <= n_clusters
    found = by_kmeans(x, z, n_clusters, seed) if few else partition(x, z, n_clusters, prior, seed)
    weight, bias = dist.of_first(lambda: fit_head(torch.from_numpy(z), found))
    network.weight, network.bias = weight, bias
    c = assigned(network, z)
    found = found.with_labels(c.argmax(axis=1))
    accuracy, interval = estimate(found, z, doubt)
    network.temperature.fill_(temperature_for(c, accuracy))
    simple = found.members["k-means"]
    others = [each for name, each in found.members.items() if name != "k-means"] or [simple]
    supported = support(found.labels, others, n_clusters), support(simple, others, n_clusters)
    comparison = compare(found.labels, simple, found.near, supported, n_clusters)
    quality = Quality(
        accuracy, interval, float(found.even), found.agreements(), comparison, "k-means" if few else "members"
    )
    return network, quality


def by_kmeans(x: np.ndarray, z: np.ndarray, K: int, seed: int) -> Partition:
    """Too few samples to compare clusterings: those of k-means."""
    labels = kmeans(x, min(K, len(x)), seed, n_init=10).labels_
    near = (
        np.argsort(((z[:, None] - z) ** 2).sum(axis=2), axis=1)[:, 1:4] if len(z) < 500 else np.zeros((len(z), 0), int)
    )
    return Partition(labels, {"k-means": labels}, True, near, K)


def fit_head(z: Tensor, found: Partition) -> tuple[Tensor, Tensor]:
    """Weights [K, f] and biases [K] of the softmax regression on the labels and the votes of the members.

    The targets are half the label and half the votes, so that a sample on which members disagree has a low confidence.
    """
    targets = torch.from_numpy((np.eye(found.n_clusters)[found.labels] + found.votes()) / 2).float()
    n, F = z.shape
    rows = expand(z) if F <= NARROW and n * found.n_clusters * expanded_width(F) <= PRODUCTS else z
    for decay in DECAYS:
        weight, bias = softmax_regression(rows, targets, decay)
        filled = (rows @ weight.T + bias).argmax(dim=1).unique()
        if len(filled) == len(np.unique(found.labels)):
            break
    return weight, bias


def softmax_regression(x: Tensor, targets: Tensor, decay: float) -> tuple[Tensor, Tensor]:
    """Weights [K, f] and biases [K] that minimise the cross entropy with the targets [N, K], by L-BFGS."""
    mean, spread = x.mean(dim=0), x.std(dim=0, correction=0)
    spread = torch.where(spread > 1e-9, spread, 1.0)
    rows = (x - mean) / spread
    weight = torch.zeros(targets.shape[1], x.shape[1], requires_grad=True)
    bias = targets.mean(dim=0).clamp_min(1e-6).log().requires_grad_()
    optimiser = torch.optim.LBFGS([weight, bias], max_iter=STEPS, line_search_fn="strong_wolfe", tolerance_grad=1e-5)

    def closure() -> Tensor:
        optimiser.zero_grad()
        logits = torch.addmm(bias, rows, weight.T)
        loss = -(targets * logits.log_softmax(dim=1)).sum(dim=1).mean() + decay / 2 * weight.square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    weight = weight.detach() / spread
    return weight, bias.detach() - weight @ mean


def assigned(network: VectorHead, z: np.ndarray) -> np.ndarray:
    """[n, K] for z [n, F], before calibration."""
    return torch.cat([network.assign(rows) for rows in torch.from_numpy(z).split(BLOCK)]).numpy()
