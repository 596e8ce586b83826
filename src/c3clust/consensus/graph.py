"""Clusters of learned features: the partition of their graph of neighbours with the least normalised cut.

    cost(c) = Ncut(c) + 30 prior (log M - H(sizes)),    Ncut(c) = Σ_m cut(m, rest) / vol(m)

A cluster counts by its own volume, so rare classes count as much as frequent ones. The prior (0: any sizes) is the
largest one at which members that see random parts of the features agree nearly as much as they ever do; they vote, and
their shares are the confidence.

Shapes: n samples, F features h, D projections z, M clusters, k neighbours.

References: Shi, Malik. Normalized cuts and image segmentation. PAMI 2000. Dhillon, Guan, Kulis. Weighted graph cuts
without eigenvectors. PAMI 2007 (the descent).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from scipy.special import xlogy

from c3clust import dist
from c3clust.consensus.members import kmeans
from c3clust.consensus.votes import consensus
from c3clust.features.vectors import nearest as nearest_neighbours
from c3clust.features.vectors import unit_rows
from c3clust.networks.readouts import nearest, spherical_kmeans

__all__ = ["Reading", "neighbour_graph", "normalised_cut", "read_clusters"]

NEIGHBOURS = 10
FINER = (3, 6)  # times M: small clusters that are merged
LINKS = ("weaker", "both")  # how the links of two clusters are normalised when they are merged
STARTS = 3  # of k-means for each number of clusters
SWEEPS = 20  # of the descent at most
MEMBERS = 6  # readings of random parts of the features, whose agreement is the confidence
PART = 0.25  # of the features that a member sees, but at least
LEAST = 64  # of them, or all
KEPT = 3  # partitions whose groups are moved
NEARLY = 0.015  # less agreement than at the best prior
EVEN = 30.0  # weight of the imbalance of the sizes relative to the cut, for the prior 1
PRIORS = (0.0, 0.01, 1 / 30, 0.1, 1 / 3, 1.0)


@dataclass(frozen=True)
class Reading:
    """The vote of the members, and how sure it is."""

    labels: np.ndarray  # [n]
    confidence: np.ndarray  # [n] fraction of the votes for the label
    prior: float
    agreement: dict[float, float]  # mean fraction of the votes, for each prior
    members: np.ndarray  # [M, n] the labels of each member


def neighbour_graph(u: np.ndarray, k: int = NEIGHBOURS) -> sp.csr_matrix:
    """Symmetric weights [n, n]: the fraction of neighbours that two samples have in common, if one is the other's.

    w_ij = |N_i and N_j| / |N_i or N_j| with N_i the k nearest of i, and i. A wrong neighbour shares few.
    """
    n, k = len(u), min(k, len(u) - 1)
    near = np.c_[np.arange(n), nearest_neighbours(u, k)]
    a = sp.csr_matrix((np.ones(near.size, dtype=np.float32), (np.repeat(np.arange(n), k + 1), near.ravel())), (n, n))
    common = (a @ a.T).multiply((a + a.T) > 0).tocsr()
    common.setdiag(0)
    common.eliminate_zeros()
    common.data = common.data / (2 * (k + 1) - common.data)
    return common


def one_hot(labels: np.ndarray, m: int) -> sp.csr_matrix:
    """[n, m] one-hot."""
    n = len(labels)
    return sp.csr_matrix((np.ones(n, dtype=np.float32), (np.arange(n), labels)), (n, m))


def normalised_cut(w: sp.csr_matrix, labels: np.ndarray, m: int) -> float:
    """sum_m cut(m, rest) / vol(m); an empty part counts 1, the most that a part can."""
    one = one_hot(labels, m)
    links = (one.T @ w @ one).toarray()  # [m, m]
    volume = links.sum(axis=1)
    return float(np.where(volume > 0, 1 - links.diagonal() / volume.clip(1e-12), 1.0).sum())


def lower_cut(w: sp.csr_matrix, labels: np.ndarray, m: int) -> np.ndarray:
    """Descend the normalised cut: weighted kernel k-means on the graph, until nothing moves or a part would empty."""
    degree = np.asarray(w.sum(axis=1)).ravel().clip(1e-12)
    for _ in range(SWEEPS):
        one = one_hot(labels, m)
        links = (w @ one).toarray()  # [n, m]
        volume = (one.T @ degree).clip(1e-12)
        within = np.bincount(labels, weights=links[np.arange(len(labels)), labels], minlength=m)
        moved = (within / volume**2 - 2 * links / (degree[:, None] * volume)).argmin(axis=1)
        if (moved == labels).all() or np.bincount(moved, minlength=m).min() == 0:
            break
        labels = moved
    return labels


def merged(w: sp.csr_matrix, labels: np.ndarray, m: int, link: str) -> np.ndarray:
    """Merge clusters, the two with the strongest link first, until m are left.

    The link of a and b is the weight between them, divided by the size of the smaller one ("weaker"), or by the
    geometric mean of both sizes ("both").
    """
    labels = np.unique(labels, return_inverse=True)[1]
    one = one_hot(labels, labels.max() + 1)
    weight, size = (one.T @ w @ one).toarray().astype(np.float64), np.bincount(labels).astype(np.float64)
    group = np.arange(len(size))
    for _ in range(len(size) - m):
        norm = np.minimum(size[:, None], size) if link == "weaker" else np.sqrt(size[:, None] * size)
        strength = weight / norm.clip(1e-12)
        np.fill_diagonal(strength, -1)
        strength[size == 0] = -1
        strength[:, size == 0] = -1
        a, b = np.unravel_index(strength.argmax(), strength.shape)
        weight[a] += weight[b]
        weight[:, a] += weight[:, b]
        size[a], size[b] = size[a] + size[b], 0
        group[group == b] = a
    return np.unique(group[labels], return_inverse=True)[1]


@dataclass(frozen=True)
class Grouped:
    """A partition whose parts are divided into small groups of samples."""

    group: np.ndarray  # [n]
    part: np.ndarray  # [G] of each group
    links: np.ndarray  # [G, G] weight between groups
    size: np.ndarray  # [G]

    @classmethod
    def of(cls, w: sp.csr_matrix, labels: np.ndarray, groups: np.ndarray, m: int) -> "Grouped":
        group = np.unique(groups * m + labels, return_inverse=True)[1]  # the part of a group that lies in one part
        one = one_hot(group, group.max() + 1)
        size, part = np.bincount(group).astype(np.float64), np.zeros(group.max() + 1, dtype=np.int64)
        part[group] = labels
        return cls(group, part, (one.T @ w @ one).toarray().astype(np.float64), size)


def moved_groups(found: Grouped, m: int, prior: float) -> np.ndarray:
    """Move small groups of samples from part to part, the best move first, while the cost Ncut + prior * uneven falls.

    A style of a class (ones with a foot) is an island between two parts: no single sample of it gains by moving.
    Within-part links, volumes and sizes change by a group's own, so all moves are weighed at once: [groups, M].
    """
    part, s, size = found.part.copy(), found.links, found.size
    degree, inner, rows, n = s.sum(axis=1), s.diagonal(), np.arange(len(size)), len(found.group)
    for _ in range(len(size)):
        a = np.eye(m)[part]
        link = s @ a  # [G, M]
        within, volume, count = (a * link).sum(axis=0), a.T @ degree, a.T @ size
        old = _part_cost(within, volume, count / n, prior)  # [M]
        left = _part_cost(
            within[part] - 2 * link[rows, part] + inner, volume[part] - degree, (count[part] - size) / n, prior
        )
        joined = _part_cost(
            within + 2 * link + inner[:, None], volume + degree[:, None], (count + size[:, None]) / n, prior
        )
        gain = (left - old[part])[:, None] + joined - old
        gain[rows, part] = 0
        gain[count[part] == size] = 0  # the last group of a part stays
        g, to = np.unravel_index(gain.argmin(), gain.shape)
        if gain[g, to] > -1e-9:
            break
        part[g] = to
    return part[found.group]


def _part_cost(within: np.ndarray, volume: np.ndarray, share: np.ndarray, prior: float) -> np.ndarray:
    """A part's fraction of Ncut + prior * (log M - H)."""
    return 1 - within / volume.clip(1e-12) + prior * xlogy(share.clip(0), share.clip(1e-12))


