"""AE: an autoencoder, then k-means on its codes.

Bengio, Lamblin, Popovici, Larochelle, NIPS 2006. The network learns x -> z -> x̂ with a narrow z; clusters are found
by k-means in z. A departure: all layers are trained together from the start (ReLU and Adam do without the greedy
layer-by-layer training of the paper).
Shapes: N samples per batch, d input entries, D code width, M clusters.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.base import BaseEstimator
from torch import Tensor

from c3clust import checks, dist
from c3clust.errors import InputError
from c3clust.estimator import Bench, EstimatorMixin
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training.loop import Stage, auto_epochs

__all__ = ["AE"]

SCALE_SAMPLES = 4096  # the scale of the inputs is taken from so many


# 1. Loss


def reconstruction_errors(x: Tensor, x_hat: Tensor) -> Tensor:
    """‖x_i - x̂_i‖² / d of each sample: [N, d], [N, d] -> [N]."""
    return (x - x_hat).square().mean(dim=1)


# 2. Objective


@dataclass(frozen=True)
class AEObjective:
    """What one step minimises: the mean reconstruction error over the batch of all processes."""

    def __call__(self, network: Centred, x_a: Tensor, x_b: Tensor) -> dict[str, Tensor]:
        body = network.body
        errors = reconstruction_errors(body.scaled(x_a), body.decode(body(x_a)))
        return {"loss": dist.gather(errors).mean()}


# 3. Estimator


@final
class AE(EstimatorMixin, BaseEstimator):
    """Cluster with k-means in the code of an autoencoder.

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
    Bengio, Lamblin, Popovici, Larochelle. Greedy layer-wise training of deep networks. NIPS 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.ae import AE
    >>> ae = AE(n_clusters=10, hidden=(50,), epochs=1, random_state=0).fit(load_digits().images / 16)
    >>> ae.transform(load_digits().images[:2] / 16).shape
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
        check_widths(self.hidden, self.code_dim, self.n_init)

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        return Centred(Autoencoder(shape, self.hidden, self.code_dim), self.code_dim, self.n_clusters)

    def _fit(self, bench: Bench) -> Centred:
        network = bench.build(self._build_network)
        set_scale(network.body, bench)
        epochs = reconstruction_epochs(self.epochs, bench, self.batch_size)
        bench.train(Stage("ae", epochs, self.batch_size, self.lr, self.schedule), network, AEObjective())
        network.readout.place(bench.codes(network), self.n_init, bench.seed)
        return network


# What the methods that build on an autoencoder share.


def check_widths(hidden: Any, code_dim: Any, n_init: Any) -> None:
    """Check the parameters of an autoencoder and of k-means on its codes."""
    if not isinstance(hidden, list | tuple):
        raise InputError(f"hidden={hidden!r} is not a list of widths. A usual value is (500, 500, 2000).")
    for width in hidden:
        checks.whole("hidden", width, why="each entry is the width of a layer. A usual value is (500, 500, 2000).")
    checks.whole("code_dim", code_dim, why="it is the width of z. A usual value is 10.")
    checks.whole("n_init", n_init, why="it counts starts of k-means. A usual value is 20.")


def reconstruction_epochs(epochs: int | str, bench: Bench, batch_size: int) -> int:
    """ "auto" comes to about 500 steps, and at least 15 passes."""
    return epochs if isinstance(epochs, int) else auto_epochs(len(bench.x), batch_size, 500, 15, 500)


def set_scale(body: Autoencoder, bench: Bench) -> None:
    """Scale inputs so that the mean square of an entry is 1 (evenly spaced samples stand for all)."""
    chosen = np.linspace(0, len(bench.x) - 1, min(len(bench.x), SCALE_SAMPLES)).astype(int)
    mean_square = float(np.square(bench.pixels(chosen), dtype=np.float64).mean())
    body.scale.fill_(mean_square**-0.5 if mean_square > 0 else 1.0)
