"""ADC: associative deep clustering.

Haeusser, Plapp, Golkov, Aljalbout, Cremers, GCPR 2018
Random walks go from trainable centroids to the embeddings of a batch and back: they should end in the cluster they
started from, and visit all samples. Walks from views to the samples and back should end at a view of the same sample.
Shapes: N samples per batch, D embedding width, C centroids, M clusters.

Departures from the released code (jplapp/associative_deep_clustering, semisup/train_unsup2.py and backend.py): two
views of a sample stand for three copies; embeddings have the length 3, where a penalty of weight 2e-4 draws them to a
length, 1 by default (`norm_target`); the logits start from the centres of k-means, not at random; the learning rate
falls by a cosine, there to a third every 5,000 steps; no dropout, no penalty on absolute values. As there: walks go
over un-augmented samples; k-means after a warm-up with the views alone (`init_with_kmeans`), from which on the views
weigh a fifth (`reg_decay_factor`); no transformation loss (`trafo_weight=0`).
"""

from typing import final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.losses.inputs import check_pairs
from c3clust.losses.terms import full_precision, twin_mask
from c3clust.methods._base import Clusterer, NetworkFields, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.networks import backbone
from c3clust.networks.readouts import spherical_kmeans
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["ADC"]

PER_CLUSTER = 4  # centroids
LENGTH = 3.0  # of embeddings and centroids, so that a walk can be certain
VIEWS = 0.2  # weight of the walks between views and samples after the warm-up


# 1. Loss


def visits(a: Tensor, b: Tensor) -> Tensor:
    """P_ab = softmax over the rows of a bᵀ: the probabilities of a step from a to b. [A, D], [B, D] -> [A, B]"""
    return torch.softmax(full_precision(a) @ full_precision(b).T, dim=1)


def walker_loss(a: Tensor, b: Tensor, target: Tensor) -> Tensor:
    """Cross entropy of the walks a -> b -> a, P_ab P_ba, with `target` [A, A], rows sum to 1.

    The sum over b does not depend on the order of b: a pair of views has to stand in `target`, that is within a.
    """
    walks = visits(a, b) @ visits(b, a)
    return -(target * walks.clamp_min(1e-8).log()).sum(dim=1).mean()


def visit_loss(a: Tensor, b: Tensor) -> Tensor:
    """Cross entropy of the uniform distribution with the mean step a -> b: all of b are visited."""
    return -visits(a, b).mean(dim=0).clamp_min(1e-8).log().mean()


def view_loss(z_a: Tensor, z_b: Tensor, z: Tensor) -> Tensor:
    """Walks from the 2N views to the N samples and back end at either view of the same sample; all samples are visited.

    z_a, z_b, of views, and z, of the samples: [N, D].
    """
    check_pairs(z_a=z_a, z_b=z_b, z=z)
    views, same = torch.cat([z_a, z_b]), twin_mask(len(z_a), z_a.device)
    return walker_loss(views, z, same.to(views.dtype) / 2) + visit_loss(views, z)


# 2. Objective


class AssociationNet(nn.Module):
    """Encoder f, embedding g, centroids and the logits of clusters: x -> (embedding, assignment)."""

    def __init__(self, f: nn.Module, width: int, projection_dim: int, n_clusters: int) -> None:
        super().__init__()
        self.f, self.g, self.n_clusters = f, nn.Linear(width, projection_dim), n_clusters
        self.centroids = nn.Parameter(0.3 * torch.randn(PER_CLUSTER * n_clusters, projection_dim))
        self.logits = nn.Linear(projection_dim, n_clusters)

    @property
    def owners(self) -> Tensor:
        """The cluster of each centroid: [C]."""
        return torch.arange(self.n_clusters, device=self.centroids.device).repeat_interleave(PER_CLUSTER)

    def embed(self, x: Tensor) -> Tensor:
        return LENGTH * F.normalize(self.g(self.f(x).flatten(1)), dim=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.embed(x)
        return z, torch.softmax(self.logits(z), dim=1)

    @torch.no_grad()
    def place(self, centres: Tensor) -> None:
        """Centroids near the unit centres [M, D], and logits that choose the nearest."""
        start = LENGTH * centres.to(self.centroids)
        noise = 0.01 * torch.randn(self.centroids.shape).to(start)
        self.centroids.copy_(start.repeat_interleave(PER_CLUSTER, dim=0) + noise)
        self.logits.weight.copy_(start)
        self.logits.bias.zero_()


class ADCObjective:
    """What one step minimises: walks from views; after the warm-up, walks from centroids and their logits too."""

    def __init__(self, warming_up: bool) -> None:
        self.warming_up = warming_up

    def __call__(self, network: AssociationNet, batch: Batch) -> dict[str, Tensor]:
        z_a, z_b, z = (dist.gather(network.embed(x)) for x in (batch.x_a, batch.x_b, batch.x))
        views = view_loss(z_a, z_b, z)
        if self.warming_up:
            return {"loss": views, "view_loss": views}
        mu, owners = dist.replicated(network.centroids), network.owners
        same = (owners[:, None] == owners).float() / PER_CLUSTER
        logits = dist.replicated(F.cross_entropy(network.logits(network.centroids), owners))
        walks = walker_loss(mu, z, same) + 0.5 * visit_loss(mu, z)
        loss = VIEWS * views + walks + 0.5 * logits
        return {"loss": loss, "view_loss": views, "walk_loss": walks, "logit_loss": logits}


# 3. Estimator


@final
@parameters
class ADC(OptimiserFields, NetworkFields, Clusterer):
    """Cluster with associative deep clustering: random walks between centroids and embeddings.

    Parameters
    ----------
    warmup : float, default=0.3
        Fraction of the epochs with walks from views alone.
    projection_dim : int, default=128
        D, the width of the embedding.
    epochs : int or "auto", default="auto"
        "auto" is about 600 steps, and at least 15 epochs.
    lr : float, default=0.001
        Learning rate of Adam. The released code: 2e-4.

    Attributes
    ----------
    network_ : AssociationNet
        The encoder (`f`), the embedding (`g`), the centroids and the logits of clusters.

    References
    ----------
    Haeusser, Plapp, Golkov, Aljalbout, Cremers. Associative deep clustering: training a classification network with no
    labels. GCPR 2018. https://github.com/jplapp/associative_deep_clustering
    """

    warmup: float = 0.3

    def _check_params(self) -> None:
        checks.number("warmup", self.warmup, 0, 1, why="it is a fraction of the epochs. A usual value is 0.3.")
        checks.whole("projection_dim", self.projection_dim, why="it is the width of z. A usual value is 128.")
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> AssociationNet:
        return AssociationNet(*backbone(self.backbone, shape, self.stem), self.projection_dim, self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        epochs = self._epochs(context, 600, 15, 400)
        first = round(self.warmup * epochs)
        return [self._stage("warmup", first), self._stage("adc", epochs - first)]

    def _fit(self, context: TrainingContext) -> AssociationNet:
        network, (warmup, joint) = context.build(self._build_network), self._stages(context)
        context.train(warmup, network, ADCObjective(warming_up=True))
        z = context.projections(network) / LENGTH
        network.place(torch.from_numpy(spherical_kmeans(z, self.n_clusters_, context.seed)))
        context.train(joint, network, ADCObjective(warming_up=False))
        return network
