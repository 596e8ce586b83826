"""DCCM: deep comprehensive correlation mining.

Wu, Long, Wang, Qian, Li, Lin, Zha, ICCV 2019, https://arxiv.org/abs/1904.06925
Assignments of un-augmented samples give a graph of similar pairs and labels of confident samples; views are trained on
both. The mutual information between the logits and the shallow map of the same sample, or of a neighbour in the graph,
is maximised.
Shapes: N samples per batch, M clusters, C channels of the shallow map.

Departures from the released code (Cory-M/DCCM, main.py, utils and models/dim_Model.py): by default targets are those of
each batch, of 1,000 samples for ten passes of two views there, as with target_size=1000 and passes=20 (in evaluation
mode, not with the statistics of these samples); cosines are not divided by the largest of the batch, which is 1 up to
rounding; a random neighbour and one non-neighbour per sample, the first in the batch and two there; the discriminator
has one hidden layer of 128 channels, two of 512 there; Adam replaces RMSprop. As there: the logits are normalised over
the batch for the assignments, and taken before that for the mutual information.
"""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.losses.inputs import check_pairs
from c3clust.losses.terms import full_precision, pair_bce
from c3clust.methods._base import Clusterer, NetworkFields, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.methods._targets import TargetFields, Targets
from c3clust.networks import backbone
from c3clust.networks.heads import LabelNet
from c3clust.networks.maps import shallow_channels, shallow_map
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["DCCM"]

HIDDEN = 128  # channels of the discriminator; the released code: 512


# 1. Loss


def graph_loss(p: Tensor, graph: Tensor) -> Tensor:
    """Mean binary cross entropy of the cosines of p_i and p_j with the graph. p: [N, M]; graph: [N, N]."""
    unit = F.normalize(full_precision(p), dim=1)
    return pair_bce(unit @ unit.T, graph.to(unit.dtype)).mean()


def label_loss(p: Tensor, target: Tensor, threshold: float) -> Tensor:
    """(1/N) Σ_i v_i (1/M) Σ_k BCE(p_ik, 1{k = argmax target_i}), v_i = 1{max target_i >= threshold}."""
    check_pairs(p=p, target=target)
    confidence, labels = target.max(dim=1)
    each = pair_bce(p, F.one_hot(labels, p.shape[1]).to(p.dtype)).mean(dim=1)
    return (each * (confidence >= threshold)).mean()


def information_loss(positive: Tensor, negative: Tensor) -> Tensor:
    """Mean of softplus(-D) over matching and of softplus(D) over other pairs of features and places."""
    return F.softplus(-positive).mean() + F.softplus(negative).mean()


# 2. Objective


class CorrelationNet(LabelNet):
    """LabelNet with a discriminator of pairs of logits and places of a shallow map."""

    def __init__(self, f: nn.Module, width: int, channels: int, n_clusters: int) -> None:
        super().__init__(f, width, n_clusters)
        self.deep, self.place = nn.Linear(n_clusters, HIDDEN), nn.Conv2d(channels, HIDDEN, 1)
        self.last = nn.Conv2d(HIDDEN, 1, 1)

    def discriminate(self, logits: Tensor, places: Tensor) -> Tensor:
        """D of each sample's logits [N, M] and each place of a map [N, C, H, W]: [N, 1, H, W]."""
        return self.last(F.relu(self.deep(logits)[:, :, None, None] + self.place(places)))


def pick(allowed: Tensor) -> Tensor:
    """For each row, a random column that is allowed; any other sample where none is. [N, N] bool -> [N]"""
    weight = allowed.float().fill_diagonal_(0)
    others = 1 - torch.eye(len(weight), device=weight.device)
    weight = torch.where(weight.sum(dim=1, keepdim=True) > 0, weight, others)
    return torch.multinomial(weight.clamp_min(1e-12), 1).squeeze(1)


class DCCMObjective(Targets):
    """What one step minimises: 5 L_label + L_graph + 0.05 L_MI, with the weights given."""

    def __init__(
        self, weights: tuple[float, float, float], graph: float, label: float, together: int = 0, passes: int = 1
    ) -> None:
        super().__init__(together, passes)
        self.weights, self.graph, self.label = weights, graph, label

    def __call__(self, network: CorrelationNet, batch: Batch) -> dict[str, Tensor]:
        target = dist.gather(self.clean(network, batch))
        unit = F.normalize(target, dim=1)
        similar = unit @ unit.T >= self.graph  # [N, N]
        i = dist.rank() * len(batch.index) + torch.arange(len(batch.index), device=unit.device)  # the own rows
        linear, norm = network.head
        logits = linear(network.encode(batch.x_a))
        p = dist.gather(torch.softmax(norm(logits), dim=1))
        graph, label = graph_loss(p, similar), label_loss(p, target, self.label)
        own = shallow_map(network.f, batch.x_a)
        places = dist.gather_columns(own)
        near, far = places[pick(similar)[i]], places[pick(~similar)[i]]
        positive = torch.cat([network.discriminate(logits, each) for each in (own, near)])
        information = information_loss(dist.gather(positive), dist.gather(network.discriminate(logits, far)))
        by_label, by_graph, by_information = self.weights
        loss = by_label * label + by_graph * graph + by_information * information
        return {"loss": loss, "label_loss": label, "graph_loss": graph, "information_loss": information}


# 3. Estimator


@final
@parameters
class DCCM(OptimiserFields, TargetFields, NetworkFields, Clusterer):
    """Cluster with deep comprehensive correlation mining: similar pairs, confident labels, mutual information.

    Parameters
    ----------
    graph_threshold : float, default=0.95
        Cosine of two assignments from which a pair is similar.
    label_threshold : float, default=0.9
        Confidence from which a sample has a label.
    label_weight, graph_weight, information_weight : float, default=5.0, 1.0 and 0.05
        Weights of the three terms; the released code's.
    epochs : int or "auto", default="auto"
        "auto" is about 600 steps, and at least 15 epochs. The paper: 200.
    lr : float, default=0.001
        Learning rate of Adam. The paper: RMSprop at 1e-4.

    Attributes
    ----------
    network_ : CorrelationNet
        The encoder (`f`), the cluster head (`head`) and the discriminator (`deep`, `place`, `last`).

    References
    ----------
    Wu, Long, Wang, Qian, Li, Lin, Zha. Deep comprehensive correlation mining for image clustering. ICCV 2019.
    https://arxiv.org/abs/1904.06925
    """

    graph_threshold: float = 0.95
    label_threshold: float = 0.9
    label_weight: float = 5.0
    graph_weight: float = 1.0
    information_weight: float = 0.05

    def _check_params(self) -> None:
        for name, usual in (("graph_threshold", 0.95), ("label_threshold", 0.9)):
            checks.number(name, getattr(self, name), 0, 1, why=f"it is a cosine or probability. Try {usual}.")
        for name in ("label_weight", "graph_weight", "information_weight"):
            checks.number(name, getattr(self, name), 0, why="it is the weight of a term. A usual value is 1.0.")
        self._check_targets()
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> CorrelationNet:
        f, width = backbone(self.backbone, shape, self.stem)
        return CorrelationNet(f, width, shallow_channels(f, shape), self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("dccm", self._epochs(context, 600 // self.passes, -(-15 // self.passes), 400))]

    def _fit(self, context: TrainingContext) -> CorrelationNet:
        network = context.build(self._build_network)
        weights = (self.label_weight, self.graph_weight, self.information_weight)
        shared = self.target_size, self.passes
        objective = DCCMObjective(weights, self.graph_threshold, self.label_threshold, *shared)
        context.train(self._stages(context)[0], network, objective)
        return network
