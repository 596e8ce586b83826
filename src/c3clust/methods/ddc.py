"""DDC: deep discriminative clustering analysis. A reconstruction: not the authors' method.

Chang, Guo, Wang, Meng, Xiang, Pan, 2019, https://arxiv.org/abs/1905.01681
As in DAC (methods/dac.py), pairs of views are classified by the cosine of their assignments. Which pairs are similar
is estimated anew for every batch; a local term makes assignments one-hot.
Shapes: N samples per batch, M clusters.

Only the abstract of the paper was available, and no released code: the formulas are a reconstruction. Interpretation:
a pair is similar if the cosine of its un-augmented samples is above the threshold that separates the cosines of the
batch best into two groups (largest variance between the groups), and never below 1 / 2; the local term is 1 - max p.
Not the deep divergence-based clustering of the same initials.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.losses.inputs import check_pairs
from c3clust.losses.terms import full_precision, pair_bce
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._heads import LabelFields
from c3clust.networks.heads import LabelNet
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["DDC"]

LEAST = 0.5  # cosine of a similar pair
BINS = 64  # thresholds that are compared


# 1. Loss


def cosines(p_a: Tensor, p_b: Tensor) -> Tensor:
    """g_ij, the cosine of p_a_i and p_b_j: [N, M] twice -> [N, N]."""
    unit_a, unit_b = (F.normalize(full_precision(p), dim=1) for p in (p_a, p_b))
    return unit_a @ unit_b.T


def best_threshold(g: Tensor) -> Tensor:
    """The t in [1/2, 1) with the largest variance between the groups g >= t and g < t: w (1 - w) (m_1 - m_0)²."""
    t = torch.linspace(LEAST, 1, BINS + 1, device=g.device, dtype=g.dtype)[:-1]  # [T]
    values = g.flatten().sort().values
    below = torch.searchsorted(values, t).to(g.dtype)  # [T] how many are below
    sums = torch.cat([values.new_zeros(1), values.cumsum(0)])[below.long()]  # [T] their sum
    above = len(values) - below
    gap = (values.sum() - sums) / above.clamp_min(1) - sums / below.clamp_min(1)
    return t[(above * below * gap.square()).argmax()]


def relation_loss(p_a: Tensor, p_b: Tensor, r: Tensor) -> Tensor:
    """Mean binary cross entropy of the relations r_ij with the cosine of p_a_i and p_b_j, over all pairs of two views.

    Every pair weighs the same, as in DAC. Were similar pairs and others to weigh the same, each similar pair would
    outweigh several others, and clusters merge. p_a, p_b: [N, M]; r: [N, N] bool.
    """
    check_pairs(p_a=p_a, p_b=p_b)
    return pair_bce(cosines(p_a, p_b), r.to(p_a.dtype)).mean()


def local_loss(p: Tensor) -> Tensor:
    """(1/N) Σ_i (1 - max_k p_ik): 0 for one-hot assignments."""
    return (1 - full_precision(p).max(dim=1).values).mean()


# 2. Objective


@dataclass(frozen=True)
class DDCObjective:
    """What one step minimises: the relations of the un-augmented batch, between the assignments of two views."""

    lamb: float

    def __call__(self, network: LabelNet, batch: Batch) -> dict[str, Tensor]:
        with torch.no_grad():
            p = dist.gather(network(batch.x)[1])
            g = cosines(p, p)
            threshold = best_threshold(g)
            r = g >= threshold
        p_a, p_b = (dist.gather(network(x)[1]) for x in (batch.x_a, batch.x_b))
        relations = relation_loss(p_a, p_b, r)
        local = (local_loss(p_a) + local_loss(p_b)) / 2
        return {"loss": relations + self.lamb * local, "relation_loss": relations, "threshold": threshold}


# 3. Estimator


@final
@parameters
class DDC(LabelFields, Clusterer):
    """Cluster with deep discriminative clustering analysis: relations of pairs, estimated batch by batch.

    Not the authors' method, but a reconstruction from the abstract of their paper: tables with ranks leave it out.

    Parameters
    ----------
    lamb : float, default=0.1
        λ, the weight of the local term.
    epochs : int or "auto", default="auto"
        "auto" is about 600 steps, and at least 15 epochs.
    batch_size : int, default=128
        As in DAC.

    References
    ----------
    Chang, Guo, Wang, Meng, Xiang, Pan. Deep discriminative clustering analysis. 2019. https://arxiv.org/abs/1905.01681
    """

    ranked: ClassVar[bool] = False  # a reconstruction from the abstract has no place in a ranking

    lamb: float = 0.1
    batch_size: int = 128

    def _check_params(self) -> None:
        checks.number("lamb", self.lamb, 0, why="it is the weight of the local term. A usual value is 0.1.")
        self._check_stage()

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("ddc", self._epochs(context, 600, 15, 400))]

    def _fit(self, context: TrainingContext) -> LabelNet:
        network = context.build(self._build_network)
        context.train(self._stages(context)[0], network, DDCObjective(self.lamb))
        return network
