"""DRC: deep robust clustering.

Zhong, Chen, Jin, Hua, 2020, https://arxiv.org/abs/2008.03030
The logits of two views of a sample are contrasted with those of other samples, the columns of the assignments with
those of other clusters; large clusters are penalised.
Shapes: N samples per batch, M clusters.

There is no released code. The form of the products (not normalised) and the defaults of the temperatures and of λ were
not verified against the paper. Departures: the logits are normalised over the batch, so that products of logits keep
their scale; λ weighs (1/N) Σ_k (Σ_i p_ik)² relative to its least value, N / M.
"""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.losses.inputs import check_pairs
from c3clust.losses.terms import full_precision
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._heads import LabelFields
from c3clust.networks.heads import LabelNet
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["DRC"]


# 1. Loss


def contrast_loss(a: Tensor, b: Tensor, tau: float) -> Tensor:
    """-(1/K) Σ_i log softmax_j(a_i · b_j / τ)_i: each row of a finds its own row of b. a, b: [K, D]."""
    check_pairs(a=a, b=b)
    s = full_precision(a) @ full_precision(b).T / tau
    return F.cross_entropy(s, torch.arange(len(s), device=s.device))


def size_loss(p: Tensor) -> Tensor:
    """(M / N²) Σ_k (Σ_i p_ik)²: 1 for clusters of equal size, M for one cluster. p: [N, M]."""
    return p.shape[1] * full_precision(p).mean(dim=0).square().sum()


# 2. Objective


@dataclass(frozen=True)
class DRCObjective:
    """What one step minimises: contrast of features, contrast of assignments, and the sizes."""

    tau_f: float
    tau_p: float
    lamb: float

    def __call__(self, network: LabelNet, batch: Batch) -> dict[str, Tensor]:
        f_a, f_b = (dist.gather(network.head(network.encode(x))) for x in (batch.x_a, batch.x_b))  # [N, M]
        p_a, p_b = f_a.softmax(dim=1), f_b.softmax(dim=1)
        features = contrast_loss(f_a, f_b, self.tau_f)
        columns = contrast_loss(p_a.T, p_b.T, self.tau_p)
        sizes = size_loss(p_a)
        loss = features + columns + self.lamb * sizes
        return {"loss": loss, "feature_loss": features, "assignment_loss": columns, "size_loss": sizes}


# 3. Estimator


@final
@parameters
class DRC(LabelFields, Clusterer):
    """Cluster with deep robust clustering: contrast of logits and of assignment columns.

    Parameters
    ----------
    tau_f, tau_p : float, default=3.0 and 10.0
        Temperatures of the contrast of logits and of columns. Products of columns are sums over the batch and reach
        N / M: with a temperature of 1, columns that differ a little have no loss left. 10 was chosen with the accuracy
        on digits in sight.
    lamb : float, default=2.0
        λ, the weight of the sizes.
    epochs : int or "auto", default="auto"
        "auto" is about 600 steps, and at least 15 epochs.

    References
    ----------
    Zhong, Chen, Jin, Hua. Deep robust clustering by contrastive learning. 2020. https://arxiv.org/abs/2008.03030
    """

    tau_f: float = 3.0
    tau_p: float = 10.0
    lamb: float = 2.0

    def _check_params(self) -> None:
        checks.number("tau_f", self.tau_f, 1e-3, why="it divides products. A usual value is 3.0.")
        checks.number("tau_p", self.tau_p, 1e-3, why="it divides products. A usual value is 10.0.")
        checks.number("lamb", self.lamb, 0, why="it is the weight of the sizes. A usual value is 2.0.")
        self._check_stage()

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("drc", self._epochs(context, 600, 15, 400))]

    def _fit(self, context: TrainingContext) -> LabelNet:
        network = context.build(self._build_network)
        objective = DRCObjective(self.tau_f, self.tau_p, self.lamb)
        context.train(self._stages(context)[0], network, objective)
        return network
