"""DAE: a denoising autoencoder, then k-means on its codes.

Vincent, Larochelle, Lajoie, Bengio, Manzagol, JMLR 2010. An autoencoder (methods/ae.py) that is shown samples with
some entries set to 0 and must give back the whole ones. As there, all layers are trained together.
Shapes: N samples per batch, d input entries, D code width, M clusters.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from c3clust import checks, dist
from c3clust.estimator.base import method_name
from c3clust.methods._base import AutoencoderFields, Clusterer, TrainingFields, parameters
from c3clust.methods.ae import ReconstructionFields, fit_autoencoder, reconstruction_errors
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["DAE"]


# 1. Loss: AE's reconstruction error, of


def corrupt(x: Tensor, noise: float) -> Tensor:
    """x̃: each entry of x set to 0 with probability `noise`."""
    return x * (dist.random_rows(torch.rand_like, x) >= noise)


# 2. Objective


@dataclass(frozen=True)
class DAEObjective:
    """What one step minimises: the mean of ‖x - g(f(x̃))‖² / d over the batch of all processes."""

    noise: float

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        body = network.body
        errors = reconstruction_errors(body.scaled(batch.x_a), body.decode(body(corrupt(batch.x_a, self.noise))))
        return {"loss": dist.gather(errors).mean()}


# 3. Estimator


@final
@parameters
class DAE(ReconstructionFields, Clusterer):
    """Cluster with k-means in the code of a denoising autoencoder.

    Parameters
    ----------
    noise : float, default=0.25
        ν, the fraction of entries set to 0 before encoding.

    References
    ----------
    Vincent, Larochelle, Lajoie, Bengio, Manzagol. Stacked denoising autoencoders: learning useful representations in
    a deep network with a local denoising criterion. JMLR 11, 2010.
    """

    noise: float = 0.25

    def _check_params(self) -> None:
        checks.number("noise", self.noise, 0, 1, why="it is a fraction of the entries. A usual value is 0.25.")
        super()._check_params()

    def _fit(self, context: TrainingContext) -> Centred:
        return fit_autoencoder(self, DAEObjective(self.noise), context)


# What the methods that start from a denoising autoencoder share.


@parameters
class PretrainFields(AutoencoderFields, TrainingFields):
    """The parameters of a method that starts from a denoising autoencoder.

    Parameters
    ----------
    noise : float
        Fraction of the entries that are set to 0 while the autoencoder is trained.
    pretrain_epochs, pretrain_batch_size, pretrain_lr, pretrain_schedule
        `epochs`, `batch_size`, `lr` and `schedule` of stage 1, the autoencoder: see :class:`DAE`.

    Attributes
    ----------
    start_labels_ : ndarray [n]
        The clusters before stage 2: k-means on the codes of the autoencoder.
    """

    example: ClassVar[str] = AutoencoderFields.two_stages

    noise: float = 0.2
    pretrain_epochs: int | str = "auto"
    pretrain_batch_size: int = 64
    pretrain_lr: float = 1e-3
    pretrain_schedule: str = "cosine"

    def _stage_1(self) -> DAE:
        stage = {name: getattr(self, f"pretrain_{name}") for name in ("epochs", "batch_size", "lr", "schedule")}
        shared = ("n_clusters", "hidden", "code_dim", "noise", "n_init")
        first = DAE(**{name: getattr(self, name) for name in shared}, **stage)
        first._prefix = "pretrain_"
        return first

    def _stages(self, context: TrainingContext) -> list[Stage]:
        second = self._stage(method_name(self), self._epochs(context, 200, 5, 100))
        return [*self._stage_1()._stages(context), second]

    def _check_params(self) -> None:
        self._check_stage()
        self._stage_1()._check_params()
