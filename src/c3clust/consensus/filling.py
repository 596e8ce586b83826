"""K clusters are K clusters: one that no sample is assigned to is filled by splitting another.

Heads without pressure towards equal sizes may leave a cluster empty. Fewer clusters keep more neighbours together and
agree more, so a result with empty clusters must not be compared with one that has none.

Shapes: n samples, F dimensions, M members, f dimensions seen by each, K clusters, k neighbours.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.cluster.hierarchy import fcluster, linkage

from c3clust.consensus.heads import member_rows
from c3clust.networks.voting import VotingHeads

__all__ = ["fill_clusters", "votes"]

ROUNDS = 5  # each fills as many clusters as there are clusters to split
ODDS = 3.0  # logarithm of the odds between the two parts at their means
CUTS = 7  # branches into which the tree of a cluster is cut at most
LEAST = 3  # samples of a branch, so that an outlier is no cluster
BLOCK = 1024  # samples that all members vote on at a time
ANCHORS = 1500  # samples of a cluster whose tree is computed


@dataclass(frozen=True)
class Split:
    """A cluster, the samples that leave it [n, bool], and how far apart the two parts are."""

    cluster: int
    leaving: np.ndarray
    separation: float


def fill_clusters(network: VotingHeads, z: np.ndarray) -> np.ndarray:
    """Give a head to each empty cluster, in place; the votes [n, K] of the result. z: [n, F], as the network projects.

    The branch of an average linkage tree whose mean is furthest from that of the rest, relative to their spread,
    leaves. Of splits by k-means or Ward, chosen by the neighbours cut or the sum of squares, none was better: they
    divide large clusters (docs/FOLDERS.md).
    """
    mean = votes(network, z)
    for _ in range(ROUNDS):
        labels = mean.argmax(1)
        empty = np.flatnonzero(np.bincount(labels, minlength=network.n_clusters) == 0)
        splits = best_splits(labels, z, len(empty)) if len(empty) else []
        if not splits:
            break
        for cluster, split in zip(empty, splits, strict=False):
            add_head(network, z, labels, split, int(cluster))
        mean = votes(network, z)
    return mean


def votes(network: VotingHeads, z: np.ndarray) -> np.ndarray:
    """[n, K] for z [n, F]; the assignments of all members are in memory for some samples at a time."""
    return torch.cat([network.vote(rows) for rows in torch.from_numpy(z).split(BLOCK)]).numpy()


def best_splits(labels: np.ndarray, z: np.ndarray, most: int) -> list[Split]:
    """One split for each cluster that has two different samples, the most separate one first."""
    found = [split_of(int(cluster), labels, z) for cluster in np.unique(labels)]
    return sorted((split for split in found if split is not None), key=lambda split: -split.separation)[:most]


def split_of(cluster: int, labels: np.ndarray, z: np.ndarray) -> Split | None:
    """The most separate branch of the cluster's tree; None if all its samples are equal."""
    own = np.flatnonzero(labels == cluster)
    if len(own) < 2 or (z[own] == z[own[0]]).all():
        return None
    anchors = own[:: -(-len(own) // ANCHORS)]
    branch = max(branches(z[anchors]), key=lambda inside: separation(z[anchors], inside))
    if 2 * branch.sum() > len(branch):  # the smaller part leaves
        branch = ~branch
    new, old = z[anchors[branch]].mean(axis=0), z[anchors[~branch]].mean(axis=0)
    leaving = np.zeros(len(labels), dtype=bool)
    leaving[own] = z[own] @ (new - old) > (new - old) @ (new + old) / 2
    leaving[anchors] = branch
    return Split(cluster, leaving, separation(z[anchors], branch))


def branches(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Masks [n]: the branches of the average linkage tree of the rows that have enough samples; at least one."""
    tree, least = linkage(rows, "average"), min(LEAST, len(rows) // 2)
    some = False
    for count in range(2, min(CUTS, len(rows)) + 1):
        labels = fcluster(tree, count, "maxclust")
        for inside in (labels == branch for branch in np.unique(labels)):
            if least <= inside.sum() <= len(rows) - least:
                some = True
                yield inside
    if not some:
        yield fcluster(tree, 2, "maxclust") == 1


def separation(rows: np.ndarray, inside: np.ndarray) -> float:
    """Squared distance of the means of the two parts, divided by their pooled variance."""
    parts = rows[inside], rows[~inside]
    apart = float(((parts[0].mean(axis=0) - parts[1].mean(axis=0)) ** 2).sum())
    return apart / max(sum(len(part) * float(part.var(axis=0).sum()) for part in parts) / len(rows), 1e-12)


def add_head(network: VotingHeads, z: np.ndarray, labels: np.ndarray, split: Split, cluster: int) -> None:
    """The head of the samples that leave: that of their cluster, plus a direction from those that stay to them."""
    staying = (labels == split.cluster) & ~split.leaving
    rows = member_rows(z, network.dims.numpy(), bool(network.unit))  # [M, n, f]
    new, old = rows[:, split.leaving].mean(axis=1), rows[:, staying].mean(axis=1)  # [M, f]
    apart = new - old
    direction = 2 * ODDS * apart / np.maximum((apart**2).sum(axis=1, keepdims=True), 1e-12)
    middle = (direction * (new + old) / 2).sum(axis=1)  # [M]
    network.weight[:, cluster] = network.weight[:, split.cluster] + torch.from_numpy(direction.astype(np.float32))
    network.bias[:, cluster] = network.bias[:, split.cluster] - torch.from_numpy(middle.astype(np.float32))
