"""CC: contrastive clustering.

Li, Hu, Liu, Peng, Zhou, Peng, AAAI 2021, https://arxiv.org/abs/2009.09687
Two views of each image are contrasted in the rows of z (instances) and in the columns of c (clusters).
Shapes: N images per batch, D projection width, M clusters.

A departure from the paper, by default: the first epochs train the instance loss alone, and the cluster head then starts
from k-means in z instead of at random, where it settles on clusters of features that mean little yet. warmup=0 is the
paper's method.
"""

import copy
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.data.samples import Dataset
from c3clust.features.preprocess import Preprocessor
from c3clust.losses import onepass
from c3clust.losses.terms import entropy, full_precision, nt_xent
from c3clust.methods._base import Clusterer, EncoderFields, parameters
from c3clust.methods._start import architecture, fitted_start, started_network
from c3clust.networks import ClusterNet, backbone
from c3clust.networks.readouts import nearest, spherical_kmeans
from c3clust.training import Adam, Batch, Stage, TrainingContext

__all__ = ["CC"]


ONE_PASS_FROM = 512  # images per batch, or clusters


# 1. Loss


def instance_loss(z_a: Tensor, z_b: Tensor, tau_i: float = 0.5, shared: bool = False) -> Tensor:
    """The instance loss (CC, equation 3): NT-Xent over the 2N views, the anchor itself left out of the denominator.

    z_a, z_b: [N, D], compared by cosine. From N = 512 on in one pass over row blocks (losses/onepass.py).
    shared: z_a and z_b are this process's part of the batch; the loss is that of the whole batch, of which each process
    computes its own rows.
    """
    if len(z_a) >= ONE_PASS_FROM or (shared and dist.world_size() > 1):
        return onepass.instance_loss(F.normalize(z_a, dim=1), F.normalize(z_b, dim=1), tau_i, shared=shared)
    return nt_xent(z_a, z_b, tau_i)


def cluster_contrast_loss(c_a: Tensor, c_b: Tensor, tau_c: float = 1.0) -> Tensor:
    """The first term of the cluster loss (CC, equation 6): NT-Xent over the 2M columns.

    c_a, c_b: [N, M], rows sum to 1. From M = 512 on in one pass, as the instance loss: memory is linear in M.
    """
    if c_a.shape[1] < ONE_PASS_FROM:
        return nt_xent(c_a.T, c_b.T, tau_c)
    a, b = (F.normalize(full_precision(c).T, dim=1, eps=1e-8) for c in (c_a, c_b))
    return onepass.instance_loss(a, b, tau_c)


def balance_loss(c_a: Tensor, c_b: Tensor) -> Tensor:
    """The second term of the cluster loss: log M - H(P) for each view's mean assignment P; 0 for equal clusters."""
    p = torch.stack([full_precision(c).mean(dim=0) for c in (c_a, c_b)])  # [2, M]
    return 2 * torch.log(torch.tensor(float(p.shape[1]), dtype=p.dtype)).item() - entropy(p).sum()


def cluster_loss(c_a: Tensor, c_b: Tensor, tau_c: float = 1.0) -> Tensor:
    """The cluster loss (CC, equation 6): contrast of the columns, minus the entropy of the sizes, plus log M per view.

    c_a, c_b: [N, M], rows sum to 1. Finite, with a finite gradient, when a cluster is empty.
    """
    return cluster_contrast_loss(c_a, c_b, tau_c) + balance_loss(c_a, c_b)


# 2. Objective


@dataclass(frozen=True)
class CCObjective:
    """What one step of CC minimises: L_ins + L_clu over the batch of all processes; L_ins alone while warming up."""

    tau_i: float
    tau_c: float
    warming_up: bool = False

    @property
    def assigns(self) -> bool:
        """The instance loss alone does not train the cluster head."""
        return not self.warming_up

    def __call__(self, network: ClusterNet, batch: Batch) -> dict[str, Tensor]:
        h_a, h_b = network.encode(batch.x_a), network.encode(batch.x_b)
        instance = instance_loss(network.project(h_a), network.project(h_b), self.tau_i, shared=True)
        if self.warming_up:
            return {"loss": instance, "instance_loss": instance}
        cluster = cluster_loss(dist.gather(network.assign(h_a)), dist.gather(network.assign(h_b)), self.tau_c)
        return {"loss": instance + cluster, "instance_loss": instance, "cluster_loss": cluster}


def cluster_projections(network: ClusterNet, context: TrainingContext) -> tuple[Tensor, Tensor]:
    """Features h [n, F] of the un-augmented samples, and the clusters [n] that spherical k-means finds in their z."""
    z, h = context.features(network)
    centres = spherical_kmeans(z.numpy(), network.n_clusters, context.seed, shared=True)
    return h, torch.from_numpy(nearest(z.numpy(), centres))


