"""Clusterings of feature vectors by methods of different kinds, each with errors of its own.

- "graph": k-means in the diffusion embedding of the graph of neighbours (features/graph.py);
- "merged": many small clusters of that embedding, of which those with the strongest links become one. They may differ
  much in size, where k-means divides large clusters;
- k-means, k-means and average linkage of rows that are averaged over their neighbours, and a Gaussian mixture.

Shapes: n samples, F features, K clusters, k neighbours.
"""

import threading
import warnings
from contextlib import ExitStack

import numpy as np
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from c3clust.features.graph import diffusion, diffusion_rows, fuzzy_graph
from c3clust.features.vectors import unit_rows

__all__ = ["average", "embeddings", "graph_labels", "kmeans", "merged_labels", "mixture"]

GRAPHS = (10, 15, 25)  # neighbours of a sample: one graph each
SMALL = 3  # times K: small clusters that are merged
WIDEST = 128  # eigenvectors at most
FEW = 32  # clusters up to which k-means has all its starts: the sums of squares of many differ little
ANCHORS = 3000  # samples whose tree is computed
COMPONENTS = 12  # principal components of a mixture at most
SHAPES = ("full", "tied", "diag", "spherical")  # of its covariances; the best by BIC is taken
FITTED = 5000  # samples that a mixture is fitted to


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
    """scikit-learn's k-means; fewer distinct samples than clusters are no reason for a warning here."""
    n_init = n_init if K <= FEW else max(1, n_init // 3)
    with QUIET:
        return KMeans(K, n_init=n_init, random_state=seed).fit(z)


def embeddings(near: np.ndarray, far: np.ndarray, K: int, seed: int) -> list[tuple[csr_array, np.ndarray]]:
    """The graph of each number of neighbours and the rows [n, m] of its diffusion embedding. near, far: [n, k]."""
    found = []
    for k in sorted({min(k, near.shape[1]) for k in GRAPHS}):
        graph = fuzzy_graph(near[:, :k], far[:, :k])
        few = diffusion(graph, min(SMALL * K + 2, WIDEST), seed, crowded=K > WIDEST)
        found.append((graph, diffusion_rows(*few)))
    return found


def graph_labels(rows: np.ndarray, K: int, seed: int) -> np.ndarray:
    """[n]: k-means in the first 2 K + 1 dimensions of the embedding."""
    return kmeans(unit_rows(rows[:, : 2 * K + 1]), K, seed, n_init=5).labels_


def merged_labels(graph: csr_array, rows: np.ndarray, K: int, seed: int) -> list[np.ndarray]:
    """Two clusterings [n] of small clusters that are merged by their links on the graph, until K are left."""
    small = min(SMALL * K, len(rows) // 4)
    labels = kmeans(rows, max(small, K), seed, n_init=5).labels_
    return [merged(graph, labels, K, power) for power in (0.5, 1.0)]


def merged(graph: csr_array, labels: np.ndarray, K: int, power: float) -> np.ndarray:
    """[n]: the two clusters with the strongest link become one, until K are left.

    The link of a and b is the weight between them, over (|a| |b|)^power: 1 is the mean over pairs of samples, .5 lets
    large clusters grow.
    """
    labels = np.unique(labels, return_inverse=True)[1]
    one = csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    weight, size = (one.T @ graph @ one).toarray(), np.bincount(labels).astype(float)
    group = np.arange(len(size))
    for _ in range(len(size) - K):
        strength = weight / np.outer(size, size) ** power
        np.fill_diagonal(strength, -1)
        a, b = np.unravel_index(strength.argmax(), strength.shape)
        weight[a] += weight[b]
        weight[:, a] += weight[:, b]
        size[a], size[b] = size[a] + size[b], np.inf
        weight[b], weight[:, b] = -1, -1
        group[group == b] = a
    return np.unique(group[labels], return_inverse=True)[1]


def average(rows: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """[n]: average linkage of some of the rows; the others join the nearest mean."""
    anchors = rng.permutation(len(rows))[: max(ANCHORS, 2 * K)]
    labels = cut_tree(linkage(rows[anchors], "average"), K)[:, 0]
    means = np.stack([rows[anchors][labels == c].mean(0) for c in range(labels.max() + 1)])
    found = ((means**2).sum(1) - 2 * rows @ means.T).argmin(1)
    found[anchors] = labels
    return found


def mixture(x: np.ndarray, K: int, seed: int) -> np.ndarray:
    """[n]: the Gaussian mixture of the principal components whose covariances have the shape of the lowest BIC."""
    width = min(COMPONENTS, x.shape[1], max(2, len(x) // (5 * K)))
    rows = PCA(min(width, len(x)), random_state=seed).fit_transform(x).astype(np.float64)
    rows /= max(float(rows.std()), 1e-12)
    some = rows[np.random.default_rng(seed).permutation(len(rows))[:FITTED]]
    least = 1e-3 * float(rows.var(axis=0).mean())
    with QUIET:
        models = [
            GaussianMixture(K, covariance_type=shape, n_init=3, random_state=seed, reg_covar=least, max_iter=200)
            for shape in SHAPES
        ]
        return min((model.fit(some) for model in models), key=lambda model: model.bic(some)).predict(rows)
