"""GATCluster: self-supervised Gaussian attention.

Niu, Zhang, Wang, Liang, ECCV 2020, https://arxiv.org/abs/2002.11863
Four tasks train one network: views agree on a balanced assignment, clusters are equally large, pairs are similar if
k-means puts them together, and a second head, which sees the last map through a Gaussian window, learns the sharpened
assignments.
Shapes: N samples per batch, M clusters, C channels of the last map.

Departures from the released code (niuchuangnn/GATCluster, deepcluster/modeling/gaussian_att_cluster_head and
deepcluster/engine/training.py): by default targets are those of each batch, k-means that of each epoch, both of 1,000
samples for eight passes there, as with target_size=1000 and passes=8; each pass has new views, the same ones there, of
grey samples; heads are one linear layer whose logits are normalised over the batch, two layers there; the window has a
width for each axis and its places are the centres of cells, one width and corners there; gradients are not clipped.
"""

from collections.abc import Mapping
from typing import final

import torch
from sklearn.cluster import KMeans
from torch import Tensor, nn

from c3clust import dist
from c3clust.losses.inputs import check_pairs
from c3clust.losses.terms import entropy, full_precision, pair_bce
from c3clust.methods._base import Clusterer, NetworkFields, parameters
from c3clust.methods._targets import TargetFields, Targets
from c3clust.networks import backbone
from c3clust.networks.heads import LabelNet
from c3clust.networks.maps import deep_channels, deep_map
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["GATCluster"]

WIDTH = 0.05  # of the attention window for δ = 1
SMALLEST = 0.1  # of a fair share: with a smaller cluster, k-means gives no pairs
EPS = 1e-5  # the released code's, added to every denominator


# 1. Loss


def balanced(p: Tensor) -> Tensor:
    """p with columns, then rows, that sum to 1: [N, M]."""
    q = p / (p.sum(dim=0) + EPS)
    return q / (q.sum(dim=1, keepdim=True) + EPS)


def attention_target(p: Tensor) -> Tensor:
    """p² with columns, then rows, that sum to 1: what the second head learns, and what k-means clusters. [N, M]"""
    t = p.square() / (p.sum(dim=0) + EPS)
    return t / (t.sum(dim=1, keepdim=True) + EPS)


def invariance_loss(p: Tensor, target: Tensor) -> Tensor:
    """-(1/N) Σ_i p_i · t_i, t the balanced assignments of the un-augmented samples. [N, M] twice"""
    check_pairs(p=p, target=target)
    return -(p * target).sum(dim=1).mean()


def relation_loss(p: Tensor, same: Tensor) -> Tensor:
    """Mean binary cross entropy of the cosines of p_i and p_j with `same` [N, N], over the pairs j <= i. p: [N, M]"""
    p = full_precision(p)
    unit = p / (p.norm(dim=1, keepdim=True) + EPS)
    i, j = torch.tril_indices(len(p), len(p), device=p.device)
    return pair_bce((unit @ unit.T)[i, j], same.to(unit.dtype)[i, j]).mean()


def window(height: int, width: int, centre: Tensor, spread: Tensor) -> Tensor:
    """exp(-‖c - μ‖² / (2 · 0.05 δ)) at the places c in [0, 1]² of a map. centre, spread: [N, 2] -> [N, H, W]"""
    y, x = ((torch.arange(n, device=centre.device) + 0.5) / n for n in (height, width))
    part = [(at - centre[:, i : i + 1]).square() / (2 * WIDTH * spread[:, i : i + 1]) for i, at in enumerate((y, x))]
    return torch.exp(-(part[0][:, :, None] + part[1][:, None, :]))


# 2. Objective


class AttentionNet(LabelNet):
    """LabelNet with a second head that sees the last map through a window."""

    def __init__(self, f: nn.Module, width: int, channels: int, n_clusters: int) -> None:
        super().__init__(f, width, n_clusters)
        self.where = nn.Sequential(nn.Linear(width, 4), nn.Sigmoid())
        self.attention = nn.Sequential(nn.Linear(channels, n_clusters), nn.BatchNorm1d(n_clusters))

    def attend(self, x: Tensor, h: Tensor) -> Tensor:
        """The assignments of the second head: [N, M]."""
        places, where = deep_map(self.f, x), self.where(h)
        mask = window(places.shape[2], places.shape[3], where[:, :2], where[:, 2:].clamp_min(1e-3))
        return torch.softmax(self.attention((places * mask[:, None]).sum(dim=(2, 3))), dim=1)


