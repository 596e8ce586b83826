"""Space: the representation z as corrections spread in it.

Rows are scaled, reduced to their principal components, and replaced by the mean of their neighbourhood, which separates
clusters (features/vectors.py). Shapes: n samples, F features, D components.
"""

from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from c3clust.features.vectors import lengths_alike, scale_rows

__all__ = ["Space"]

COMPONENTS = 64
NEIGHBOURS = 10  # besides the sample itself; of few samples, one for each 20
ANCHORS = 10_000  # samples that components are found from, and neighbours among; of more, a random part
BLOCK = 2048  # samples whose neighbours are searched for at a time


class Space:
    """Rows x [n, D], whose squared distances are in units of the mean one within a cluster.

    own: [n, D], the same before they are replaced by means, in other units.
    """

    def __init__(self, z: Any, labels: np.ndarray, seed: int = 0) -> None:
        some = np.sort(np.random.default_rng(seed).permutation(len(z))[:ANCHORS])
        self.own = _reduced(np.asarray(z, dtype=np.float32), some, seed)
        x = _neighbourhood_means(self.own, some)
        self.x = x / np.float32(np.sqrt(2 * max(_variance_within(x, labels), 1e-12)))
        self.square = (self.x**2).sum(1)

    def __len__(self) -> int:
        return len(self.x)

    def distances(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """[rows, others]: squared distances."""
        found = self.square[rows][:, None] + self.square[others] - 2 * self.x[rows] @ self.x[others].T
        return np.maximum(found, 0)

    def means(self, labels: np.ndarray, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
        """The mean [n_clusters, D] and the variance [n_clusters] of each cluster; 0 of an empty one. -1 is no cluster.

        The variance is the mean squared distance from the mean.
        """
        inside = labels >= 0
        size = np.maximum(np.bincount(labels[inside], minlength=n_clusters), 1)
        mean = np.zeros((n_clusters, self.x.shape[1]), np.float32)
        np.add.at(mean, labels[inside], self.x[inside])
        mean /= size[:, None]
        from_mean = ((self.x[inside] - mean[labels[inside]]) ** 2).sum(1)
        return mean, np.bincount(labels[inside], from_mean, n_clusters) / size


def _reduced(z: np.ndarray, some: np.ndarray, seed: int) -> np.ndarray:
    """z [n, F], scaled, in at most COMPONENTS principal components of some of its rows."""
    x = scale_rows(z, lengths_alike(z))[0]
    size = min(COMPONENTS, len(some))
    if x.shape[1] <= size:
        return x
    return PCA(size, svd_solver="randomized", random_state=seed).fit(x[some]).transform(x).astype(np.float32)


def _neighbourhood_means(x: np.ndarray, some: np.ndarray) -> np.ndarray:
    """The mean of the nearest of some rows to each row; the row itself is among them if it is one of these."""
    k, anchors = min(NEIGHBOURS, max(len(x) // 20, 2)) + 1, x[some]
    if len(some) <= k:
        return x
    square, found = (anchors**2).sum(1), np.empty_like(x)
    for i in range(0, len(x), BLOCK):
        near = np.argpartition(square - 2 * x[i : i + BLOCK] @ anchors.T, k - 1, axis=1)[:, :k]
        found[i : i + BLOCK] = anchors[near].mean(1)
    return found


def _variance_within(x: np.ndarray, labels: np.ndarray) -> float:
    """Mean squared distance of the rows from the mean of their cluster."""
    total = 0.0
    for cluster in np.unique(labels[labels >= 0]):
        part = x[labels == cluster]
        total += float(((part - part.mean(0)) ** 2).sum())
    return total / max(int((labels >= 0).sum()), 1)
