"""CC: contrastive clustering.

Li, Hu, Liu, Peng, Zhou, Peng, AAAI 2021, https://arxiv.org/abs/2009.09687
Two views of each image are contrasted in the rows of z (instances) and in the columns of c (clusters).
Shapes: N images per batch, D projection width, M clusters.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust import checks, dist, onepass
from c3clust.encoders import Encoder
from c3clust.estimator import SCALES, Bench, EstimatorMixin
from c3clust.networks import ClusterNet, backbone
from c3clust.networks.readouts import nearest, spherical_kmeans
from c3clust.ops import entropy, full_precision, nt_xent
from c3clust.training.loop import Stage, auto_epochs

__all__ = ["CC"]


ONE_PASS_FROM = 512  # images a batch


# 1. Loss


def instance_loss(z_a: Tensor, z_b: Tensor, tau_i: float = 0.5) -> Tensor:
    """L_ins of PAPER 2: NT-Xent over the 2N views, the anchor itself left out of the denominator.

    z_a, z_b: [N, D], compared by cosine. From N = 512 on in one pass over row blocks (onepass.py), where that pays.
    """
    if len(z_a) >= ONE_PASS_FROM:
        return onepass.instance_loss(F.normalize(z_a, dim=1), F.normalize(z_b, dim=1), tau_i)
    return nt_xent(z_a, z_b, tau_i)


def cluster_contrast_loss(c_a: Tensor, c_b: Tensor, tau_c: float = 1.0) -> Tensor:
    """The first term of L_clu, PAPER 2: NT-Xent over the 2M columns.

    c_a, c_b: [N, M], rows sum to 1.
    """
    return nt_xent(c_a.T, c_b.T, tau_c)


def balance_loss(c_a: Tensor, c_b: Tensor) -> Tensor:
    """The second term of L_clu, PAPER 2: log M - H(P) for each view's mean assignment P; 0 when clusters are equal."""
    p = torch.stack([full_precision(c).mean(dim=0) for c in (c_a, c_b)])  # [2, M]
    return 2 * torch.log(torch.tensor(float(p.shape[1]), dtype=p.dtype)).item() - entropy(p).sum()


def cluster_loss(c_a: Tensor, c_b: Tensor, tau_c: float = 1.0) -> Tensor:
    """L_clu of PAPER 2: contrast of the columns, less the entropy of the cluster sizes (plus log M per view).

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

    def __call__(self, network: ClusterNet, x_a: Tensor, x_b: Tensor) -> dict[str, Tensor]:
        h_a, h_b = network.encode(x_a), network.encode(x_b)
        instance = instance_loss(dist.gather(network.project(h_a)), dist.gather(network.project(h_b)), self.tau_i)
        if self.warming_up:
            return {"loss": instance, "instance_loss": instance}
        cluster = cluster_loss(dist.gather(network.assign(h_a)), dist.gather(network.assign(h_b)), self.tau_c)
        return {"loss": instance + cluster, "instance_loss": instance, "cluster_loss": cluster}


def clusters_in_z(network: ClusterNet, bench: Bench) -> tuple[Tensor, Tensor]:
    """Features h [n, F] of the clean samples, and the clusters [n] that spherical k-means finds in their z."""
    z, h = bench.features(network)
    return h, torch.from_numpy(nearest(z.numpy(), spherical_kmeans(z.numpy(), network.n_clusters, bench.seed)))


def clusters_in_x(network: ClusterNet, bench: Bench) -> tuple[Tensor, Tensor]:
    """Features h [n, F] of the clean samples, and the clusters [n] that k-means finds in what the network is given.

    For encoders that lead: of few samples, z learns to tell each from all others, and forgets the clusters that the
    features had (240 texts of 4 classes, 40 epochs, seeds 0 and 1: ACC .68 and .81 if the head starts from z, .88 and
    .91 if from spherical k-means in the features).
    """
    found = KMeans(network.n_clusters, n_init=10, random_state=bench.seed).fit(bench.pixels())
    return bench.features(network)[1], torch.from_numpy(found.labels_.astype(np.int64))


def leads(encoder: Encoder | None) -> bool:
    """Whether the cluster head begins with the clusters of the encoder's features."""
    return encoder is not None and encoder.init_head_from_features


def teach_head(
    network: ClusterNet, h: Tensor, labels: Tensor, bench: Bench, steps: int = 200, batch: int = 512
) -> None:
    """Teach g_C the clusters `labels` [n] of the fixed features h [n, F]: a few steps of cross entropy.

    A departure from the paper, where g_C starts at random: there it settles on clusters of features that mean little
    yet, and never leaves them (digits, 60 epochs, seeds 0 and 1: ACC .83 and .77 where k-means in z gives .95).
    """
    optimiser = torch.optim.Adam(network.g_c.parameters(), lr=1e-3)
    for _ in range(steps):
        i = torch.randint(len(h), (batch,), generator=bench.generator)
        loss = F.cross_entropy(network.g_c(h[i].to(bench.device)), labels[i].to(bench.device))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()


# 3. Estimator


