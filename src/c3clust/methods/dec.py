"""DEC: deep embedded clustering.

Xie, Girshick, Farhadi, ICML 2016, https://arxiv.org/abs/1511.06335
Stage 1 is a denoising autoencoder with k-means on its codes (methods/dae.py). Stage 2 drops the decoder and moves
encoder and centres so that the soft assignments q approach their own sharpened form t, which is renewed every epoch.
Shapes: N samples per batch, D code width, M clusters.

Departures from the paper: the autoencoder's layers are trained together, not one after the other; Adam takes the
place of SGD; stage 2 has a fixed length.
"""

import copy
from dataclasses import dataclass, field
from typing import Any, final

import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from c3clust import checks, dist
from c3clust.data.samples import ArrayLike
from c3clust.estimator import Bench, EstimatorMixin
from c3clust.methods.dae import DAE, pretraining
from c3clust.networks.readouts import Centred
from c3clust.ops import kl_rows, sharpened
from c3clust.training.loop import Stage, auto_epochs, embed

__all__ = ["DEC"]


# 1. Loss: KL(T ‖ Q), the mean of ops.kl_rows(t, q) over the samples, with t of


@dataclass
class SharpenedTarget:
    """t_ij of the paper's equation 3, held constant between refreshes.

    Kept are a copy of the network and the soft sizes of the clusters as they were at the last refresh: from these,
    t of any batch is computed when it is needed.
    """

    size: tuple[int, ...]
    network: Centred | None = None
    sizes: Tensor = field(default_factory=lambda: torch.empty(0))

    def refresh(self, network: Centred, x: ArrayLike) -> None:
        """Take the network as it is now, and its soft cluster sizes Σ_i q_ij over all samples."""
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        total = sum(c.double().sum(dim=0) for _, c in embed(network, x, self.size))
        self.sizes = torch.as_tensor(total).to(self.network.readout.centres)

    def memory(self) -> dict[str, Tensor]:
        """The copy and the sizes, for a checkpoint."""
        assert self.network is not None
        return {"sizes": self.sizes, **{f"network.{name}": t for name, t in self.network.state_dict().items()}}

    def recall(self, network: Centred, tensors: dict[str, Tensor]) -> None:
        """What `memory` gave, for a network of the same shape."""
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self.network.load_state_dict({name[8:]: t for name, t in tensors.items() if name.startswith("network.")})
        self.sizes = tensors["sizes"].to(self.network.readout.centres)

    def __call__(self, x: Tensor) -> Tensor:
        """t of this batch: [N, M], rows sum to 1."""
        assert self.network is not None
        with torch.no_grad():
            return sharpened(self.network(x)[1], self.sizes)


# 2. Objective


class DECObjective:
    """What one step minimises: the mean KL(t_i ‖ q_i) over the batch of all processes."""

    def __init__(self, size: tuple[int, ...]) -> None:
        self.target = SharpenedTarget(size)

    def refresh(self, network: Centred, x: ArrayLike) -> None:
        """Once an epoch: a new target."""
        self.target.refresh(network, x)

    def memory(self) -> dict[str, Tensor]:
        """For a checkpoint: the target."""
        return self.target.memory()

    def recall(self, network: Centred, tensors: dict[str, Tensor]) -> None:
        """From a checkpoint: the target."""
        self.target.recall(network, tensors)

    def __call__(self, network: Centred, x_a: Tensor, x_b: Tensor) -> dict[str, Tensor]:
        return {"loss": dist.gather(kl_rows(self.target(x_a), network(x_a)[1])).mean()}


# 3. Estimator


