"""SC: self-tuning spectral clustering of raw pixels or features.

Zelnik-Manor, Perona, NIPS 2004. Each sample is joined to its nearest neighbours, with a weight that is measured
against the distances around both; the graph's leading eigenvectors are clustered by k-means.
Departures from the paper: the affinity is kept for neighbours only, and k-means takes the place of the rotation.
"""

from typing import ClassVar, final

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import eigsh
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

from c3clust import checks
from c3clust.methods._base import Clusterer, parameters
from c3clust.networks.readouts import Neighbours
from c3clust.training import TrainingContext

__all__ = ["SC"]

DENSE = 2000  # samples; up to here all eigenvectors are computed at once, which never misses a repeated eigenvalue


def locally_scaled_affinity(x: np.ndarray, n_neighbors: int, scale_neighbor: int) -> csr_array:
    """A_ij = exp(-d_ij² / (σ_i σ_j)) where i or j is among the other's neighbours, else 0; A_ii = 0.

    σ_i is the distance of sample i [n, D] to its `scale_neighbor`-th neighbour.
    """
    n = len(x)
    k = min(n_neighbors, n - 1)
    distance, index = NearestNeighbors(n_neighbors=k).fit(x).kneighbors()
    sigma = distance[:, min(scale_neighbor, k) - 1].clip(1e-12)
    weight = np.exp(-np.square(distance) / (sigma[:, None] * sigma[index]))
    a = csr_array((weight.ravel(), (np.repeat(np.arange(n), k), index.ravel())), shape=(n, n))
    return a.maximum(a.T)


def spectral_embedding(a: csr_array, width: int, seed: int) -> np.ndarray:
    """The `width` leading eigenvectors of D^(-1/2) A D^(-1/2), rows of unit length: [n, width]."""
    n = a.shape[0]
    d = 1 / np.sqrt(a.sum(axis=1).clip(1e-12))
    graph = diags_array(d) @ a @ diags_array(d)
    if n <= max(DENSE, 2 * width):
        _, v = eigh(graph.toarray(), subset_by_index=(n - width, n - 1))
    else:
        _, v = eigsh(graph, k=width, which="LA", v0=np.random.RandomState(seed).uniform(-1, 1, n))
    return v / np.linalg.norm(v, axis=1, keepdims=True).clip(1e-12)


@final
@parameters
class SC(Clusterer):
    """Cluster raw pixels or features with self-tuning spectral clustering.

    The method labels the samples it is fitted on and no others: a new sample gets the label of the nearest of them.
    They are therefore part of a saved model, and in memory all at once. Time and memory suit up to 20,000 samples.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours that a sample is joined to.
    scale_neighbor : int, default=7
        The neighbour whose distance is a sample's σ; 7 in the paper.
    n_init : int, default=20
        Starts of k-means.

    References
    ----------
    Zelnik-Manor, Perona. Self-tuning spectral clustering. NIPS 2004.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from c3clust.methods.sc import SC
    >>> x, y = make_circles(200, factor=0.4, random_state=0)
    >>> labels = SC(n_clusters=2, random_state=0).fit_predict(x)
    >>> bool((labels == y).all() or (labels != y).all())
    True
    """

    standardise: ClassVar[float] = 0
    chooses_k: ClassVar[bool] = True

    n_neighbors: int = 10
    scale_neighbor: int = 7
    n_init: int = 20

    def _check_params(self) -> None:
        checks.whole("n_neighbors", self.n_neighbors, why="it is the number of neighbours. A usual value is 10.")
        checks.whole("scale_neighbor", self.scale_neighbor, why="it is the rank of a neighbour. A usual value is 7.")
        checks.whole("n_init", self.n_init, why="it is the number of k-means starts. A usual value is 20.")

    def _build_network(self, shape: tuple[int, ...]) -> Neighbours:
        return Neighbours(self.n_clusters_, int(np.prod(shape)))

    def _fit(self, context: TrainingContext) -> Neighbours:
        pixels = context.pixels()
        self._choose_clusters(pixels, context)
        a = locally_scaled_affinity(pixels, self.n_neighbors, self.scale_neighbor)
        v = spectral_embedding(a, self.n_clusters_, context.seed)
        network = self._build_network(context.shape)
        network.store(pixels, KMeans(self.n_clusters_, n_init=self.n_init, random_state=context.seed).fit_predict(v))
        return network
