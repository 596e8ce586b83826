"""NMF: non-negative matrix factorisation of raw pixels or features, then k-means on the weights of the parts.

Cai, He, Wang, Bao, Han, IJCAI 2009, keep neighbours near in the factorisation. A departure, usual in tables that cite
them: the plain factorisation min ‖X - W H‖², W, H >= 0 of Lee and Seung (Nature 1999), scikit-learn's.
Shapes: n samples, d entries, R parts.
"""

import warnings
from typing import ClassVar, final

import numpy as np
import torch
from sklearn.decomposition import non_negative_factorization
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor, nn

from c3clust import checks
from c3clust.methods._base import Clusterer, parameters
from c3clust.networks.readouts import Centred
from c3clust.training import TrainingContext

__all__ = ["NMF"]

SWEEPS = 100


def part_weights(x: Tensor, parts: Tensor, sweeps: int = SWEEPS) -> Tensor:
    """argmin_W ‖X - W H‖², W >= 0, by cyclic coordinate descent: [N, d], [R, d] -> [N, R]."""
    gram, target = parts @ parts.T, x @ parts.T  # [R, R], [N, R]
    w = torch.zeros_like(target)
    for _ in range(sweeps):
        for r in range(len(parts)):
            gradient = w @ gram[r] - target[:, r]
            w[:, r] = (w[:, r] - gradient / gram[r, r].clamp_min(1e-12)).clamp_min(0)
    return w


class Parts(nn.Module):
    """x -> the weights of its parts. Features are shifted up by what was negative in training, and cut off at 0."""

    no_graph: ClassVar[str] = "NMF computes its weights by an iteration, which is not one graph"
    parts: Tensor
    shift: Tensor

    def __init__(self, n_parts: int, width: int) -> None:
        super().__init__()
        self.register_buffer("parts", torch.zeros(n_parts, width))
        self.register_buffer("shift", torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        x = (x.flatten(1) + self.shift).clamp_min(0)
        return part_weights(x, self.parts)


@final
@parameters
class NMF(Clusterer):
    """Cluster with k-means on the weights of a non-negative matrix factorisation.

    Pixels are non-negative; other features are shifted so that the smallest value of each is 0. All samples
    are in memory at once.

    Parameters
    ----------
    n_parts : int, default=None
        R, the rank of the factorisation; None takes `n_clusters`. Parts are scaled to unit length.
    max_iter : int, default=200
        Iterations of the factorisation.
    n_init : int, default=20
        Starts of k-means.

    Attributes
    ----------
    n_iter_ : int
        Iterations of the factorisation.
    network_ : Centred
        The parts H (`body`) and the centres of their weights (`readout`).

    References
    ----------
    Cai, He, Wang, Bao, Han. Locality preserving nonnegative matrix factorization. IJCAI 2009.

    Lee, Seung. Learning the parts of objects by non-negative matrix factorization. Nature 401, 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.nmf import NMF
    >>> nmf = NMF(n_clusters=10, random_state=0).fit(load_digits().images / 16)
    >>> nmf.transform(load_digits().images[:2] / 16).shape
    (2, 10)
    """

    standardise: ClassVar[float] = 0
    chooses_k: ClassVar[bool] = True

    n_parts: int | None = None
    max_iter: int = 200
    n_init: int = 20

    def _check_params(self) -> None:
        if self.n_parts is not None:
            checks.whole("n_parts", self.n_parts, why="it is the rank of the factorisation. None takes n_clusters.")
        checks.whole("max_iter", self.max_iter, why="it is the number of iterations. A usual value is 200.")
        checks.whole("n_init", self.n_init, why="it is the number of k-means starts. A usual value is 20.")

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        n_parts = self.n_parts or self.n_clusters_
        return Centred(Parts(n_parts, int(np.prod(shape))), n_parts, self.n_clusters_)

    def _fit(self, context: TrainingContext) -> Centred:
        pixels = context.pixels()
        self._choose_clusters(pixels, context)
        network = self._build_network(context.shape)
        shift = -pixels.min(axis=0).clip(max=0)
        options = {"n_components": len(network.body.parts), "max_iter": self.max_iter, "random_state": context.seed}
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):  # its start divides 0 by 0 for a zero feature
            warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter is the budget
            pixels += shift
            _, parts, self.n_iter_ = non_negative_factorization(pixels, **options)
        lengths = np.linalg.norm(parts, axis=1, keepdims=True).clip(1e-12)  # else weights do not compare
        network.body.parts.copy_(torch.from_numpy(parts / lengths))
        network.body.shift.copy_(torch.from_numpy(shift))
        network.readout.place(context.projections(network), self.n_init, context.seed)
        return network