@final
class DEC(EstimatorMixin, BaseEstimator):
    """Cluster with deep embedded clustering: an autoencoder, then its encoder sharpens its own clusters.

    Parameters
    ----------
    n_clusters : int, default=10
        M, the number of clusters.
    encoder : str, torch.nn.Module or None, default=None
        A pretrained encoder, whose features take the place of the images: as in :class:`CC`.
    image_size : int, default=None
        Side in pixels at which images are trained and predicted; None keeps their own.
    hidden : tuple of int, default=(500, 500, 2000)
        Widths of the encoder's hidden layers; the decoder has them in reverse.
    code_dim : int, default=10
        D, the width of z.
    noise : float, default=0.2
        Share of entries set to 0 while the autoencoder is trained.
    pretrain_epochs, pretrain_batch_size, pretrain_lr, pretrain_schedule
        Stage 1, the autoencoder: `epochs`, `batch_size`, `lr` and `schedule` of :class:`DAE`.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" comes to about 200 steps, and at least 5 passes.
        The paper: until fewer than 0.1 % of the labels change.
    batch_size : int, default=256
    lr : float, default=1e-4
        Learning rate of Adam. The paper: SGD at 0.01.
    schedule : {"constant", "cosine"}, default="constant"
    n_init : int, default=20
        Starts of the k-means that places the centres.
    random_state : int, RandomState or None, default=None
    device : str, default="auto"
    verbose : bool, default=False

    Attributes
    ----------
    labels_, confidence_ : ndarray [n]
    start_labels_ : ndarray [n]
        The clusters before stage 2: k-means on the codes of the autoencoder.
    network_ : Centred
        The autoencoder (`body`) and the centres of its codes (`readout`).
    stages_ : list of dict
        Name, epochs, seconds and curves of both stages.

    References
    ----------
    Xie, Girshick, Farhadi. Unsupervised deep embedding for clustering analysis. ICML 2016.
    https://arxiv.org/abs/1511.06335

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.dec import DEC
    >>> dec = DEC(n_clusters=10, hidden=(50,), pretrain_epochs=1, epochs=1, random_state=0)
    >>> dec.fit(load_digits().images / 16).predict_proba(load_digits().images[:2] / 16).shape
    (2, 10)
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        encoder: Any = None,
        image_size: int | None = None,
        hidden: Any = (500, 500, 2000),
        code_dim: int = 10,
        noise: float = 0.2,
        pretrain_epochs: int | str = "auto",
        pretrain_batch_size: int = 256,
        pretrain_lr: float = 1e-3,
        pretrain_schedule: str = "cosine",
        epochs: int | str = "auto",
        batch_size: int = 256,
        lr: float = 1e-4,
        schedule: str = "constant",
        n_init: int = 20,
        random_state: Any = None,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.encoder = encoder
        self.image_size = image_size
        self.hidden = hidden
        self.code_dim = code_dim
        self.noise = noise
        self.pretrain_epochs = pretrain_epochs
        self.pretrain_batch_size = pretrain_batch_size
        self.pretrain_lr = pretrain_lr
        self.pretrain_schedule = pretrain_schedule
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.schedule = schedule
        self.n_init = n_init
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def _check_params(self) -> None:
        checks.stage(self.epochs, self.batch_size, self.lr, self.schedule)
        self._stage_1()._check_params()

    def _stage_1(self) -> DAE:
        return pretraining(self)

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        return self._stage_1()._build_network(shape)

    def _fit(self, bench: Bench) -> Centred:
        network = self._stage_1()._fit(bench)
        self.start_labels_ = bench.assignments(network).argmax(axis=1)
        prepare_sharpening(network)
        epochs = sharpening_epochs(self.epochs, bench, self.batch_size)
        stage = Stage("dec", epochs, self.batch_size, self.lr, self.schedule)
        bench.train(stage, network, DECObjective(bench.size))
        return network


# What IDEC shares.


def prepare_sharpening(network: Centred) -> None:
    """Let the centres be trained, and use the kernel of the paper: one degree of freedom, no spread."""
    network.readout.centres.requires_grad_()
    network.readout.spread.fill_(1.0)


def sharpening_epochs(epochs: int | str, bench: Bench, batch_size: int) -> int:
    """ "auto" comes to about 200 steps, and at least 5 passes."""
    return epochs if isinstance(epochs, int) else auto_epochs(len(bench.x), batch_size, 200, 5, 100)