def cluster_inputs(network: ClusterNet, context: TrainingContext) -> tuple[Tensor, Tensor]:
    """Features h [n, F] of the un-augmented samples, and the clusters [n] that k-means finds in the network's input.

    For encoders of texts and tables: with few samples, z separates each one from all others, and loses the
    clusters that the encoder's features have.
    """
    found = KMeans(network.n_clusters, n_init=10, random_state=context.seed).fit(context.pixels())
    return context.features(network)[1], torch.from_numpy(found.labels_.astype(np.int64))


def fit_head(
    network: ClusterNet, h: Tensor, labels: Tensor, context: TrainingContext, steps: int = 200, batch: int = 512
) -> None:
    """Train g_C alone on the clusters `labels` [n] of the fixed features h [n, F], by cross entropy."""
    optimiser = Adam(network.g_c.parameters(), lr=1e-3)
    for _ in range(steps):
        i = torch.randint(len(h), (batch,), generator=context.generator)
        loss = F.cross_entropy(network.g_c(h[i].to(context.device)), labels[i].to(context.device))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()


# 3. Estimator


@final
@parameters
class CC(EncoderFields, Clusterer):
    """Cluster images (or feature vectors) with contrastive clustering.

    Parameters
    ----------
    epochs : int or "auto", default="auto"
        "auto" is about 420 steps, in 15 to 200 epochs. The paper: 1000.
    lr : float, default=0.001
        Learning rate of Adam. The paper: 3e-4, for ResNet-34.
    schedule : {"cosine", "constant"}, default="cosine"
        The paper: "constant".
    warmup : float, default=0.3
        Fraction of the epochs with the instance loss alone; then the cluster head starts from k-means in z (for texts
        and tables, in their features). The paper: 0, and a head that starts at random.
    start : CC, path or None, default=None
        A network to continue from, with a new optimiser and without warm-up: a fitted CC, the folder of a saved one,
        with its encoder and size of images, or a checkpoint of CC's released code (checkpoint_1000.tar). With
        `epochs=0` it is used unchanged.

    Attributes
    ----------
    network_ : ClusterNet
        The trained f, g_I and g_C.

    References
    ----------
    Li, Hu, Liu, Peng, Zhou, Peng. Contrastive Clustering. AAAI 2021. https://arxiv.org/abs/2009.09687

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust import CC
    >>> cc = CC(n_clusters=10, epochs=1, random_state=0).fit(load_digits().images / 16)
    >>> cc.predict_proba(load_digits().images[:2] / 16).shape
    (2, 10)
    """

    chooses_k: ClassVar[bool] = True

    warmup: float = 0.3
    start: Any = None

    def _check_params(self) -> None:
        self._check_network()
        checks.number("warmup", self.warmup, 0, 1, why="it is a fraction of the epochs. A usual value is 0.3.")
        self._check_stage()

    def _choose_preprocessor(self, dataset: Dataset) -> tuple[Preprocessor, str | None]:
        """That of the start, if there is one: its encoder, scaling and size."""
        if self.start is None:
            return super()._choose_preprocessor(dataset)
        return copy.copy(fitted_start(self, {"cc": CC}).preprocessor_), None

    def _resolved_params(self) -> dict[str, Any]:
        return super()._resolved_params() | architecture(self)

    def _build_network(self, shape: tuple[int, ...]) -> ClusterNet:
        encoder: Any = self.preprocessor_.encoder
        chosen = encoder.network if self.finetune and encoder is not None else self.backbone
        f, width = backbone(chosen, shape, self.stem)
        return ClusterNet(f, width, self.projection_dim, self.n_clusters_)

    def _choose_head(self, network: ClusterNet, context: TrainingContext) -> None:
        """n_clusters="auto": find the number of clusters of the features learned so far, and give g_C that many."""
        if self.n_clusters == "auto" and self.choice_ is None:
            self._choose_clusters(context.features(network)[1].numpy(), context)
            network.set_clusters(self.n_clusters_, context.seed)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        epochs = self._epochs(context, 420, 15, 200)
        warmup = 0 if self.start is not None else round(self.warmup * epochs)
        first = [Stage("warmup", warmup, self.batch_size, self.lr)] if warmup else []
        return [*first, self._stage("cc", epochs - warmup)]

    def _fit(self, context: TrainingContext) -> ClusterNet:
        *warmup, last = self._stages(context)
        if self.start is not None:
            network = started_network(self, fitted_start(self, {"cc": CC}), context)
        else:
            if self.n_clusters == "auto" and (len(context.shape) == 1 or not warmup):
                self._choose_clusters(context.pixels(), context)
            network = context.build(self._build_network)
        if warmup:
            warming_up = CCObjective(self.tau_i, self.tau_c, warming_up=True)
            context.train(warmup[0], network, warming_up)
            self._choose_head(network, context)
            clusters = cluster_inputs if self._init_head_from_features else cluster_projections
            n = len(context.x)
            steps = min(max(n // 5, 20), 200)  # few samples are learned in fewer steps
            fit_head(network, *clusters(network, context), context, steps, batch=min(n, 512))
        context.train(last, network, CCObjective(self.tau_i, self.tau_c))
        return network
