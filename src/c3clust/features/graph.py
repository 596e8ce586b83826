"""The fuzzy graph of nearest neighbours of feature vectors, and its diffusion embedding. No true labels, no torch.

The graph is that of UMAP (McInnes, Healy, Melville, https://arxiv.org/abs/1802.03426, section 3.1): each sample has its
own scale, so that dense and sparse clusters weigh alike. The embedding is that of diffusion maps (Coifman, Lafon,
Applied and Computational Harmonic Analysis 21, 2006) with unit rows (Ng, Jordan, Weiss, NIPS 2001).

Shapes: n samples, F dimensions, k neighbours, m eigenvectors.
"""

import numpy as np
from scipy.sparse import csr_array, diags_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from c3clust.features.vectors import nearest, unit_rows

__all__ = ["diffusion", "diffusion_rows", "fuzzy_graph", "neighbour_graph", "sorted_neighbours"]

HALVINGS = 64  # of the interval in which the scale of a sample lies
LEAST = 1e-3  # of the mean distance to neighbours: the smallest scale
TIME = 8  # steps of diffusion
DENSE = 400  # samples up to which all eigenvectors are computed
TOLERANCE = 1e-5  # of eigenvalues
ROUNDS, SPARE = 10, 10  # of subspace iteration, and its further vectors


def neighbour_graph(z: np.ndarray, k: int = 15) -> csr_array:
    """[n, n] weights of the graph of the k nearest neighbours of the rows z."""
    return fuzzy_graph(*sorted_neighbours(z, nearest(z, min(k, len(z) - 1)) if len(z) > 1 else np.zeros((1, 0), int)))


def sorted_neighbours(z: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The neighbours [n, k] of each sample, the nearest first, and their distances [n, k]."""
    columns = [((z - z[column]) ** 2).sum(1, dtype=np.float64) for column in near.T]
    far = np.sqrt(np.stack(columns, axis=1)) if columns else np.zeros(near.shape)
    order = np.argsort(far, axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(far, order, axis=1)


def fuzzy_graph(near: np.ndarray, far: np.ndarray) -> csr_array:
    """[n, n] weights in [0, 1] of the pairs of samples of which one is a neighbour of the other.

    w_ij = exp(-(d_ij - rho_i) / sigma_i), where rho_i is the distance to the nearest sample, and sigma_i makes the sum
    over the k neighbours equal to log2 k. Both directions are joined by w + w' - w w'. near: [n, k]; far: [n, k].
    """
    n, k = near.shape
    if k < 1:
        return csr_array((n, n))
    beyond = far - far.min(1, keepdims=True)
    scale = np.maximum(_scales(beyond), max(LEAST * far.mean(), 1e-12))
    weights = np.exp(-beyond / scale[:, None])
    graph = csr_array((weights.ravel(), (np.repeat(np.arange(n), k), near.ravel())), shape=(n, n))
    return csr_array(graph + graph.T - graph * graph.T)


def _scales(beyond: np.ndarray) -> np.ndarray:
    """[n]: sigma for which the sum of exp(-beyond / sigma) over the k neighbours is log2 k, by bisection."""
    low, high = np.zeros(len(beyond)), np.maximum(beyond.max(1), 1e-12) * beyond.shape[1]
    for _ in range(HALVINGS):
        middle = np.maximum((low + high) / 2, 1e-300)
        above = np.exp(-beyond / middle[:, None]).sum(1) > np.log2(beyond.shape[1])
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return high


def diffusion(graph: csr_array, m: int, seed: int, *, crowded: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The min(m, n) largest eigenvalues, descending, and eigenvectors [n, m] of D^-1/2 A D^-1/2.

    A: the weights `graph`; D: their sums. Each connected component is solved alone: it has the eigenvalue 1 once, and
    repeated eigenvalues are what Lanczos iteration misses. Of equal ones, those of larger components come first.
    crowded: more than m eigenvalues are near 1. Lanczos iteration would take very long to tell them apart, and some
    of the space of their eigenvectors is enough: they are approximate.
    """
    n = graph.shape[0]
    m, root = min(m, n), np.sqrt(np.maximum(graph.sum(1), 1e-12))
    scaled = csr_array(diags_array(1 / root) @ graph @ diags_array(1 / root))
    _, component = connected_components(graph, directed=False)
    sizes = np.bincount(component)
    members = np.split(np.argsort(component, kind="stable"), np.cumsum(sizes)[:-1])
    values: list[np.ndarray] = []
    parts: list[tuple[np.ndarray, np.ndarray]] = []  # samples and entries of an eigenvector
    for own in sorted(members, key=len, reverse=True):
        found, vectors = _largest(scaled[own][:, own] if len(own) < n else scaled, m, seed, crowded)
        values.append(found)
        parts.extend((own, vector) for vector in vectors.T)
    joined = np.concatenate(values)
    order = np.argsort(-joined.round(9), kind="stable")[:m]
    embedded = np.zeros((n, m))
    for column, at in enumerate(order):
        own, vector = parts[at]
        embedded[own, column] = vector
    return joined[order], embedded


def _largest(a: csr_array, m: int, seed: int, crowded: bool) -> tuple[np.ndarray, np.ndarray]:
    """The min(m, n) largest eigenvalues, descending, and eigenvectors of the symmetric [n, n] a."""
    n = a.shape[0]
    m = min(m, n)
    if n > DENSE and m < n // 3 and crowded:
        values, vectors = _subspace(a, m + SPARE, seed)
    elif n > DENSE and m < n // 3:
        start = np.random.default_rng(seed).random(n)
        shifted = a + diags_array(np.ones(n))  # ARPACK's tolerance is relative: no eigenvalue should be near 0
        try:
            values, vectors = eigsh(shifted, m, which="LA", v0=start, tol=TOLERANCE)
        except ArpackNoConvergence:
            values, vectors = eigsh(shifted, m, which="LA", v0=start, tol=100 * TOLERANCE, ncv=min(4 * m + 40, n))
        values = values - 1
    else:
        values, vectors = np.linalg.eigh(a.toarray())
    order = np.argsort(-values, kind="stable")[:m]
    return np.minimum(values[order], 1.0), vectors[:, order]


def _subspace(a: csr_array, m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """About the m largest eigenvalues and eigenvectors, by subspace iteration: its time is known in advance."""
    n = a.shape[0]
    shifted = a + diags_array(np.ones(n))  # no eigenvalue is negative
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(n, m)))[0]
    for _ in range(ROUNDS):
        q = np.linalg.qr(shifted @ (shifted @ q))[0]
    values, turn = np.linalg.eigh(q.T @ (a @ q))
    return values, q @ turn


def diffusion_rows(values: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """[n, m] unit rows of the eigenvectors, each weighted by its eigenvalue to the power TIME; no negative ones."""
    return unit_rows(vectors * np.maximum(values, 0) ** TIME).astype(np.float32)
