"""TEMI: teacher ensemble-weighted pointwise mutual information, on features.

Adaloglou, Michels, Kalisch, Kollmann, BMVC 2023, https://arxiv.org/abs/2303.17896
The features of a pretrained encoder are not changed. Several heads learn to assign a sample and one of its nearest
neighbours to the same cluster. A teacher, the moving average of the heads, weighs the pairs.
Shapes: N samples per batch, d features, K neighbours, H heads, M clusters.

The loss is that of the released code (HHU-MMBS/TEMI-official-BMVC2023) up to rounding. Departures (train_main.py and
model_builders/multi_head.py): by default heads are linear, of two layers there, as with hidden_dim=512; features are
standardised, and of unit length for the heads as well as for the neighbours; the budget is shorter, with a higher
learning rate and a faster teacher; the last layer learns in the first epoch too.
"""

from math import prod
from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.files.model_io import with_prefix, without_prefix
from c3clust.losses.inputs import check_pairs
from c3clust.losses.terms import full_precision
from c3clust.methods._base import Clusterer, TrainingFields, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.networks.heads import LinearHeads, Standardised
from c3clust.networks.momentum import MomentumNetwork
from c3clust.training import Batch, Stage, TrainingContext
from c3clust.training.neighbours import Partners, few_neighbours, mine_neighbours

__all__ = ["TEMI"]

SIZES = 0.9  # momentum of the cluster sizes
CODE = 256  # width of the code of a head with a hidden layer


# 1. Loss


def pair_weights(t: Tensor, t_nn: Tensor) -> Tensor:
    """w_i = (1/H) Σ_h <t_h(x_i), t_h(x'_i)>: [H, N, M] twice -> [N]."""
    check_pairs(t=t, t_nn=t_nn)
    return (t * t_nn).sum(dim=2).mean(dim=0)


def information_loss(p: Tensor, t: Tensor, sizes: Tensor, w: Tensor, beta: float = 0.6) -> Tensor:
    """-(1/N) Σ_i w_i log Σ_k (p_k(x_i) t_k(x'_i))^β / s_k of each head.

    p, t: [H, N, M], assignments of samples by the heads, and of their neighbours by the teacher; sizes: [H, M]; w: [N].
    -> [H]. For β = 1, the logarithm is the pointwise mutual information of the pair.
    """
    check_pairs(p=p, t=t)
    tiny = torch.finfo(p.dtype).tiny
    joint = beta * (p.clamp_min(tiny).log() + t.clamp_min(tiny).log()) - sizes.clamp_min(1e-6).log()[:, None]
    return -(w * joint.logsumexp(dim=2)).mean(dim=1)


# 2. Objective


class HiddenHeads(nn.Module):
    """For each head a hidden layer, a unit code, and its products with a vector per cluster: [N, F] -> [N, H M].

    As released: GELU, weights N(0, 0.02²) without tails, and vectors whose length is learned and starts at 1.
    """

    def __init__(self, width: int, hidden: int, n_clusters: int, n_heads: int, tau: float) -> None:
        super().__init__()
        self.first, self.tau = nn.Linear(width, n_heads * hidden), tau
        self.second = nn.Conv1d(n_heads * hidden, n_heads * CODE, 1, groups=n_heads)
        for layer in (self.first, self.second):
            nn.init.trunc_normal_(layer.weight, std=0.02)
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
        self.vectors = nn.Parameter(torch.empty(n_heads, n_clusters, CODE).uniform_(-1, 1))
        self.lengths = nn.Parameter(torch.ones(n_heads, n_clusters, 1))

    def forward(self, x: Tensor) -> Tensor:
        codes = self.second(F.gelu(self.first(x))[:, :, None]).reshape(-1, len(self.lengths), CODE)
        vectors = self.lengths * F.normalize(self.vectors, dim=2)
        return (F.normalize(codes, dim=2)[:, :, None] @ vectors.transpose(1, 2)).flatten(1) / self.tau


class UnitHeads(nn.Module):
    """Heads with a temperature on features of unit length: x -> (unit features, assignment)."""

    def __init__(self, width: int, n_clusters: int, n_heads: int, tau: float, hidden: int = 0) -> None:
        super().__init__()
        self.standard, self.heads, self.tau = Standardised(width), LinearHeads(width, n_clusters, n_heads), tau
        if hidden:
            self.heads.linear, self.tau = HiddenHeads(width, hidden, n_clusters, n_heads, tau), 1.0

    def project(self, x: Tensor) -> Tensor:
        return F.normalize(self.standard(x), dim=1)

    def assign(self, x: Tensor) -> Tensor:
        """The assignments of every head: [H, N, M]."""
        return full_precision(self.heads.assign(self.project(x) / self.tau).transpose(0, 1))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.project(x)
        return z, torch.softmax(self.heads.best(z / self.tau), dim=1)


