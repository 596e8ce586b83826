"""JULE: joint unsupervised learning of representations and image clusters.

Yang, Parikh, Batra, CVPR 2016, https://arxiv.org/abs/1604.03628
Clusters are merged step by step on the graph of nearest neighbours of the features; between rounds of merges the
network is trained on triplets of the clusters found so far. The first clusters are those of the pixels. When M clusters
are left, the trained features are clustered once more from the start.
Shapes: n samples, K_s neighbours, C clusters, N samples per batch, D feature width, K negatives.

Departures from the released code (jwyang/JULE.torch, train.lua and agg_clustering/agg_clustering.lua): a sample has its
20 negatives in common for all its positives; views are trained, samples as they are there (augment="none" gives that);
Adam replaces SGD, and a round has fewer steps; labels, also those of new samples, are those of the nearest mean feature
of the final clusters. As there: flows of merged clusters are added (`use_fast`), and while there are more than 20 M
clusters, those without any affinity join the nearest one first. The first clusters need memory for n C numbers.
"""

from collections.abc import Mapping
from typing import final

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from c3clust import checks, dist
from c3clust.losses.inputs import check_unit_rows
from c3clust.losses.terms import full_precision
from c3clust.methods._base import Clusterer, NetworkFields, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.networks import backbone
from c3clust.networks.heads import Projected
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, TrainingContext

__all__ = ["JULE"]

NEAREST = 5  # clusters that a merge is compared with, K_c
MANY = 100  # clusters, above which it is
ISOLATED = 20  # times M: with more clusters, those without affinity join the nearest one
NEGATIVES = 20  # of a sample


# 1. Affinity and loss


def neighbour_graph(z: np.ndarray, n_neighbors: int) -> csr_array:
    """W_ij = exp(-d_ij² / σ²) for the neighbours j of i, σ² the mean squared distance: [n, n]."""
    n, k = len(z), min(n_neighbors, len(z) - 1)
    distance, index = NearestNeighbors(n_neighbors=k).fit(z).kneighbors()
    weight = np.exp(-np.square(distance) / max(np.square(distance).mean(), 1e-12))
    return csr_array((weight.ravel(), (np.repeat(np.arange(n), k), index.ravel())), shape=(n, n))


def first_clusters(w: csr_array) -> np.ndarray:
    """Each sample with its nearest neighbour: the connected parts of that graph. [n]"""
    nearest = np.array([w.indices[a:b][w.data[a:b].argmax()] for a, b in zip(w.indptr, w.indptr[1:], strict=False)])
    graph = csr_array((np.ones(len(nearest)), (np.arange(len(nearest)), nearest)), shape=w.shape)
    return connected_components(graph, directed=False)[1]


class Merger:
    """Clusters and their affinities A(a, b) = 1ᵀW_ab W_ba 1 / |a|² + 1ᵀW_ba W_ab 1 / |b|².

    `flow[a, b]` is 1ᵀW_ab W_ba 1 = Σ_{i in b} (Σ_{j in a} W_ji)(Σ_{j in a} W_ij): from a to i and back. After a merge
    it is the sum of both flows, which is exact for b, and for a leaves out ways that begin in one part and end in the
    other (the fast version of the paper's appendix).
    """

    def __init__(self, w: csr_array, labels: np.ndarray) -> None:
        members = np.eye(labels.max() + 1, dtype=np.float32)[labels]  # [n, C]
        self.labels, self.sizes = labels.copy(), members.sum(axis=0)
        self.flow = (np.asarray(w @ members) * np.asarray(w.T @ members)).T @ members  # [C, C]
        self.alive = np.ones(len(self.sizes), bool)

    def affinities(self) -> np.ndarray:
        """A of all pairs of clusters, -inf for a cluster with itself and for those merged away: [C, C]."""
        part = self.flow / np.square(self.sizes.clip(1))[:, None]
        a = part + part.T
        a[~self.alive], a[:, ~self.alive] = -np.inf, -np.inf
        np.fill_diagonal(a, -np.inf)
        return a

    def best_pair(self) -> tuple[int, int]:
        """The pair with the largest A(a, b), above 100 clusters A(a, b) + Σ_k (A(a, b) - A(a, k)) / (K_c - 1).

        k are the next neighbours of a. The restriction to many clusters is the released code's.
        """
        a = self.affinities()
        k = NEAREST if self.alive.sum() > MANY else 1
        top = -np.sort(-np.partition(a, len(a) - k, axis=1)[:, len(a) - k :], axis=1)  # [C, k] falling
        with np.errstate(invalid="ignore"):
            score = top[:, 0] + (top[:, :1] - top[:, 1:]).sum(axis=1) / max(k - 1, 1)
        one = int(np.where(self.alive, score, -np.inf).argmax())
        return one, int(a[one].argmax())

    def join(self, a: int, b: int) -> None:
        """Cluster b becomes a part of a."""
        self.labels[self.labels == b] = a
        self.sizes[a] += self.sizes[b]
        self.flow[:, a] += self.flow[:, b]
        self.flow[a] += self.flow[b]
        self.alive[b] = False

    def join_isolated(self, z: np.ndarray) -> None:
        """Clusters without affinity to any other join the one whose mean of the features z [n, D] is nearest."""
        first = np.unique(self.labels, return_index=True)[1]  # a member of each
        means = np.stack([z[self.labels == k].mean(axis=0) for k in range(len(first))])
        nearest = NearestNeighbors(n_neighbors=1).fit(means).kneighbors(return_distance=False)[:, 0]
        between = self.flow * ~np.eye(len(first), dtype=bool)
        for b in np.flatnonzero((between.sum(axis=0) == 0) & (between.sum(axis=1) == 0)):
            if (a := self.labels[first[nearest[b]]]) != self.labels[first[b]]:
                self.join(a, self.labels[first[b]])

    def merge_until(self, n_clusters: int) -> np.ndarray:
        """Merge until `n_clusters` are left; their labels [n], from 0."""
        while self.alive.sum() > n_clusters:
            self.join(*self.best_pair())
        return np.unique(self.labels, return_inverse=True)[1]


