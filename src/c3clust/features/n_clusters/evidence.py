"""Evidence for each number of clusters, from resampled clusterings.

A member clusters a random part of the samples: each sample is replaced by its mean with its nearest neighbours, and the
means are merged by Ward's criterion or by average linkage. One such tree holds a clustering for every number of
clusters K. Its quality is the silhouette of the samples themselves (Rousseeuw, Journal of Computational and Applied
Mathematics 20, 1987): how much nearer a sample is to its own cluster than to the next one.

The reference is one cloud with the covariance and the tails of the data (cloud.py): what a clustering of it shows is no
structure.

Shapes: n samples, m of them seen by a member, G numbers of clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from c3clust.features.n_clusters.cloud import clouds
from c3clust.features.vectors import kept_above_chance, nearest, smoothed, unit_rows
from c3clust.metrics import rand_index

__all__ = ["Evidence", "gather", "largest"]

PART = 0.8  # of the samples that a member sees
NEIGHBOURS = (4, 10, 25)  # that a sample is averaged with: members that see small, middle and large structure
LINKS = ("ward", "average")
MIDDLE = [(10, link) for link in LINKS]  # members that are compared with the reference
CLOUDS = 12  # draws of the reference
COMPARED = 600  # samples that are compared with the reference
FLOOR = 0.001  # added to the standard deviation of the reference, which few draws may underestimate
LARGEST = 120  # clusters at most
SMALLEST = 4  # samples per cluster at least, on average


def largest(n: int) -> int:
    """The largest number of clusters that is tried for n samples."""
    return min(max(n // SMALLEST, min(n - 1, 2)), LARGEST)


def distances(z: np.ndarray) -> np.ndarray:
    """[n, n] Euclidean distances; 0 on the diagonal."""
    square = (z**2).sum(1)
    found = np.sqrt(np.maximum(square[:, None] + square - 2 * z @ z.T, 0))
    np.fill_diagonal(found, 0)
    return found


@dataclass(frozen=True)
class Nested:
    """The clusterings of a tree in 1 to G clusters. labels[K - 1] is that in K."""

    labels: np.ndarray  # [G, m]
    merged: list[tuple[int, int]]  # at K + 1 the clusters a < b that are one at K; the last cluster then is number b


def cut(tree: np.ndarray, most: int) -> Nested:
    """The last merges of a tree of scipy, undone one by one up to `most` clusters."""
    m, finest = len(tree) + 1, min(most, len(tree) + 1)
    pairs = tree[:, :2].astype(int).tolist()
    top = np.arange(2 * m - 1)  # of a node: the node of the finest clustering that it belongs to
    for row in reversed(range(m - finest)):
        top[pairs[row]] = top[m + row]
    roots, own = np.unique(top[:m], return_inverse=True)
    place, labels, merged = {int(root): i for i, root in enumerate(roots)}, [own], []
    for row in range(m - finest, m - 1):
        (a, b), last = sorted(place.pop(node) for node in pairs[row]), 2 * m - 2 - (m + row) + 1
        own = np.where(own == b, a, own)
        own[own == last] = b
        place = {node: b if at == last else at for node, at in place.items()} | {m + row: a}
        labels.append(own)
        merged.append((a, b))
    return Nested(np.stack(labels[::-1]), merged[::-1])


def silhouettes(d: np.ndarray, nested: Nested) -> np.ndarray:
    """[G]: mean silhouette of each of the clusterings; 0 for one cluster. d: [m, m] distances.

    Sums of distances to the finest clusters are added up merge by merge, so that all K take little longer than one.
    """
    own, rows, k = nested.labels[-1], np.arange(len(d)), len(nested.labels)
    member = np.eye(k, dtype=d.dtype)[own]
    sums, sizes = member.T @ d, member.sum(0)  # [G, m], [G]
    within, means = sums[own, rows], sums / sizes[:, None]
    means[own, rows] = np.inf
    found = [_silhouette(within, means, sizes[own])]
    for own, (a, b) in zip(nested.labels[-2:0:-1], nested.merged[:0:-1], strict=True):
        k -= 1
        sums[a] += sums[b]
        sizes[a] += sizes[b]
        sums[b], sizes[b], means[b] = sums[k], sizes[k], means[k]
        inside = own == a
        within[inside] = sums[a, inside]
        means[a] = np.where(inside, np.inf, sums[a] / sizes[a])
        found.append(_silhouette(within, means[:k], sizes[own]))
    return np.array([0.0, *found[::-1]])[: len(nested.labels)]


def _silhouette(within: np.ndarray, means: np.ndarray, size: np.ndarray) -> float:
    """within: [m] sums of distances in the own cluster; means: [K, m] to the clusters, not to the own; size: [m]."""
    own, other = within / np.maximum(size - 1, 1), means.min(axis=0)
    return float(np.where(size == 1, 0.0, (other - own) / np.maximum(np.maximum(own, other), 1e-12)).mean())


@dataclass(frozen=True)
class Member:
    """One resampled tree of clusters."""

    index: np.ndarray  # [m] the samples that it sees
    labels: np.ndarray  # [G, m]
    silhouette: np.ndarray  # [G] of the samples
    smooth: np.ndarray  # [G] of their means with the neighbours
    kept: np.ndarray  # [G]


def cluster_part(z: np.ndarray, index: np.ndarray, most: int, kind: tuple[int, str]) -> Member:
    """The tree of the samples `index`, of that many neighbours and that linkage, in up to `most` clusters."""
    part, (k, link) = z[index], kind
    near = nearest(part, min(k, max(len(part) // 10, 3), len(part) - 1))
    d = distances(smoothed(part, near))
    nested = cut(linkage(squareform(d.astype(np.float64), checks=False), link), most)
    kept = np.array([kept_above_chance(labels, near) for labels in nested.labels])
    return Member(index, nested.labels, silhouettes(distances(part), nested), silhouettes(d, nested), kept)


def members(
    z: np.ndarray, most: int, kinds: Sequence[tuple[int, str]], rng: np.random.Generator, part: float = 1.0
) -> list[Member]:
    """One member of each kind, on a random part of the samples."""
    seen = max(round(part * len(z)), min(len(z), 4))
    return [cluster_part(z, np.sort(rng.permutation(len(z))[:seen]), most, kind) for kind in kinds]


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
    def structure(self) -> float:
        """How many standard deviations of the reference its silhouettes are exceeded by, for the best K."""
        found = []
        for name in ("silhouette", "smooth"):
            clouds = np.stack([_mean(each, name) for each in self.clouds])
            spread = np.sqrt(_near_means(clouds[:, 1:].var(0, ddof=1))) + FLOOR
            found.append(float(((_mean(self.compared, name) - clouds.mean(0))[1:] / spread).max()))
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


def gather(x: np.ndarray, unit: bool, rng: np.random.Generator) -> Evidence:
    """Cluster the centred rows x [n, F] and the reference for every number of clusters. unit: by directions alone.

    The reference is drawn like the rows with their lengths: directions of directions would be another distribution.
    """
    most, some = largest(len(x)), np.sort(rng.permutation(len(x))[:COMPARED])
    z = unit_rows(x) if unit else x
    found = members(z, most, [(k, link) for k in NEIGHBOURS for link in LINKS], rng, PART)
    drawn = [members(cloud, most, MIDDLE, rng) for cloud in clouds(x[some], unit, rng, CLOUDS)]
    return Evidence(list(range(1, most + 1)), found, members(z[some], most, MIDDLE, rng), drawn)


def _near_means(values: np.ndarray) -> np.ndarray:
    """[G]: for each K from 2 on the mean over the numbers from 3/4 to 5/4 of it: twelve draws alone say too little."""
    total, at = np.r_[0, np.cumsum(values)], np.arange(len(values))
    reach = np.maximum((at + 2) // 4, 1)
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(values))
    return (total[high] - total[low]) / (high - low)


def _mean(found: Sequence[Member], name: str) -> np.ndarray:
    """[G]: the mean of a curve of the members."""
    return np.mean([getattr(member, name) for member in found], axis=0)
