"""SCAN: semantic clustering by adopting nearest neighbours.

Van Gansbeke, Vandenhende, Georgoulis, Proesmans, Van Gool, ECCV 2020, https://arxiv.org/abs/2005.12320
Stage 1 is SimCLR (methods/simclr.py). Stage 2 assigns each sample and its nearest neighbours in the learned feature
space to the same cluster. Stage 3 trains on the network's own confident labels.
Shapes: N samples per batch, K neighbours, H heads, M clusters.

Departures from the released code (wvangansbeke/Unsupervised-Classification, losses/losses.py, configs, data): by
default one set of augmentations serves all stages, stronger ones (RandAugment and cutout) there in stages 2 and 3, as
with strong="strong"; Adam replaces SGD in stage 1; no weight decay; a neighbourhood is at most half of an average
cluster. As there: neighbours are those of the projections that stage 1 contrasts, the sample itself among them; the
labels of stage 3 come from un-augmented samples.
"""

from dataclasses import dataclass
from typing import Any, final

import torch
from torch import Tensor

from c3clust import augment, checks, dist
from c3clust.losses.inputs import check_pairs
from c3clust.losses.terms import balanced_cross_entropy, entropy, full_precision
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._heads import PretrainedHeadsFields
from c3clust.methods._optimiser import OptimiserFields
from c3clust.methods.simclr import SimCLRObjective
from c3clust.networks.heads import NeighbourNet
from c3clust.training import Batch, Stage, TrainingContext
from c3clust.training.neighbours import Partners, few_neighbours, others_nearby

__all__ = ["SCAN"]


# 1. Loss


def neighbour_loss(p: Tensor, p_nn: Tensor, entropy_weight: float = 5.0) -> Tensor:
    """-(1/N) Σ_i log <p_i, p_nn(i)> - w H((1/N) Σ_i p_i) of each head (equation 2).

    p, p_nn: [..., N, M], assignments of samples and of one neighbour of each, rows sum to 1. -> [...]
    """
    check_pairs(p=p, p_nn=p_nn)
    p, p_nn = full_precision(p), full_precision(p_nn)
    agreement = (p * p_nn).sum(dim=-1).clamp_min(torch.finfo(p.dtype).tiny)  # [..., N]
    return -agreement.log().mean(dim=-1) - entropy_weight * entropy(p.mean(dim=-2))


def self_label_loss(logits: Tensor, p: Tensor, threshold: float = 0.99) -> Tensor:
    """Cross entropy with the labels argmax p_i of the samples with max p_i > threshold (section 2.3).

    The mean over the clusters that have such samples of their mean cross entropy: samples are weighted by the inverse
    of their cluster's size. 0 where no sample is confident. logits, p: [N, M], of augmented and un-augmented samples.
    """
    check_pairs(logits=logits, p=p)
    confidence, labels = p.max(dim=1)
    return balanced_cross_entropy(logits, labels, confidence > threshold)


# 2. Objective


@dataclass(frozen=True)
class NeighbourObjective(Partners):
    """What one step of stage 2 minimises: the loss of a view of each sample and one of a random neighbour."""

    entropy_weight: float

    def __call__(self, network: NeighbourNet, batch: Batch) -> dict[str, Tensor]:
        heads = network.heads
        p, p_nn = (dist.gather(heads.assign(network.encode(x))) for x in (batch.x_a, batch.x_b))  # [N, H, M]
        losses = neighbour_loss(p.transpose(0, 1), p_nn.transpose(0, 1), self.entropy_weight)  # [H]
        return {"loss": heads.record(losses)}


@dataclass(frozen=True)
class SelfLabelObjective:
    """What one step of stage 3 minimises: the cross entropy of one view with the confident labels of the samples."""

    threshold: float

    def __call__(self, network: NeighbourNet, batch: Batch) -> dict[str, Tensor]:
        with torch.no_grad():
            p = dist.gather(network(batch.x)[1])
        logits = dist.gather(network.heads.best(network.encode(batch.x_a)))
        confident = (p.max(dim=1).values > self.threshold).float().mean()
        return {"loss": self_label_loss(logits, p, self.threshold), "confident": confident}