class GATClusterObjective(Targets):
    """What one step minimises: 5 invariance + 3 sizes + relations + 5 attention. State: labels of k-means too."""

    def __init__(self, n_clusters: int, together: int = 0, passes: int = 1) -> None:
        super().__init__(together, passes)
        self.n_clusters, self.labels = n_clusters, torch.empty(0, dtype=torch.int64)

    def refresh(self, network: AttentionNet, context: TrainingContext) -> None:
        if not self.together:
            self.cluster(torch.from_numpy(context.assignments(network)), context.seed)

    def refresh_targets(self, network: AttentionNet, context: TrainingContext, index: Tensor) -> None:
        super().refresh_targets(network, context, index)
        self.cluster(self.c, context.seed)

    def cluster(self, c: Tensor, seed: int) -> None:
        """k-means of the sharpened assignments of the samples."""
        t, kmeans = attention_target(c).double().numpy(), KMeans(self.n_clusters, n_init=20, random_state=seed)
        self.labels = torch.from_numpy(dist.of_first(lambda: kmeans.fit(t).labels_)).long()

    def state_dict(self) -> dict[str, Tensor]:
        return {"labels": self.labels, **super().state_dict()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        super().load_state_dict(state)
        self.labels = state["labels"]

    def same(self, index: Tensor) -> Tensor:
        """Which pairs of the batch k-means puts together; each sample only with itself if a cluster is too small."""
        every = self.labels.to(index.device)
        labels = every[self.rows(index) if self.together else index]
        known = every if self.together else labels
        sizes = torch.bincount(known, minlength=self.n_clusters) * self.n_clusters / len(known)
        if sizes.min() < SMALLEST:
            return torch.eye(len(labels), dtype=torch.bool, device=labels.device)
        return labels[:, None] == labels

    def targets(self, network: AttentionNet, batch: Batch) -> tuple[Tensor, Tensor]:
        """Balanced and sharpened assignments of the batch of all processes, among the samples that they share."""
        if not self.together:
            clean = dist.gather(self.clean(network, batch))
            return balanced(clean), attention_target(clean)
        rows, c = self.rows(dist.gather(batch.index)), self.c.to(batch.index.device)
        return balanced(c)[rows], attention_target(c)[rows]

    def __call__(self, network: AttentionNet, batch: Batch) -> dict[str, Tensor]:
        even, sharp = self.targets(network, batch)
        h = network.encode(batch.x_a)
        p = full_precision(dist.gather(torch.softmax(network.head(h), dim=1)))
        attended = full_precision(dist.gather(network.attend(batch.x_a, h)))
        invariance = invariance_loss(p, even)
        sizes = -entropy(p.mean(dim=0)) - entropy(attended.mean(dim=0))
        relations = relation_loss(p, self.same(dist.gather(batch.index)))
        attention = pair_bce(attended, sharp).mean()
        loss = 5 * invariance + 3 * sizes + relations + 5 * attention
        return {"loss": loss, "invariance_loss": invariance, "relation_loss": relations, "attention_loss": attention}


# 3. Estimator


@final
@parameters
class GATCluster(TargetFields, NetworkFields, Clusterer):
    """Cluster with GATCluster: invariance, sizes, relations of k-means, and attention by a Gaussian window.

    Parameters
    ----------
    epochs : int or "auto", default="auto"
        "auto" is about 450 steps, and at least 15 epochs.
    lr : float, default=0.001
        Learning rate of Adam; the released code's.

    Attributes
    ----------
    network_ : AttentionNet
        The encoder (`f`), the cluster head (`head`), and the window (`where`) with its head (`attention`).

    References
    ----------
    Niu, Zhang, Wang, Liang. GATCluster: self-supervised Gaussian-attention network for image clustering. ECCV 2020.
    https://arxiv.org/abs/2002.11863
    """

    def _check_params(self) -> None:
        self._check_targets()
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> AttentionNet:
        f, width = backbone(self.backbone, shape, self.stem)
        return AttentionNet(f, width, deep_channels(f, width), self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("gatcluster", self._epochs(context, 450 // self.passes, -(-15 // self.passes), 400))]

    def _fit(self, context: TrainingContext) -> AttentionNet:
        network = context.build(self._build_network)
        objective = GATClusterObjective(self.n_clusters_, self.target_size, self.passes)
        context.train(self._stages(context)[0], network, objective)
        return network
