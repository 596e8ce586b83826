"""Clusterings of the graph of neighbours: how well the weakest cluster is found again, and the eigenvalues.

For some numbers of clusters K, k-means on the diffusion embedding of all samples (features/graph.py), and of two random
parts of them with fewer and with more neighbours.

Shapes: n samples, G numbers of clusters.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from c3clust.features.graph import diffusion, diffusion_rows, neighbour_graph
from c3clust.features.n_clusters.cloud import clouds
from c3clust.features.vectors import unit_rows

__all__ = ["Partitions", "found_again", "partitions"]

GRID = (*range(2, 17), 18, 20, 22, 25, 28, 31, 35, 40, 50, 63, 80, 100)
MOST = 1000  # samples that are looked at
NEIGHBOURS = 15
PARTS = (10, 20)  # neighbours in the graphs of the two parts
PART = 0.7  # of the samples that a part has
DIMENSIONS = 101  # eigenvectors at most


@dataclass(frozen=True)
class Partitions:
    """What was measured for the G numbers of clusters `ks`."""

    ks: list[int]
    weakest: np.ndarray  # [G]: Jaccard index of the cluster that is found again worst, mean of the parts
    eigenvalues: np.ndarray  # [DIMENSIONS] of the diffusion, descending; beyond those computed, the last of them
    cloud: np.ndarray  # those of one cloud without clusters


def partitions(x: np.ndarray, unit: bool, rng: np.random.Generator) -> Partitions:
    """Cluster the centred rows x [n, F] for the numbers of the grid. unit: by directions alone."""
    x = x[np.sort(rng.permutation(len(x))[:MOST])]
    z, n, seed = unit_rows(x) if unit else x, len(x), int(rng.integers(2**31))
    part = max(round(PART * n), min(n, 4))
    ks = [k for k in GRID if k <= max(n // 4, 2) and k < part]
    values, vectors = _embedding(z, NEIGHBOURS, ks, seed)
    labels, weakest = _labels(values, vectors, ks, seed, 2), []
    for neighbours in PARTS:
        index = np.sort(rng.permutation(n)[:part])
        again = _labels(*_embedding(z[index], neighbours, ks, seed), ks, seed, 1)
        weakest.append([found_again(a[index], b).min() for a, b in zip(labels, again, strict=True)])
    cloud = _embedding(clouds(x, unit, rng, 1)[0], NEIGHBOURS, ks, seed)[0]
    return Partitions(ks, np.mean(weakest, axis=0), _padded(values), _padded(cloud))


def _embedding(z: np.ndarray, k: int, ks: Sequence[int], seed: int) -> tuple[np.ndarray, np.ndarray]:
    return diffusion(neighbour_graph(z, k), min(2 * max(ks) + 1, DIMENSIONS), seed)


def _padded(values: np.ndarray) -> np.ndarray:
    return np.pad(np.maximum(values, 0), (0, DIMENSIONS - len(values)), mode="edge")


def _labels(values: np.ndarray, vectors: np.ndarray, ks: Sequence[int], seed: int, starts: int) -> list[np.ndarray]:
    """For each number of clusters the labels [n] of k-means in the embedding."""
    found = []
    for k in ks:
        rows = diffusion_rows(values[: 2 * k + 1], vectors[:, : 2 * k + 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer distinct rows than clusters
            means = KMeans(k, n_init=starts, random_state=seed, max_iter=60, tol=1e-3).fit(rows)
        found.append(means.labels_)
    return found


def found_again(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """For each cluster of the labels a [n] its largest Jaccard index with a cluster of the labels b [n].

    Hennig, Computational Statistics & Data Analysis 52, 2007.
    """
    a, b = (np.unique(labels, return_inverse=True)[1] for labels in (a, b))
    common = np.zeros((a.max() + 1, b.max() + 1))
    np.add.at(common, (a, b), 1)
    return (common / (common.sum(1)[:, None] + common.sum(0) - common)).max(1)
