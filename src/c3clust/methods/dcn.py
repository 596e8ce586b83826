"""DCN: a deep clustering network, for codes that k-means likes.

Yang, Fu, Sidiropoulos, Hong, ICML 2017, https://arxiv.org/abs/1610.04794
Stage 1 is a denoising autoencoder with k-means on its codes (methods/dae.py). Stage 2 alternates with every batch:
the network takes a step with the centres fixed, the centres move as running means of the codes assigned to them.
Shapes: N samples per batch, D code width, M clusters.

Departures from the paper: the autoencoder's layers are trained together, not one after the other; Adam takes the
place of SGD; centres move by the codes as they were just before the network's step.
"""

from dataclasses import dataclass
from typing import Any, final

import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from c3clust import checks, dist
from c3clust.estimator import Bench, EstimatorMixin
from c3clust.methods.ae import reconstruction_errors
from c3clust.methods.dae import DAE, pretraining
from c3clust.networks.readouts import Centred
from c3clust.training.loop import Stage, auto_epochs

__all__ = ["DCN"]

COUNT = 100.0  # so many samples each centre stands for at the start


# 1. Loss


def centre_errors(z: Tensor, centres: Tensor, labels: Tensor) -> Tensor:
    """‖z_i - m_(s_i)‖², s_i the label: [N, D], [M, D], [N] -> [N]."""
    return (z - centres[labels]).square().sum(dim=1)


def moved_centres(centres: Tensor, counts: Tensor, z: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Centres and counts after the codes z, one by one: c_k += 1, m_k -= (m_k - z_i) / c_k, k the label of i.

    That is a running mean: m_k = (c_k m_k + Σ z_i) / (c_k + n_k), whatever the order.
    """
    n = torch.bincount(labels, minlength=len(centres)).to(counts)  # [M]
    sums = (counts[:, None] * centres).index_add(0, labels, z)  # [M, D]
    return sums / (counts + n)[:, None], counts + n


# 2. Objective


@dataclass
class DCNObjective:
    """What one step minimises: mean ‖x - x̂‖² / d + λ/2 mean ‖z - m_s‖² over the batch of all processes.

    After that the centres move; gradients do not reach them.
    """

    lam: float
    counts: Tensor | None = None

    def __call__(self, network: Centred, x_a: Tensor, x_b: Tensor) -> dict[str, Tensor]:
        z, c = network(x_a)
        labels, centres = c.argmax(dim=1), network.readout.centres.detach().clone()
        errors = reconstruction_errors(network.body.scaled(x_a), network.body.decode(z))
        reconstruction = dist.gather(errors).mean()
        cluster = dist.gather(centre_errors(z, centres, labels)).mean()
        self._move(network, dist.gather(z.detach()), dist.gather(labels))
        loss = reconstruction + self.lam / 2 * cluster
        return {"loss": loss, "reconstruction_loss": reconstruction, "cluster_loss": cluster}

    def memory(self) -> dict[str, Tensor]:
        """For a checkpoint: how many samples each centre stands for."""
        assert self.counts is not None
        return {"counts": self.counts}

    def recall(self, network: Centred, tensors: dict[str, Tensor]) -> None:
        """What `memory` gave."""
        self.counts = tensors["counts"].to(network.readout.centres)

    @torch.no_grad()
    def _move(self, network: Centred, z: Tensor, labels: Tensor) -> None:
        centres = network.readout.centres
        if self.counts is None:
            self.counts = centres.new_full((len(centres),), COUNT)
        moved, self.counts = moved_centres(centres, self.counts, z, labels)
        centres.copy_(moved)


# 3. Estimator


@final
class DCN(EstimatorMixin, BaseEstimator):
    """Cluster with a deep clustering network: an autoencoder whose codes are drawn to k-means centres.

    Parameters
    ----------
    n_clusters : int, default=10
        M, the number of clusters.
    lam : float, default=0.05
        λ, the weight of the distance to the centre beside the reconstruction. The paper's value; it weighs more here,
        where the reconstruction error is a mean over the entries of x and not a sum.
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
        Stage 2. "auto" comes to about 200 steps, and at least 5 passes. The paper: 50 epochs.
    batch_size : int, default=256
    lr : float, default=1e-4
        Learning rate of Adam. The paper: SGD at 1e-4 with momentum 0.9.
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
    Yang, Fu, Sidiropoulos, Hong. Towards K-means-friendly spaces: simultaneous deep learning and clustering. ICML 2017.
    https://arxiv.org/abs/1610.04794

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.dcn import DCN
    >>> dcn = DCN(n_clusters=10, hidden=(50,), pretrain_epochs=1, epochs=1, random_state=0)
    >>> dcn.fit(load_digits().images / 16).predict_proba(load_digits().images[:2] / 16).shape
    (2, 10)
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        lam: float = 0.05,
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
        self.lam = lam
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
        checks.number("lam", self.lam, 0, why="it weighs the distance to centres. A usual value is 0.05.")
        checks.stage(self.epochs, self.batch_size, self.lr, self.schedule)
        self._stage_1()._check_params()

    def _stage_1(self) -> DAE:
        return pretraining(self)

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        return self._stage_1()._build_network(shape)

    def _fit(self, bench: Bench) -> Centred:
        network = self._stage_1()._fit(bench)
        self.start_labels_ = bench.assignments(network).argmax(axis=1)
        n, batch = len(bench.x), self.batch_size
        epochs = self.epochs if isinstance(self.epochs, int) else auto_epochs(n, batch, 200, 5, 100)
        bench.train(Stage("dcn", epochs, batch, self.lr, self.schedule), network, DCNObjective(self.lam))
        return network