class TEMIObjective(Partners):
    """What one step minimises: the loss of samples and neighbours, both ways. Its state is the teacher."""

    def __init__(self, neighbours: Tensor, network: UnitHeads, beta: float, momentum: float) -> None:
        super().__init__(neighbours)
        h, m = network.heads.shape
        self.beta, self.teacher = beta, MomentumNetwork(network, momentum)
        self.sizes = network.heads.losses.new_full((h, m), 1 / m)

    def __call__(self, network: UnitHeads, batch: Batch) -> dict[str, Tensor]:
        views = (batch.x_a, batch.x_b)
        p, p_nn = (dist.gather(network.assign(x).transpose(0, 1)).transpose(0, 1) for x in views)
        with torch.no_grad():
            self.teacher.follow(network)
            t, t_nn = (dist.gather(self.teacher.network.assign(x).transpose(0, 1)).transpose(0, 1) for x in views)
            self.sizes = SIZES * self.sizes + (1 - SIZES) * (t.mean(dim=1) + t_nn.mean(dim=1)) / 2
        w = pair_weights(t, t_nn)
        losses = [information_loss(a, b, self.sizes, w, self.beta) for a, b in ((p, t_nn), (p_nn, t))]
        return {"loss": network.heads.record((losses[0] + losses[1]) / 2), "weight": w.mean()}

    def state_dict(self) -> dict[str, Tensor]:
        return {"sizes": self.sizes, **with_prefix("teacher", self.teacher.state_dict())}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.sizes = state["sizes"].to(self.sizes)
        self.teacher.load_state_dict(without_prefix("teacher", state))


# 3. Estimator


@final
@parameters
class TEMI(OptimiserFields, TrainingFields, Clusterer):
    """Cluster the features of a pretrained encoder with TEMI: neighbours get the same cluster. Pixels are features too.

    Parameters
    ----------
    n_neighbors : int, default=50
        K, neighbours of a sample; at most n / (2 M), half of an average cluster.
    n_heads : int, default=16
        H, cluster heads. The one with the lowest loss is kept. The paper: 50.
    hidden_dim : int, default=0
        Width of the hidden layer of each head; 0 for linear heads. The released code: 512.
    beta : float, default=0.6
        β, which reduces the reward of certain assignments; 1 gives the pointwise mutual information.
    tau : float, default=0.1
        Temperature of the heads.
    momentum : float, default=0.98
        Fraction of the teacher that stays in a step. The paper: 0.996.
    epochs : int or "auto", default="auto"
        "auto" is about 1000 steps, and at least 10 epochs. The paper: 100.
    batch_size : int, default=64
        The paper: 512 to 1024, of data sets that are a hundred times as large: the number of steps matters.
    lr : float, default=0.003
        Learning rate of Adam. The paper: 1e-4.

    Attributes
    ----------
    network_ : UnitHeads
        The scale of the features (`standard`) and the heads (`heads`).

    References
    ----------
    Adaloglou, Michels, Kalisch, Kollmann. Exploring the limits of deep image clustering using pretrained models.
    BMVC 2023. https://arxiv.org/abs/2303.17896

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.temi import TEMI
    >>> temi = TEMI(n_clusters=10, epochs=1, random_state=0).fit(load_digits().data)
    >>> temi.predict_proba(load_digits().data[:2]).shape
    (2, 10)
    """

    n_neighbors: int = 50
    n_heads: int = 16
    hidden_dim: int = 0
    beta: float = 0.6
    tau: float = 0.1
    momentum: float = 0.98
    batch_size: int = 64
    lr: float = 3e-3

    def _check_params(self) -> None:
        checks.whole(
            "n_neighbors", self.n_neighbors, why="it is the number of neighbours of a sample. A usual value is 50."
        )
        checks.whole("n_heads", self.n_heads, why="it is the number of cluster heads. A usual value is 16.")
        checks.whole("hidden_dim", self.hidden_dim, 0, why="it is a width, or 0 for linear heads.")
        checks.number("beta", self.beta, 0, 1, why="it is an exponent. A usual value is 0.6.")
        checks.number("tau", self.tau, 1e-3, why="it divides cosines. A usual value is 0.1.")
        checks.number("momentum", self.momentum, 0, 1, why="it is a fraction of the teacher. A usual value is 0.98.")
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> UnitHeads:
        return UnitHeads(prod(shape), self.n_clusters_, self.n_heads, self.tau, self.hidden_dim)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("temi", self._epochs(context, 1000, 10, 400))]

    def _fit(self, context: TrainingContext) -> UnitHeads:
        network = context.build(self._build_network)
        network.standard.fit(context.pixels())
        few = few_neighbours(self.n_neighbors, len(context.x), self.n_clusters_)
        objective = TEMIObjective(mine_neighbours(network, context, few), network, self.beta, self.momentum)
        context.train(self._stages(context)[0], network, objective)
        return network
