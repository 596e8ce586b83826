"""Which clusters would merge next, and which would split first."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from c3clust.features.n_clusters.evidence import MIDDLE, cluster_part, distances
from c3clust.features.vectors import lengths_alike, scale_rows

__all__ = ["Tree", "cluster_tree"]

MOST = 2000  # samples that are looked at; of more, a random part
FEW = 8  # samples of a cluster that may split, at least


@dataclass(frozen=True)
class Tree:
    """Clusters by number; a cluster that was merged from others is a list of them."""

    merges: list[tuple[list[int], list[int], float]]  # two groups of clusters and their distance, nearest first
    splits: list[tuple[int, int, int, float]]  # cluster, the sizes of its two parts, their silhouette; clearest first

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)


def cluster_tree(x: Any, labels: np.ndarray, *, seed: int) -> Tree:
    """The tree of the clusters `labels` [n] of the features x [n, F]."""
    index = np.sort(np.random.default_rng(seed).permutation(len(x))[:MOST])
    x, labels = np.asarray(x[index], dtype=np.float32), labels[index]
    z = scale_rows(x, lengths_alike(x))[0]
    return Tree(_merges(distances(z), labels), _splits(z, labels))


def _merges(d: np.ndarray, labels: np.ndarray) -> list[tuple[list[int], list[int], float]]:
    """Average linkage that starts from the clusters, on the energy distance of their samples.

    That is the mean distance between two clusters less the mean distance within them (Szekely, Rizzo, Journal of
    Classification 22, 2005): 0 for two parts of the same cloud, however wide it is.
    """
    clusters, at = np.unique(labels, return_inverse=True)
    if len(clusters) < 2:
        return []
    member = np.eye(len(clusters), dtype=d.dtype)[at]
    size = member.sum(0)
    mean = (member.T @ d @ member) / np.outer(size, size)  # [K, K]
    within = mean.diagonal()
    between = np.maximum(mean - (within[:, None] + within) / 2, 0)
    np.fill_diagonal(between, 0)
    groups, found = [[int(c)] for c in clusters], []
    for a, b, height, _ in linkage(squareform((between + between.T).astype(np.float64) / 2, checks=False), "average"):
        found.append((groups[int(a)], groups[int(b)], round(float(height), 4)))
        groups.append(sorted(groups[int(a)] + groups[int(b)]))
    return found


def _splits(z: np.ndarray, labels: np.ndarray) -> list[tuple[int, int, int, float]]:
    """Each cluster of enough samples in two, by Ward's criterion; the silhouette says how clear the parts are."""
    found = []
    for cluster in np.unique(labels):
        index = np.flatnonzero(labels == cluster)
        if len(index) >= FEW:
            parts = cluster_part(z, index, 2, MIDDLE[0])
            larger, smaller = sorted(np.bincount(parts.labels[1]).tolist(), reverse=True)
            if parts.silhouette[1] > 0:  # copies have no parts
                found.append((int(cluster), larger, smaller, round(float(parts.silhouette[1]), 4)))
    return sorted(found, key=lambda split: -split[3])