def neighbourhoods(network: NeighbourNet, context: TrainingContext, n_neighbors: int) -> Tensor:
    """Each sample and its nearest neighbours in the space of projections: [n, 1 + K]."""
    z, _ = context.features(network)
    return torch.cat([torch.arange(len(z))[:, None], others_nearby(z.numpy(), n_neighbors)], dim=1)


# 3. Estimator


@final
@parameters
class SCAN(OptimiserFields, PretrainedHeadsFields, Clusterer):
    """Cluster with SCAN: learn features, give neighbours the same cluster, then learn from confident labels.

    Parameters
    ----------
    n_neighbors : int, default=20
        K, neighbours of a sample; at most n / (2 M), half of an average cluster.
    entropy_weight : float, default=5.0
        w, the weight of the entropy of the cluster sizes.
    n_heads : int, default=5
        H, cluster heads. The one with the lowest loss of stage 2 is kept.
    strong : str, dict, callable or None, default=None
        Augmentations of stages 2 and 3, as for `augment`; None for the same ones. The paper: "strong".
    threshold : float, default=0.99
        Confidence above which a sample's own label is trained in stage 3.
    tau : float, default=0.5
        Temperature of stage 1. The paper: 0.1.
    pretrain_epochs : int or "auto", default="auto"
        Stage 1. "auto" is about 420 steps, and at least 15 epochs. The paper: 500.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 200 steps, and at least 5 epochs. The paper: 50 to 100.
    self_label_epochs : int or "auto", default="auto"
        Stage 3. "auto" is as many as stage 2 has. The paper: 200.
    lr : float, default=0.001
        Learning rate of Adam in stages 1 and 2. The paper: SGD at 0.4 in stage 1, Adam at 1e-4 in stage 2.
    self_label_lr : float, default=0.0001
        Learning rate of Adam in stage 3, as in the paper. A larger one may destroy clusters that have few confident
        samples yet.

    Attributes
    ----------
    start_labels_ : ndarray [n]
        The clusters before stage 3.

    References
    ----------
    Van Gansbeke, Vandenhende, Georgoulis, Proesmans, Van Gool. SCAN: learning to classify images without labels.
    ECCV 2020. https://arxiv.org/abs/2005.12320

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.scan import SCAN
    >>> scan = SCAN(n_clusters=10, pretrain_epochs=1, epochs=1, random_state=0).fit(load_digits().images / 16)
    >>> [stage["name"] for stage in scan.stages_]
    ['simclr', 'scan', 'self_label']
    """

    n_neighbors: int = 20
    entropy_weight: float = 5.0
    strong: Any = None
    threshold: float = 0.99
    self_label_epochs: int | str = "auto"
    self_label_lr: float = 1e-4

    def _check_params(self) -> None:
        checks.whole(
            "n_neighbors", self.n_neighbors, why="it is the number of neighbours of a sample. A usual value is 20."
        )
        checks.number("entropy_weight", self.entropy_weight, 0, why="it is the weight of a term. A usual value is 5.")
        checks.number(
            "threshold", self.threshold, 0, 1, why="it is compared with a probability. A usual value is 0.99."
        )
        if self.strong is not None:
            augment.policy(self.strong)
        checks.stage(self.self_label_epochs, self.batch_size, self.self_label_lr, self.schedule, "self_label_")
        self._check_heads()

    def _stages(self, context: TrainingContext) -> list[Stage]:
        epochs = self._epochs(context, 200, 5, 100)
        last = epochs if self.self_label_epochs == "auto" else int(self.self_label_epochs)
        first = self._epochs(context, 420, 15, 400, "pretrain_epochs")
        third = self._stage("self_label", last, self.self_label_lr)
        return [self._stage("simclr", first), self._stage("scan", epochs), third]

    def _fit(self, context: TrainingContext) -> NeighbourNet:
        first, second, last = self._stages(context)
        network = context.build(self._build_network)
        context.train(first, network, SimCLRObjective(self.tau))
        few = few_neighbours(self.n_neighbors, len(context.x), self.n_clusters_)
        objective = NeighbourObjective(neighbourhoods(network, context, few), self.entropy_weight)
        strong = None if self.strong is None else augment.policy(self.strong)
        context.train(second, network, objective, policy=strong)
        self._keep_start(network, context)
        context.train(last, network, SelfLabelObjective(self.threshold), policy=strong)
        return network