def spectral(w: sp.csr_matrix, m: int, seed: int) -> np.ndarray:
    """k-means in the unit rows of the m largest eigenvectors of D^-1/2 W D^-1/2."""
    degree = np.asarray(w.sum(axis=1)).ravel().clip(1e-9)
    scale = sp.diags(degree**-0.5)
    vectors = eigsh((scale @ w @ scale).astype(np.float64), m, v0=np.ones(len(degree)), tol=1e-4)[1]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)
    return kmeans(vectors, m, seed, n_init=10).labels_


def _clusters(u: np.ndarray, m: int, seed: int, starts: int = 1) -> np.ndarray:
    """Labels [n] by spherical k-means."""
    return nearest(u, spherical_kmeans(u, m, seed, starts=starts))


def small_clusters(u: np.ndarray, m: int, seed: int) -> list[np.ndarray]:
    """Labels [n] of the numbers of clusters FINER that are few enough for this number of samples."""
    return [_clusters(u, times * m, seed) for times in FINER if times * m <= len(u) // 3]


def starts(
    spaces: dict[str, np.ndarray], fine: Sequence[Sequence[np.ndarray]], w: sp.csr_matrix, m: int, seed: int
) -> dict[str, np.ndarray]:
    """Labels [n] by name: k-means, small clusters (`fine`, of each space) merged, spectral.

    `spaces` hold unit rows [n, D].
    """
    found: dict[str, np.ndarray] = {}
    for (name, u), pieces in zip(spaces.items(), fine, strict=True):
        found[f"k-means in {name}"] = _clusters(u, m, seed, STARTS)
        for times, small in zip(FINER, pieces, strict=False):
            found |= {f"{times} M merged in {name}, {link}": merged(w, small, m, link) for link in LINKS}
    if m + 1 < w.shape[0]:
        found["spectral"] = spectral(w, m, seed)
    filled = {name: labels for name, labels in found.items() if np.bincount(labels, minlength=m).min() > 0}
    return filled or found


def unevenness(labels: np.ndarray, m: int) -> float:
    """log M - H(sizes)."""
    share = np.bincount(labels, minlength=m) / len(labels)
    return math.log(m) + float(xlogy(share, share).sum())


def cost(w: sp.csr_matrix, labels: np.ndarray, m: int, weight: float) -> float:
    """Ncut + weight (log M - H(sizes))."""
    return normalised_cut(w, labels, m) + weight * unevenness(labels, m)


def partitions(spaces: dict[str, np.ndarray], m: int, seed: int, priors: Sequence[float]) -> dict[float, np.ndarray]:
    """For each prior, the labels of least cost: from every start down the graph of the first space, then by groups."""
    u = next(iter(spaces.values()))
    w = neighbour_graph(u)
    fine = [small_clusters(space, m, seed) for space in spaces.values()]
    found = [lower_cut(w, labels, m) for labels in starts(spaces, fine, w, m, seed).values()]
    groups = fine[0][-1] if FINER[-1] * m <= len(u) // 3 else _clusters(u, max(len(u) // 3, 1), seed)
    terms = [(normalised_cut(w, labels, m), unevenness(labels, m)) for labels in found]
    grouped: dict[int, Grouped] = {}  # of the partitions whose groups are moved
    best = {}
    for prior in priors:
        weight = EVEN * prior
        costs = [cut + weight * uneven for cut, uneven in terms]
        first = sorted(range(len(found)), key=costs.__getitem__)[:KEPT]
        for i in first:
            if i not in grouped:
                grouped[i] = Grouped.of(w, found[i], groups, m)
        moved = [moved_groups(grouped[i], m, weight) for i in first]
        costs = [costs[i] for i in first] + [cost(w, labels, m, weight) for labels in moved]
        best[prior] = ([found[i] for i in first] + moved)[int(np.argmin(costs))]
    return best


def read_clusters(
    h: np.ndarray, z: np.ndarray, m: int, seed: int, priors: Sequence[float] = PRIORS, n_members: int = MEMBERS
) -> Reading:
    """Clusters of the features h [n, F] (and the unit rows z [n, D]), by the least cost and a vote.

    The first member sees all of h and starts from z too; each other one sees a random quarter of the features, and
    builds its own graph. For each prior every member takes its partition of least cost, and the members vote. Of the
    priors whose members agree nearly as much as at the best one, the largest is taken: even clusters, unless these are
    clearly less stable than uneven ones.
    """
    random, width = np.random.RandomState(seed), max(LEAST, round(PART * h.shape[1]))
    seen = [np.arange(h.shape[1]), *(random.permutation(h.shape[1])[:width] for _ in range(n_members))]

    def member(number: int) -> dict[float, np.ndarray]:
        part = h if number == 0 else h[:, seen[number]]
        spaces = {"h": unit_rows(part - part.mean(axis=0))} | ({} if number else {"z": z})
        return partitions(spaces, m, seed + number, priors)

    found = dist.shared_map(member, list(range(n_members + 1)), threads=True)
    votes = {prior: consensus(np.eye(m)[[each[prior] for each in found]])[1] for prior in priors}
    agreement = {prior: float(shares.max(axis=1).mean()) for prior, shares in votes.items()}
    prior = max(p for p in priors if agreement[p] >= max(agreement.values()) - NEARLY)
    each = np.stack([partition[prior] for partition in found])
    return Reading(votes[prior].argmax(axis=1), votes[prior].max(axis=1), prior, agreement, each)