@final
class CC(EstimatorMixin, BaseEstimator):
    """Cluster images (or feature vectors) with contrastive clustering.

    Parameters
    ----------
    n_clusters : int, default=10
        M, the number of clusters.
    encoder : str, torch.nn.Module or None, default="auto"
        A pretrained encoder, whose features f then takes: "efficientnet-lite0", "hf:NAME_OR_FOLDER", "timm:NAME", the
        folder of a run, or a module. "auto" takes the first for photographs of 64 px and more where it is installed;
        "none" is none, and so is "auto" where a backbone is chosen.
    scale : {"auto", "standard", "l2", "none"}, default="auto"
        How feature vectors are scaled: each feature to mean 0 and standard deviation 1 ("auto", "standard"), each
        vector to unit length ("l2"), or not at all.
    views : int, default=4
        Random views of a sample of which features are made, from which pairs are drawn; with 0, pairs are made from
        the features by noise and by leaving some out.
    finetune : bool, default=False
        Train the encoder too, as f, at a tenth of the learning rate, instead of taking its features as they are.
    backbone : str or torch.nn.Module, default="auto"
        The encoder f: "convnet" (up to 32 px), "resnet18", "resnet34", "resnet50", "mlp" (vectors), or a module.
    stem : {"auto", "imagenet", "small"}, default="auto"
        First layers of a ResNet; "auto" takes the 3x3 stem up to 48 px.
    image_size : int, default=None
        Side in pixels at which images are trained and predicted; None keeps their own.
    augment : str, dict or callable, default="auto"
        How views are made: "photo", "digit", "vector", "none", or {"policy": "photo", "jitter": 1.0, ...}.
    projection_dim : int, default=128
        D, the width of z.
    tau_i, tau_c : float, default=0.5 and 1.0
        Temperatures of the instance and the cluster loss.
    epochs : int or "auto", default="auto"
        "auto" comes to about 420 steps, in 15 to 200 passes.
    batch_size : int, default=256
    lr : float, default=1e-3
        Learning rate of Adam. The paper: 3e-4 for 1000 epochs of ResNet-34.
    schedule : {"cosine", "constant"}, default="cosine"
        The paper: "constant".
    warmup : float, default=0.3
        Share of the epochs with the instance loss alone; then the cluster head starts from k-means in z (of texts and
        tables, in their features). The paper: 0, and a head that starts at random.
    random_state : int, RandomState or None, default=None
    device : str, default="auto"
        "auto" takes CUDA or MPS where there is one, else the CPU.
    compile : bool, default=False
        Compile the encoder with torch.compile: about half a minute more at the start. On a CPU it gains nothing.
    verbose : bool, default=False
        Show a progress bar.

    Attributes
    ----------
    labels_ : ndarray [n]
        Cluster of each sample.
    confidence_ : ndarray [n]
        Largest entry of each sample's soft assignment.
    network_ : ClusterNet
        The trained f, g_I and g_C.
    stages_ : list of dict
        Name, epochs, seconds and curves of the training stage.

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

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        encoder: Any = "auto",
        scale: str = "auto",
        views: int = 4,
        finetune: bool = False,
        backbone: str | nn.Module = "auto",
        stem: str = "auto",
        image_size: int | None = None,
        augment: Any = "auto",
        projection_dim: int = 128,
        tau_i: float = 0.5,
        tau_c: float = 1.0,
        epochs: int | str = "auto",
        batch_size: int = 256,
        lr: float = 1e-3,
        schedule: str = "cosine",
        warmup: float = 0.3,
        random_state: Any = None,
        device: str = "auto",
        compile: bool = False,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.encoder = encoder
        self.scale = scale
        self.views = views
        self.finetune = finetune
        self.backbone = backbone
        self.stem = stem
        self.image_size = image_size
        self.augment = augment
        self.projection_dim = projection_dim
        self.tau_i = tau_i
        self.tau_c = tau_c
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.schedule = schedule
        self.warmup = warmup
        self.random_state = random_state
        self.device = device
        self.compile = compile
        self.verbose = verbose

    def _check_params(self) -> None:
        checks.number("tau_i", self.tau_i, 1e-3, why="it divides cosines. A usual value is 0.5.")
        checks.number("tau_c", self.tau_c, 1e-3, why="it divides cosines. A usual value is 1.0.")
        checks.whole("projection_dim", self.projection_dim, why="it is the width of z. A usual value is 128.")
        checks.number("warmup", self.warmup, 0, 1, why="it is a share of the epochs. A usual value is 0.3.")
        checks.choice("scale", self.scale, SCALES)
        checks.whole("views", self.views, 0, why="it counts views of a sample. A usual value is 4.")
        checks.flag("finetune", self.finetune)
        checks.stage(self.epochs, self.batch_size, self.lr, self.schedule)

    def _build_network(self, shape: tuple[int, ...]) -> ClusterNet:
        encoder = getattr(self, "encoder_", None)
        chosen = encoder.network if self.finetune and encoder is not None else self.backbone
        f, width = backbone(chosen, shape, self.stem)
        return ClusterNet(f, width, self.projection_dim, self.n_clusters)

    def _fit(self, bench: Bench) -> ClusterNet:
        n, batch = len(bench.x), self.batch_size
        epochs = self.epochs if isinstance(self.epochs, int) else auto_epochs(n, batch, 420, 15, 200)
        network = bench.build(self._build_network)
        warmup = round(self.warmup * epochs)
        if warmup:
            alone = CCObjective(self.tau_i, self.tau_c, warming_up=True)
            bench.train(Stage("warmup", warmup, batch, self.lr), network, alone)
            clusters = clusters_in_x if leads(getattr(self, "encoder_", None)) else clusters_in_z
            teach_head(network, *clusters(network, bench), bench)
        stage = Stage("cc", epochs - warmup, batch, self.lr, self.schedule)
        bench.train(stage, network, CCObjective(self.tau_i, self.tau_c))
        return network
