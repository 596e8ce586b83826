"""IDEC: improved deep embedded clustering.

Guo, Gao, Liu, Yin, IJCAI 2017. DEC (methods/dec.py) that keeps its decoder: the reconstruction goes on beside the
sharpening, so that the clusters cannot tear the code apart. Departures as in DEC.
Shapes: N samples per batch, D code width, M clusters.
"""

from typing import Any, final

from sklearn.base import BaseEstimator
from torch import Tensor

from c3clust import checks, dist
from c3clust.data.samples import ArrayLike
from c3clust.estimator import Bench, EstimatorMixin
from c3clust.methods.ae import reconstruction_errors
from c3clust.methods.dae import DAE, pretraining
from c3clust.methods.dec import SharpenedTarget, prepare_sharpening, sharpening_epochs
from c3clust.networks.readouts import Centred
from c3clust.ops import kl_rows
from c3clust.training.loop import Stage

__all__ = ["IDEC"]


# 2. Objective, of AE's and DEC's losses


class IDECObjective:
    """What one step minimises: mean ‖x - x̂‖² / d + γ mean KL(t_i ‖ q_i) over the batch of all processes."""

    def __init__(self, gamma: float, size: tuple[int, ...]) -> None:
        self.gamma = gamma
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
        z, q = network(x_a)
        errors = reconstruction_errors(network.body.scaled(x_a), network.body.decode(z))
        reconstruction = dist.gather(errors).mean()
        cluster = dist.gather(kl_rows(self.target(x_a), q)).mean()
        loss = reconstruction + self.gamma * cluster
        return {"loss": loss, "reconstruction_loss": reconstruction, "cluster_loss": cluster}


# 3. Estimator


@final
class IDEC(EstimatorMixin, BaseEstimator):
    """Cluster with improved deep embedded clustering: DEC that keeps its decoder.

    Parameters
    ----------
    n_clusters : int, default=10
        M, the number of clusters.
    gamma : float, default=0.1
        Weight of the clustering loss beside the reconstruction.
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
    lr : float, default=1e-3
        Learning rate of Adam.
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
    Guo, Gao, Liu, Yin. Improved deep embedded clustering with local structure preservation. IJCAI 2017.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.idec import IDEC
    >>> idec = IDEC(n_clusters=10, hidden=(50,), pretrain_epochs=1, epochs=1, random_state=0)
    >>> idec.fit(load_digits().images / 16).predict_proba(load_digits().images[:2] / 16).shape
    (2, 10)
    """

    def __init__(
        self,
        n_clusters: int = 10,
        *,
        gamma: float = 0.1,
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
        lr: float = 1e-3,
        schedule: str = "constant",
        n_init: int = 20,
        random_state: Any = None,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
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
        checks.number("gamma", self.gamma, 0, why="it weighs the clustering loss. A usual value is 0.1.")
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
        stage = Stage("idec", epochs, self.batch_size, self.lr, self.schedule)
        bench.train(stage, network, IDECObjective(self.gamma, bench.size))
        return network
