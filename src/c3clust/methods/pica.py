"""PICA: partition confidence maximisation.

Huang, Gong, Zhu, CVPR 2020
The columns of the assignment matrix say which samples a cluster has. Those of two views of the batch should be equal
for the same cluster and orthogonal for different ones: then the partition is certain. A second head with more clusters
is trained in alternation.
Shapes: N samples per batch, M clusters.

The loss is that of the released code (Raymond-sci/PICA, pica/losses.py) up to rounding. Departures from it (main.py,
configs/base.yaml): both views are random, where a sample is compared there with three views of it (`repeats`
gives as many pairs); `sobel` is off by default; the heads alternate by step, by epoch there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from typing import final

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.losses.inputs import check_pairs
from c3clust.losses.terms import entropy, full_precision
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._heads import OverclusterFields
from c3clust.networks.heads import InformationNet
from c3clust.training import Adam, Batch, Stage, TrainingContext

__all__ = ["PICA"]


# 1. Loss


def partition_loss(p_a: Tensor, p_b: Tensor) -> Tensor:
    """-(1/M) Σ_j log softmax_k(m_jk)_j, m_jk the cosine of column j of P_a and column k of P_b.

    p_a, p_b: [N, M], rows sum to 1.
    """
    check_pairs(p_a=p_a, p_b=p_b)
    a, b = (F.normalize(full_precision(p), dim=0, eps=1e-8) for p in (p_a, p_b))
    return F.cross_entropy(a.T @ b, torch.arange(a.shape[1], device=a.device))


def size_loss(p: Tensor) -> Tensor:
    """log M - H((1/N) Σ_i p_i): 0 for clusters of equal size."""
    return log(p.shape[1]) - entropy(full_precision(p).mean(dim=0))


# 2. Objective


@dataclass(frozen=True)
class PICAObjective:
    """What one step minimises: first the loss of the head with more clusters, then that of the main head."""

    lamb: float
    repeats: int = 1

    def optimisers(self, network: InformationNet, lr: float) -> dict[str, torch.optim.Optimizer]:
        """One Adam takes both steps, so the moments of f are shared."""
        adam = Adam(network.parameters(), lr=lr)
        return {"over": adam, "main": adam}

    def losses(self, network: InformationNet, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        for name, heads in (("over", network.over), ("main", network.main)):
            p_a, p_b = (dist.gather(heads.assign(network.encode(x))[:, 0]) for x in (batch.x_a, batch.x_b))  # [N, M]
            yield name, partition_loss(p_a, p_b) + self.lamb * size_loss(p_a)


# 3. Estimator


@final
@parameters
class PICA(OverclusterFields, Clusterer):
    """Cluster with partition confidence maximisation: two views agree on a partition that is certain.

    Parameters
    ----------
    lamb : float, default=2.0
        λ, the weight of the entropy of the cluster sizes.
    epochs : int or "auto", default="auto"
        "auto" is about 600 steps, and at least 15 epochs. The paper: 200.
    lr : float, default=0.001
        Learning rate of Adam. The paper: 1e-4.

    References
    ----------
    Huang, Gong, Zhu. Deep semantic clustering by partition confidence maximisation. CVPR 2020.
    https://github.com/Raymond-sci/PICA
    """

    lamb: float = 2.0

    def _check_params(self) -> None:
        checks.number("lamb", self.lamb, 0, why="it is the weight of an entropy. A usual value is 2.0.")
        self._check_overclusters()
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> InformationNet:
        return self._two_heads(shape, 1)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("pica", self._epochs(context, 600, 15, 400))]

    def _fit(self, context: TrainingContext) -> InformationNet:
        network = context.build(self._build_network)
        context.train(self._stages(context)[0], network, PICAObjective(self.lamb, self.repeats))
        return network
