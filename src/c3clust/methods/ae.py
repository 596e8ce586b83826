"""AE: an autoencoder, then k-means on its codes.

Bengio, Lamblin, Popovici, Larochelle, NIPS 2006. The network learns x -> z -> x̂ with a narrow z; clusters are found
by k-means in z. A departure: all layers are trained together from the start (ReLU and Adam do without the greedy
layer-by-layer training of the paper).
Shapes: N samples per batch, d input entries, D code width, M clusters.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from torch import Tensor

from c3clust import dist
from c3clust.estimator.base import method_name
from c3clust.methods._base import AutoencoderFields, Clusterer, TrainingFields, parameters
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, Stage, TrainingContext
from c3clust.training.objective import Objective

__all__ = ["AE"]

SCALE_SAMPLES = 4096  # that the scale of the inputs is computed from


# 1. Loss


def reconstruction_errors(x: Tensor, x_hat: Tensor) -> Tensor:
    """‖x_i - x̂_i‖² / d of each sample: [N, d], [N, d] -> [N]."""
    return (x - x_hat).square().mean(dim=1)


# 2. Objective


@dataclass(frozen=True)
class AEObjective:
    """What one step minimises: the mean reconstruction error over the batch of all processes."""

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        body = network.body
        errors = reconstruction_errors(body.scaled(batch.x_a), body.decode(body(batch.x_a)))
        return {"loss": dist.gather(errors).mean()}


# 3. Estimator


@parameters
class ReconstructionFields(AutoencoderFields, TrainingFields):
    """The parameters of a method that trains an autoencoder and nothing else.

    Parameters
    ----------
    epochs : int or "auto"
        "auto" comes to about 2500 steps, and at least 10 epochs; chosen, like `batch_size`, with the accuracy on digits
        and MNIST-10k in sight. The literature: 50 to 500 epochs.
    batch_size : int
        The literature: 256. For the same CPU time, the codes of small batches cluster better.
    """

    batch_size: int = 64

    def _check_params(self) -> None:
        self._check_stage()
        self._check_autoencoder()

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage(method_name(self), self._epochs(context, 2500, 10, 500))]


@final
@parameters
class AE(ReconstructionFields, Clusterer):
    """Cluster with k-means in the code of an autoencoder.

    References
    ----------
    Bengio, Lamblin, Popovici, Larochelle. Greedy layer-wise training of deep networks. NIPS 2006.
    """

    def _fit(self, context: TrainingContext) -> Centred:
        return fit_autoencoder(self, AEObjective(), context)


# What the methods that build on an autoencoder share.


def fit_autoencoder(method: Any, objective: Objective, context: TrainingContext) -> Centred:
    """Train the autoencoder of `method`, then place the centres by k-means on its codes."""
    network = context.build(method._build_network)
    set_scale(network.body, context)
    [stage] = method._stages(context)
    context.train(stage, network, objective)
    network.readout.place(context.projections(network), method.n_init, context.seed)
    return network


def set_scale(body: Autoencoder, context: TrainingContext) -> None:
    """Scale inputs so that the mean square of an entry is 1 (evenly spaced samples represent all)."""
    chosen = np.linspace(0, len(context.x) - 1, min(len(context.x), SCALE_SAMPLES)).astype(int)
    mean_square = float(np.square(context.pixels(chosen), dtype=np.float64).mean())
    body.scale.fill_(mean_square**-0.5 if mean_square > 0 else 1.0)
