"""SimCLR: a simple framework for contrastive learning, then k-means on its features.

Chen, Kornblith, Norouzi, Hinton, ICML 2020, https://arxiv.org/abs/2002.05709
Two views of each image are contrasted through a projection head, which is then set aside: k-means runs on the unit
features h of the encoder.
Shapes: N images per batch, F feature width, D projection width, M clusters.
"""

from dataclasses import dataclass
from typing import Any, final

from sklearn.base import BaseEstimator
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.estimator import Bench, EstimatorMixin
from c3clust.networks import backbone
from c3clust.networks.heads import head
from c3clust.networks.readouts import Centred
from c3clust.ops import nt_xent
from c3clust.training.loop import Stage, auto_epochs

__all__ = ["SimCLR"]


# 1. Loss: NT-Xent over the 2N views, ops.nt_xent


# 2. Objective


class Projected(nn.Module):
    """Encoder f with a projection head g; `forward` is the unit feature f(x) / ‖f(x)‖."""

    def __init__(self, f: nn.Module, width: int, projection_dim: int) -> None:
        super().__init__()
        self.f, self.g = f, head(width, projection_dim)

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(self.f(x).flatten(1), dim=1)

    def project(self, x: Tensor) -> Tensor:
        """g(f(x)), what is contrasted: [N, D]."""
        return self.g(self.f(x).flatten(1))


@dataclass(frozen=True)
class SimCLRObjective:
    """What one step minimises: NT-Xent of the projections over the batch of all processes."""

    tau: float

    def __call__(self, network: Centred, x_a: Tensor, x_b: Tensor) -> dict[str, Tensor]:
        g_a, g_b = dist.gather(network.body.project(x_a)), dist.gather(network.body.project(x_b))
        return {"loss": nt_xent(g_a, g_b, self.tau)}


# 3. Estimator


@final
class SimCLR(EstimatorMixin, BaseEstimator):
    """Cluster with k-means on the features that SimCLR learns.

    Parameters
    ----------
    n_clusters : int, default=10
        M, the number of clusters.
    encoder : str, torch.nn.Module or None, default=None
        A pretrained encoder, whose features take the place of the images: as in :class:`CC`.
    backbone, stem, image_size, augment
        As in :class:`CC`.
    projection_dim : int, default=128
        D, the width of the projection that is contrasted.
    tau : float, default=0.5
        Temperature. The paper: 0.5 for CIFAR-10, 0.1 for ImageNet.
    epochs : int or "auto", default="auto"
        "auto" comes to about 420 steps, and at least 15 passes. The paper: 1000 for CIFAR-10.
    batch_size : int, default=256
        The paper: 4096.
    lr : float, default=1e-3
        Learning rate of Adam. The paper: LARS.
    schedule : {"cosine", "constant"}, default="cosine"
    n_init : int, default=20
        Starts of k-means.
    random_state : int, RandomState or None, default=None
    device : str, default="auto"
    verbose : bool, default=False

    Attributes
    ----------
    labels_, confidence_ : ndarray [n]
    network_ : Centred
        Encoder and projection head (`body`) and the centres of the features (`readout`).
    stages_ : list of dict
        Name, epochs, seconds and curves of the training stage.

    References
    ----------
    Chen, Kornblith, Norouzi, Hinton. A simple framework for contrastive learning of visual representations.
    ICML 2020. https://arxiv.org/abs/2002.05709

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.simclr import SimCLR
    >>> simclr = SimCLR(n_clusters=10, epochs=1, random_state=0).fit(load_digits().images / 16)
    >>> simclr.transform(load_digits().images[:2] / 16).shape
    (2, 256)
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        backbone: str | nn.Module = "auto",
        stem: str = "auto",
        encoder: Any = None,
        image_size: int | None = None,
        augment: Any = "auto",
        projection_dim: int = 128,
        tau: float = 0.5,
        epochs: int | str = "auto",
        batch_size: int = 256,
        lr: float = 1e-3,
        schedule: str = "cosine",
        n_init: int = 20,
        random_state: Any = None,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.backbone = backbone
        self.stem = stem
        self.encoder = encoder
        self.image_size = image_size
        self.augment = augment
        self.projection_dim = projection_dim
        self.tau = tau
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.schedule = schedule
        self.n_init = n_init
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def _check_params(self) -> None:
        checks.number("tau", self.tau, 1e-3, why="it divides cosines. A usual value is 0.5.")
        checks.whole("projection_dim", self.projection_dim, why="it is a width. A usual value is 128.")
        checks.whole("n_init", self.n_init, why="it counts starts of k-means. A usual value is 20.")
        checks.stage(self.epochs, self.batch_size, self.lr, self.schedule)

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        f, width = backbone(self.backbone, shape, self.stem)
        return Centred(Projected(f, width, self.projection_dim), width, self.n_clusters)

    def _fit(self, bench: Bench) -> Centred:
        n, batch = len(bench.x), self.batch_size
        epochs = self.epochs if isinstance(self.epochs, int) else auto_epochs(n, batch, 420, 15, 400)
        network = bench.build(self._build_network)
        bench.train(Stage("simclr", epochs, batch, self.lr, self.schedule), network, SimCLRObjective(self.tau))
        network.readout.place(bench.codes(network), self.n_init, bench.seed)
        return network
