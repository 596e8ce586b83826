"""The heads as a whole: features in, a network that votes and its quality out."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch

from c3clust.consensus.filling import fill_clusters, votes
from c3clust.consensus.heads import (
    Settings,
    assignments,
    head_dims,
    kmeans,
    labels_of,
    member_rows,
    neighbour_count,
    starts,
    train_heads,
)
from c3clust.consensus.quality import Comparison, accuracy_estimate, compare, reference_clusterings, temperature_for
from c3clust.consensus.votes import consensus, select_prior, vote
from c3clust.features.neighbours import nearest_neighbours
from c3clust.features.vectors import lengths_alike, scale_rows, smoothed
from c3clust.networks.voting import VotingHeads

__all__ = ["PRIORS", "Quality", "fit_heads"]

PRIORS = {"auto": (1.0, 0.5, 0.25), "even": (1.0,), "free": (0.25,)}
FEW = 4  # samples per cluster; below, the result is that of k-means
MOST = 20_000  # samples that the heads are trained on; the rest is predicted


@dataclass(frozen=True)
class Quality:
    """What is known about a result without labels."""

    estimated_accuracy: float
    interval: tuple[float, float]  # about 95 %
    prior: float  # the exponent that was used
    agreement: dict[str, float]  # mean adjusted Rand index of the members, for each prior
    comparison: Comparison
    source: str = "members"  # who made the labels; or "k-means"

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)


def fit_heads(
    x: np.ndarray, n_clusters: int, *, scaled: bool, prior: str | float, members: int | None, seed: int
) -> tuple[VotingHeads, Quality]:
    """Cluster features [n, F] with heads that are guided by neighbours.

    scaled: the features have a common scale and keep their lengths, as do others whose lengths differ much. prior:
    "auto" selects the pressure towards clusters of equal size, "even" is the strongest, "free" the weakest; or a number
    from 0 to 1.
    """
    s, K, rng = Settings() if members is None else Settings(members=members), n_clusters, np.random.default_rng(seed)
    if len(x) > MOST:  # x may be an object that reads rows on access
        x = x[np.sort(rng.permutation(len(x))[:MOST])]
    unit = not scaled and lengths_alike(x)
    z, centre, scale = scale_rows(x, unit)
    neighbours = nearest_neighbours(z, neighbour_count(len(z), K, s.neighbours))  # [n, k]
    dims = head_dims(len(z), z.shape[1], s.members, rng)  # [M, f]
    rows, smooth = member_rows(z, dims, unit), smoothed(z, neighbours)
    start = starts(np.stack([smooth[:, d] for d in dims]), K, s.anchors, rng)  # [M, n]
    priors = PRIORS[prior] if isinstance(prior, str) else (float(prior),)
    weight, bias = train_heads(rows, neighbours, start, K, priors, s, seed, unit)  # [P, M, K, f], [P, M, K]
    labels = [labels_of(rows, *head) for head in zip(weight, bias, strict=True)]  # of each prior [M, n]
    best, agreement = select_prior(labels)
    order, _ = consensus(assignments(rows, weight[best], bias[best]))
    network = VotingHeads(K, x.shape[1])
    set_heads(
        network,
        centre,
        scale,
        unit,
        dims,
        np.take_along_axis(weight[best], order[:, :, None], axis=1),
        np.take_along_axis(bias[best], order, axis=1),
    )
    mean = fill_clusters(network, z)  # [n, K]

    index, clusterings = reference_clusterings(z, K, unit, s, rng)
    simple = kmeans(x, K, seed, n_init=10)
    comparison = compare(mean.argmax(1), simple.labels_, neighbours, index, clusterings, K)
    by_kmeans = comparison.simple_is_as_good or len(x) < FEW * K
    if by_kmeans:
        set_centres(network, simple.cluster_centers_, simple.inertia_ / len(x))
        mean = votes(network, network.project(torch.from_numpy(x)).numpy())
    estimate, interval = accuracy_estimate(mean.argmax(1)[index], [vote(kind, K) for kind in clusterings], K)
    network.temperature.fill_(temperature_for(mean, estimate))
    named = {f"{value:g}": found for value, found in zip(priors, agreement, strict=True)}
    source = "k-means" if by_kmeans else "members"
    return network, Quality(estimate, interval, priors[best], named, comparison, source)


def set_heads(
    network: VotingHeads,
    centre: np.ndarray,
    scale: float,
    unit: bool,
    dims: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
) -> None:
    """Fill the network with the heads of the members: dims [M, f], weight [M, K, f], bias [M, K]."""
    network.centre.copy_(torch.from_numpy(centre))
    network.scale.fill_(scale)
    network.unit.fill_(unit)
    network.dims, network.weight = torch.from_numpy(dims), torch.from_numpy(weight.astype(np.float32))
    network.bias = torch.from_numpy(bias.astype(np.float32))


def set_centres(network: VotingHeads, centres: np.ndarray, spread: float) -> None:
    """k-means as one head: the logits are minus the squared distances over the spread, up to a common constant."""
    spread = max(spread, 1e-12)
    dims, weight, bias = np.arange(centres.shape[1])[None], 2 * centres / spread, -(centres**2).sum(1) / spread
    set_heads(network, np.zeros(centres.shape[1], np.float32), 1.0, False, dims, weight[None], bias[None])
