"""Nearest neighbours of the samples in a learned space, as partners: a sample is paired with one of them."""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors
from torch import Tensor, nn

from c3clust.features.neighbours import nearest_neighbours
from c3clust.training.context import TrainingContext

__all__ = ["Partners", "few_neighbours", "mine_neighbours", "others_nearby"]

FEW = 20_000  # samples, from which on their neighbours are found by all processes together


def mine_neighbours(network: nn.Module, context: TrainingContext, n_neighbors: int) -> Tensor:
    """The samples with the largest cosine to each un-augmented sample, without itself: [n, K]."""
    return others_nearby(context.projections(network), n_neighbors)


def others_nearby(z: np.ndarray, n_neighbors: int) -> Tensor:
    """The nearest rows of z [n, D] to each of them, without itself: [n, K]."""
    if len(z) > FEW:
        return torch.from_numpy(nearest_neighbours(z, n_neighbors))
    index = NearestNeighbors(n_neighbors=n_neighbors).fit(z)
    return torch.from_numpy(index.kneighbors(return_distance=False))


def few_neighbours(n_neighbors: int, n: int, n_clusters: int) -> int:
    """At most half a cluster of average size, n / 2M, and at least 1."""
    return max(min(n_neighbors, n // (2 * n_clusters)), 1)


@dataclass(frozen=True)
class Partners:
    """An objective whose second view is one of a random neighbour of the sample."""

    neighbours: Tensor  # [n, K]

    def partners(self, index: Tensor, generator: torch.Generator) -> Tensor:
        """One of the K neighbours of each sample: [N]."""
        chosen = torch.randint(self.neighbours.shape[1], (len(index),), generator=generator)
        return self.neighbours[index, chosen]