def triplet_loss(z: Tensor, labels: Tensor, negatives: Tensor, margin: float = 0.2) -> Tensor:
    """Mean of max(0, ‖z_i - z_j‖² - ‖z_i - z_k‖² + margin), j each sample of i's cluster, k each of negatives[i].

    z: [N, D], unit rows; labels: [N]; negatives: [N, K]. 0 where no two samples share a cluster, or none has another.
    """
    check_unit_rows(z=z)
    z = full_precision(z)
    d2 = (2 - 2 * z @ z.T).clamp_min(0)
    same = (labels[:, None] == labels) & ~torch.eye(len(z), dtype=torch.bool, device=z.device)  # [N, N]
    usable = same[:, :, None] & (labels[:, None] != labels[negatives])[:, None]  # [N, N, K]
    hinge = (d2[:, :, None] - d2.gather(1, negatives)[:, None] + margin).clamp_min(0)
    return (hinge * usable).sum() / usable.sum().clamp_min(1)


# 2. Objective


class JULEObjective:
    """What one step minimises: triplets of the clusters `labels` [n], which are the state; negatives are random."""

    def __init__(self, labels: np.ndarray, margin: float) -> None:
        self.labels, self.margin = torch.from_numpy(labels.astype(np.int64)), margin

    def state_dict(self) -> dict[str, Tensor]:
        return {"labels": self.labels}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.labels = state["labels"]

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        z, index = dist.gather(network.body(batch.x_a)), dist.gather(batch.index)
        labels = self.labels.to(z.device)[index]
        other = (labels[:, None] != labels).float()
        weight = torch.where(other.sum(1, keepdim=True) > 0, other, 1.0)
        negatives = torch.multinomial(weight, NEGATIVES, replacement=True)
        return {"loss": triplet_loss(z, labels, negatives, self.margin)}


# 3. Estimator


@final
@parameters
class JULE(OptimiserFields, NetworkFields, Clusterer):
    """Cluster with JULE: merges on the graph of neighbours, and triplets that train the features between them.

    Parameters
    ----------
    n_neighbors : int, default=20
        K_s, neighbours in the graph.
    unroll : float, default=0.9
        η, the fraction of clusters that is merged in a round. The paper: 0.2 for faces.
    margin : float, default=0.2
        Margin of the triplets.
    epochs : int or "auto", default="auto"
        Of each round. "auto" is about 80 steps, and at least 3 epochs. The paper: 20.
    lr : float, default=0.0001
        Learning rate of Adam. The paper: SGD at 0.01. More tears parts of one cluster apart before they are merged.

    Attributes
    ----------
    network_ : Centred
        The encoder (`body`) and the means of the clusters (`readout`).

    References
    ----------
    Yang, Parikh, Batra. Joint unsupervised learning of deep representations and image clusters. CVPR 2016.
    https://arxiv.org/abs/1604.03628
    """

    n_neighbors: int = 20
    unroll: float = 0.9
    margin: float = 0.2
    lr: float = 1e-4

    def _check_params(self) -> None:
        checks.whole(
            "n_neighbors", self.n_neighbors, why="it is the number of neighbours in the graph. A usual value is 20."
        )
        checks.number("unroll", self.unroll, 0.01, 1, why="it is a fraction of the clusters. A usual value is 0.9.")
        checks.number("margin", self.margin, 0, why="it is a squared distance. A usual value is 0.2.")
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        f, width = backbone(self.backbone, shape, self.stem)
        return Centred(Projected(f, width, 1), width, self.n_clusters_)

    def _fit(self, context: TrainingContext) -> Centred:
        network, epochs = context.build(self._build_network), self._epochs(context, 80, 3, 40)
        labels, number = self._first(context.pixels()), 1
        while labels.max() + 1 > self.n_clusters_:
            context.train(self._stage(f"round {number}", epochs), network, JULEObjective(labels, self.margin))
            labels = self._merged(context.projections(network), labels, self.unroll)
            number += 1
        z = context.projections(network)
        self._place(network, z, self._merged(z, self._first(z), 1))
        return network

    def _first(self, x: np.ndarray) -> np.ndarray:
        """The clusters to begin with, rows being at most of unit length; single samples, if these are fewer than M."""
        x = x / np.linalg.norm(x, axis=1, keepdims=True).clip(1)
        labels = first_clusters(neighbour_graph(x, self.n_neighbors))
        return labels if labels.max() + 1 >= self.n_clusters_ else np.arange(len(x))

    def _merged(self, z: np.ndarray, labels: np.ndarray, share: float) -> np.ndarray:
        """The clusters after a round of merges, M at least."""
        merger = Merger(neighbour_graph(z, self.n_neighbors), labels)
        if labels.max() + 1 > ISOLATED * self.n_clusters_:
            merger.join_isolated(z)
        return merger.merge_until(max(self.n_clusters_, int((1 - share) * merger.alive.sum())))

    def _place(self, network: Centred, z: np.ndarray, labels: np.ndarray) -> None:
        """The centres: the mean features of the clusters; the spread as for k-means."""
        means = np.stack([z[labels == k].mean(axis=0) for k in range(self.n_clusters_)])
        with torch.no_grad():
            network.readout.centres.copy_(torch.from_numpy(means))
            network.readout.spread.fill_(max(float(np.square(z - means[labels]).sum(axis=1).mean()), 1e-12))
