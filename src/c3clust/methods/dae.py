"""DAE: a denoising autoencoder, then k-means on its codes.

Vincent, Larochelle, Lajoie, Bengio, Manzagol, JMLR 2010. An autoencoder (methods/ae.py) that is shown samples with
some entries set to 0 and must give back the whole ones. As there, all layers are trained together.
Shapes: N samples per batch, d input entries, D code width, M clusters.
"""

from dataclasses import dataclass
from typing import Any, final

import torch
from sklearn.base import BaseEstimator
from torch import Tensor

from c3clust import checks, dist
from c3clust.estimator import Bench, EstimatorMixin
from c3clust.methods.ae import check_widths, reconstruction_epochs, reconstruction_errors, set_scale
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training.loop import Stage

__all__ = ["DAE"]


# 1. Loss: AE's reconstruction error, of


def corrupt(x: Tensor, noise: float) -> Tensor:
    """x̃: each entry of x set to 0 with probability `noise`."""
    return x * (torch.rand_like(x) >= noise)


# 2. Objective


@dataclass(frozen=True)
class DAEObjective:
    """What one step minimises: the mean of ‖x - g(f(x̃))‖² / d over the batch of all processes."""

    noise: float

    def __call__(self, network: Centred, x_a: Tensor, x_b: Tensor) -> dict[str, Tensor]:
        body = network.body
        errors = reconstruction_errors(body.scaled(x_a), body.decode(body(corrupt(x_a, self.noise))))
        return {"loss": dist.gather(errors).mean()}


# 3. Estimator


@final
class DAE(EstimatorMixin, BaseEstimator):
    """Cluster with k-means in the code of a denoising autoencoder.

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
    noise : float, default=0.25
        ν, the share of entries set to 0 before encoding.
    epochs : int or "auto", default="auto"
        "auto" comes to about 500 steps, and at least 15 passes. The literature: 50 to 500 epochs.
    batch_size : int, default=256
    lr : float, default=1e-3
        Learning rate of Adam.
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
        The autoencoder (`body`) and the centres of its codes (`readout`).
    stages_ : list of dict
        Name, epochs, seconds and curves of the training stage.

    References
    ----------
    Vincent, Larochelle, Lajoie, Bengio, Manzagol. Stacked denoising autoencoders: learning useful representations in
    a deep network with a local denoising criterion. JMLR 11, 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.dae import DAE
    >>> dae = DAE(n_clusters=10, hidden=(50,), epochs=1, random_state=0).fit(load_digits().images / 16)
    >>> dae.transform(load_digits().images[:2] / 16).shape
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
        noise: float = 0.25,
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
        self.encoder = encoder
        self.image_size = image_size
        self.hidden = hidden
        self.code_dim = code_dim
        self.noise = noise
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
        checks.number("noise", self.noise, 0, 1, why="it is a share of the entries. A usual value is 0.25.")
        check_widths(self.hidden, self.code_dim, self.n_init)

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        return Centred(Autoencoder(shape, self.hidden, self.code_dim), self.code_dim, self.n_clusters)

    def _fit(self, bench: Bench) -> Centred:
        network = bench.build(self._build_network)
        set_scale(network.body, bench)
        epochs = reconstruction_epochs(self.epochs, bench, self.batch_size)
        bench.train(Stage("dae", epochs, self.batch_size, self.lr, self.schedule), network, DAEObjective(self.noise))
        network.readout.place(bench.codes(network), self.n_init, bench.seed)
        return network


def pretraining(method: Any) -> DAE:
    """Stage 1 of the methods that begin with a DAE: its parameters, those of training under "pretrain_"."""
    shared = ("n_clusters", "hidden", "code_dim", "noise", "n_init")
    stage = ("epochs", "batch_size", "lr", "schedule")
    params = {name: getattr(method, name) for name in shared}
    return DAE(**params, **{name: getattr(method, f"pretrain_{name}") for name in stage})
