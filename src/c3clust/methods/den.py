"""DEN: a deep embedding network, for codes that keep neighbours and have one group of units per cluster.

Huang, Huang, Wang, Wang, ICPR 2014
An autoencoder (methods/ae.py) with two more terms: neighbours in the input keep close codes, and the code is sparse in
groups of units, one group for each cluster. k-means runs on the codes.
Shapes: N samples per batch, K neighbours, D = M n_g code width, M groups of n_g units.

No code of the authors was found; terms and defaults follow a public implementation (ClustPy, clustpy/deep/den.py).
Departures from the paper: one random neighbour per sample and step stands for all K; the distance in the kernel is
relative to its mean over all neighbours, so that t = 1 means the same for all data; all layers are trained together.
"""

from typing import final

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from c3clust import checks, dist
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods.ae import ReconstructionFields, fit_autoencoder, reconstruction_errors
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, TrainingContext
from c3clust.training.neighbours import Partners, few_neighbours

__all__ = ["DEN"]


# 1. Loss


def locality_errors(z: Tensor, z_nn: Tensor, d2: Tensor, t: float = 1.0) -> Tensor:
    """exp(-d_i² / t) ‖z_i - z_nn(i)‖² of each sample: z, z_nn: [N, D]; d2: [N], squared input distances. -> [N]"""
    return torch.exp(-d2 / t) * (z - z_nn).square().sum(dim=1)


def group_norms(z: Tensor, n_groups: int) -> Tensor:
    """Σ_g √n_g ‖z_i^(g)‖ of each sample, of equal groups of adjacent units: [N, D] -> [N]."""
    groups = z.unflatten(1, (n_groups, -1))  # [N, G, n_g]
    return (groups.square().sum(dim=2) + 1e-12).sqrt().sum(dim=1) * groups.shape[2] ** 0.5


# 2. Objective


class DENObjective(Partners):
    """What one step minimises: mean ‖x - x̂‖² / d + α locality + β group sparsity."""

    def __init__(self, neighbours: Tensor, spread: float, alpha: float, beta: float, n_groups: int) -> None:
        super().__init__(neighbours)
        self.spread, self.alpha, self.beta, self.n_groups = spread, alpha, beta, n_groups

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        body = network.body
        z, z_nn = body(batch.x_a), body(batch.x_b)
        d2 = (batch.x_a - batch.x_b).flatten(1).square().sum(dim=1) / self.spread
        errors = dist.gather(reconstruction_errors(body.scaled(batch.x_a), body.decode(z))).mean()
        locality = dist.gather(locality_errors(z, z_nn, d2)).mean()
        groups = dist.gather(group_norms(z, self.n_groups)).mean()
        loss = errors + self.alpha * locality + self.beta * groups
        return {"loss": loss, "reconstruction_loss": errors, "locality_loss": locality, "group_loss": groups}


def input_neighbours(context: TrainingContext, n_neighbors: int) -> tuple[Tensor, float]:
    """The nearest samples [n, K] of each sample, and the mean squared distance to them."""
    distance, index = NearestNeighbors(n_neighbors=n_neighbors).fit(context.pixels()).kneighbors()
    return torch.from_numpy(index), max(float(np.square(distance).mean()), 1e-12)


# 3. Estimator


@final
@parameters
class DEN(ReconstructionFields, Clusterer):
    """Cluster with k-means in the code of a deep embedding network: local, and sparse in groups.

    Parameters
    ----------
    group_size : int, default=2
        n_g, code units for each cluster; the code has M n_g. `code_dim` has no effect.
    alpha : float, default=0.5
        α, the weight of the locality.
    beta : float, default=0.001
        β, the weight of the group sparsity. ClustPy's implementation: 1, with sums over the entries of x instead of
        means. With more, codes stay near 0 in a short training, and the reconstruction is poor.
    n_neighbors : int, default=4
        K, neighbours of a sample; at most n / (2 M).

    References
    ----------
    Huang, Huang, Wang, Wang. Deep embedding network for clustering. ICPR 2014.
    """

    group_size: int = 2
    alpha: float = 0.5
    beta: float = 0.001
    n_neighbors: int = 4

    def _check_params(self) -> None:
        checks.whole(
            "group_size", self.group_size, why="it is the number of code units of a cluster. A usual value is 2."
        )
        checks.number("alpha", self.alpha, 0, why="it is the weight of the locality. A usual value is 0.5.")
        checks.number("beta", self.beta, 0, why="it is the weight of the group sparsity. A usual value is 0.001.")
        checks.whole("n_neighbors", self.n_neighbors, why="it is the number of neighbours. A usual value is 4.")
        super()._check_params()

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        width = self.n_clusters_ * self.group_size
        return Centred(Autoencoder(shape, self.hidden, width), width, self.n_clusters_)

    def _fit(self, context: TrainingContext) -> Centred:
        few = few_neighbours(self.n_neighbors, len(context.x), self.n_clusters_)
        neighbours, spread = input_neighbours(context, few)
        return fit_autoencoder(self, DENObjective(neighbours, spread, self.alpha, self.beta, self.n_clusters_), context)
