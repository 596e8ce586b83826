"""Evidence for each number of clusters, from resampled clusterings.

A member clusters a random part of the samples: each sample is replaced by its mean with its nearest neighbours, and the
means are merged by Ward's criterion or by average linkage. One such tree holds a clustering for every number of
clusters K. Its quality is the silhouette of the samples themselves (Rousseeuw, Journal of Computational and Applied
Mathematics 20, 1987): how much nearer a sample is to its own cluster than to the next one.

The reference is one Gaussian cloud with the covariance of the data: what a clustering of it shows is no structure.

Shapes: n samples, m of them seen by a member, G numbers of clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from c3clust.metrics import rand_index
from c3clust.rows import kept_above_chance, nearest, smoothed, unit_rows

__all__ = ["Evidence", "gather", "grid"]

PART = 0.8  # of the samples that a member sees
NEIGHBOURS = (4, 10, 25)  # that a sample is averaged with: members that see small, middle and large structure
LINKS = ("ward", "average")
MIDDLE = [(10, link) for link in LINKS]  # members that are compared with the reference
CLOUDS = 12  # draws of the reference
COMPARED = 600  # samples that are compared with the reference
FLOOR = 0.001  # added to the standard deviation of the reference, which few draws may underestimate
STEP = 1.14  # from 12 clusters on, each number is so many times the one before
LARGEST = 120  # clusters at most
SMALLEST = 4  # samples per cluster at least, on average


def grid(n: int) -> list[int]:
    """The numbers of clusters that are tried for n samples: 1 to 12 one by one, then in steps of a seventh."""
    most = min(max(n // SMALLEST, min(n - 1, 2)), LARGEST)
    coarse = np.round(12 * STEP ** np.arange(1, 40)).astype(int).tolist()
    return [k for k in [*range(1, 13), *coarse] if k <= most]


def distances(z: np.ndarray) -> np.ndarray:
    """[n, n] Euclidean distances; 0 on the diagonal."""
    square = (z**2).sum(1)
    found = np.sqrt(np.maximum(square[:, None] + square - 2 * z @ z.T, 0))
    np.fill_diagonal(found, 0)
    return found


def silhouettes(d: np.ndarray, clusterings: Sequence[np.ndarray]) -> np.ndarray:
    """[G]: mean silhouette of nested clusterings, the finest last; 0 for one cluster. d: [m, m] distances.

    Sums of distances to the clusters of the finest one are added up for the others.
    """
    fine, rows, found = clusterings[-1], np.arange(len(d)), []
    first = np.unique(fine, return_index=True)[1]  # a sample of each of the finest clusters
    member = np.eye(len(first), dtype=d.dtype)[fine]
    total, size = d @ member, member.sum(0)
    for labels in clusterings:
        into = np.eye(int(labels.max()) + 1, dtype=d.dtype)[labels[first]]  # [finest, clusters]
        sums, sizes = total @ into, size @ into
        own = sums[rows, labels] / np.maximum(sizes[labels] - 1, 1)
        means = sums / sizes
        means[rows, labels] = np.inf
        other = means.min(axis=1)
        alone = (sizes[labels] == 1) | np.isinf(other)
        each = np.where(alone, 0.0, (other - own) / np.maximum(np.maximum(own, other), 1e-12).clip(max=1e30))
        found.append(float(each.mean()))
    return np.array(found)


@dataclass(frozen=True)
class Member:
    """One resampled tree of clusters."""

    kind: tuple[int, str]  # neighbours, linkage
    index: np.ndarray  # [m] the samples that it sees
    labels: list[np.ndarray]  # [G] of [m]
    silhouette: np.ndarray  # [G] of the samples
    smooth: np.ndarray  # [G] of their means with the neighbours
    kept: np.ndarray  # [G]


def cluster_part(z: np.ndarray, index: np.ndarray, ks: Sequence[int], kind: tuple[int, str]) -> Member:
    """The tree of the samples `index`, of that many neighbours and that linkage."""
    part, (k, link) = z[index], kind
    near = nearest(part, min(k, max(len(part) // 10, 3), len(part) - 1))
    d = distances(smoothed(part, near))
    tree = linkage(squareform(d.astype(np.float64), checks=False), link)
    labels = [fcluster(tree, wanted, "maxclust") - 1 for wanted in ks]
    kept = np.array([kept_above_chance(each, near) for each in labels])
    return Member(kind, index, labels, silhouettes(distances(part), labels), silhouettes(d, labels), kept)


def members(
    z: np.ndarray, ks: Sequence[int], kinds: Sequence[tuple[int, str]], rng: np.random.Generator, part: float = 1.0
) -> list[Member]:
    """One member of each kind, on a random part of the samples."""
    seen = max(round(part * len(z)), min(len(z), 4))
    return [cluster_part(z, np.sort(rng.permutation(len(z))[:seen]), ks, kind) for kind in kinds]


def reference(z: np.ndarray, unit: bool, rng: np.random.Generator) -> np.ndarray:
    """[n, F]: as many samples of one Gaussian with the covariance of the rows z."""
    mixing = rng.standard_normal((len(z), len(z)), dtype=np.float32) / np.float32(np.sqrt(len(z)))
    cloud = mixing @ (z - z.mean(0))
    return unit_rows(cloud) if unit else cloud


@dataclass(frozen=True)
class Evidence:
    """What was measured for each of the G numbers of clusters `ks`."""

    ks: list[int]
    members: list[Member]
    compared: list[Member]  # of at most COMPARED samples
    clouds: list[list[Member]]  # the same of draws of the reference

    @cached_property
    def silhouettes(self) -> np.ndarray:
        """[members, G]."""
        return np.stack([member.silhouette for member in self.members])

    @cached_property
    def score(self) -> np.ndarray:
        """[G]: mean silhouette of the members."""
        return self.silhouettes.mean(0)

    @cached_property
    def error(self) -> np.ndarray:
        """[G]: standard error of the score. What a member has above the others at every K is not counted."""
        own = self.silhouettes - self.silhouettes.mean(1, keepdims=True)
        return own.std(0, ddof=1) / np.sqrt(len(own))

    @cached_property
    def above_cloud(self) -> np.ndarray:
        """[G]: silhouette of the smoothed samples, less that of the reference."""
        return _mean(self.compared, "smooth") - np.mean([_mean(each, "smooth") for each in self.clouds], axis=0)

    @cached_property
    def clear(self) -> np.ndarray:
        """[G]: the same, weighted by the neighbours kept, which many small clusters lose."""
        return self.above_cloud * _mean(self.compared, "kept")

    @cached_property
    def structure(self) -> float:
        """How many standard deviations of the reference its silhouettes are exceeded by, for the best K."""
        found = []
        for name in ("silhouette", "smooth"):
            clouds = np.stack([_mean(each, name) for each in self.clouds])
            above = (_mean(self.compared, name) - clouds.mean(0)) / (clouds.std(0, ddof=1) + FLOOR)
            found.append(float(above[1:].max()))
        return sum(found) / 2

    @cached_property
    def kept(self) -> np.ndarray:
        """[G]: mean share of nearest neighbours in the same cluster, above chance."""
        return _mean(self.members, "kept")

    @cached_property
    def stability(self) -> np.ndarray:
        """[G]: mean adjusted Rand index of two members on the samples that both see."""
        found = []
        for a, b in combinations(self.members, 2):
            _, i, j = np.intersect1d(a.index, b.index, return_indices=True)
            found.append([rand_index(p[i], q[j]) for p, q in zip(a.labels, b.labels, strict=True)])
        return np.mean(found, axis=0)


def gather(z: np.ndarray, unit: bool, rng: np.random.Generator) -> Evidence:
    """Cluster the rows z [n, F] and the reference for every number of clusters. unit: rows have unit length."""
    ks, some = grid(len(z)), z[np.sort(rng.permutation(len(z))[:COMPARED])]
    found = members(z, ks, [(k, link) for k in NEIGHBOURS for link in LINKS], rng, PART)
    clouds = [members(reference(some, unit, rng), ks, MIDDLE, rng) for _ in range(CLOUDS)]
    return Evidence(ks, found, members(some, ks, MIDDLE, rng), clouds)


def _mean(found: Sequence[Member], name: str) -> np.ndarray:
    """[G]: the mean of a curve of the members."""
    return np.mean([getattr(member, name) for member in found], axis=0)
