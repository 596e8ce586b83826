"""From a learned space to clusters: spherical k-means for unit vectors, centres for everything else."""

import numpy as np
import torch
from sklearn.cluster import kmeans_plusplus
from torch import Tensor, nn

__all__ = ["Centres", "nearest", "spherical_kmeans"]


def spherical_kmeans(z: np.ndarray, n_clusters: int, seed: int, starts: int = 20, iterations: int = 100) -> np.ndarray:
    """Unit centres [M, D] of the unit rows z [n, D], from the best of many starts (largest sum of cosines)."""
    random = np.random.RandomState(seed)
    z = np.asarray(z, dtype=np.float64)
    best, best_total = None, -np.inf
    for _ in range(starts):
        centres, _ = kmeans_plusplus(z, n_clusters, random_state=random)
        total = -np.inf
        for _ in range(iterations):
            s = z @ centres.T  # [n, M] cosines
            labels, before = s.argmax(axis=1), total
            total = s.max(axis=1).sum()
            if total <= before + 1e-9 * len(z):
                break
            centres = _means(z, labels, s, n_clusters)
        if total > best_total:
            best, best_total = centres, total
    assert best is not None
    return best.astype(np.float32)


def nearest(z: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The centre with the largest cosine for each unit row: [n]."""
    return (z @ centres.T).argmax(axis=1)


def _means(z: np.ndarray, labels: np.ndarray, s: np.ndarray, n_clusters: int) -> np.ndarray:
    """Unit mean of each cluster; an empty one takes the sample that fits its own cluster least."""
    sums = np.zeros((n_clusters, z.shape[1]))
    np.add.at(sums, labels, z)
    empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    sums[empty] = z[np.argsort(s.max(axis=1))[: len(empty)]]
    return sums / np.linalg.norm(sums, axis=1, keepdims=True).clip(1e-12)


class Centres(nn.Module):
    """Cluster centres as a network: x -> (flattened x, soft assignment).

    The assignment is DEC's Student-t kernel q_m ~ 1 / (1 + d_m^2 / spread), spread = mean squared distance of the
    training samples to their centre; its argmax is the nearest centre.
    """

    centres: Tensor
    spread: Tensor

    def __init__(self, n_clusters: int, width: int) -> None:
        super().__init__()
        self.register_buffer("centres", torch.zeros(n_clusters, width))
        self.register_buffer("spread", torch.ones(()))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = x.flatten(1)
        d2 = torch.cdist(z, self.centres).square()  # [N, M]
        q = 1 / (1 + d2 / self.spread)
        return z, q / q.sum(dim=1, keepdim=True)
