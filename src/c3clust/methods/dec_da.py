"""DEC-DA: deep embedded clustering with data augmentation.

Guo, Zhu, Liu, Yin, ACML 2018
DEC (methods/dec.py) whose autoencoder is trained on augmented samples; then the target is computed from un-augmented
samples, and the assignments of augmented samples approach it. With γ > 0 the reconstruction continues, as in IDEC.
Shapes: N samples per batch, D code width, M clusters.

Departures from the released code (XifengGuo/DEC-DA, FcDEC.py, main.py, run_exp.py): as in DEC; stage 1 has Adam and a
cosine, SGD at a constant rate of 1 with momentum there; networks are fully connected (ConvDEC.py has convolutional ones
too). As there, the autoencoder is not denoising beyond the augmentation, and reconstructs the augmented samples.
"""

from functools import partial
from typing import Any, final

from torch import Tensor

from c3clust import checks, dist
from c3clust.data.samples import Dataset
from c3clust.estimator.base import TrainingOptions
from c3clust.losses.terms import kl_rows
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.methods.ae import reconstruction_errors
from c3clust.methods.dae import PretrainFields
from c3clust.methods.dec import SharpenedTarget, fit_sharpened
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, TrainingContext

__all__ = ["DECDA"]

PAPER = {"policy": "handwriting", "rotation": 10.0, "shift": 0.1, "shear": 0.0, "stretch": 0.0, "stroke": 0.0}


# 1. Loss: KL(T(x) ‖ Q(x̃)), the mean of ops.kl_rows(t, q) over the samples, and AE's reconstruction error

# 2. Objective


class DECDAObjective(SharpenedTarget):
    """What one step minimises: mean KL(t(x_i) ‖ q(x̃_i)) + γ mean ‖x̃ - x̂‖² / d over the batch of all processes."""

    def __init__(self, network: Centred, gamma: float) -> None:
        super().__init__(network)
        self.gamma = gamma

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        z, q = network(batch.x_a)
        cluster = dist.gather(kl_rows(self.target(batch.x), q)).mean()
        errors = reconstruction_errors(network.body.scaled(batch.x_a), network.body.decode(z))
        reconstruction = dist.gather(errors).mean()
        loss = cluster + self.gamma * reconstruction
        return {"loss": loss, "cluster_loss": cluster, "reconstruction_loss": reconstruction}


# 3. Estimator


@final
@parameters
class DECDA(OptimiserFields, PretrainFields, Clusterer):
    """Cluster with DEC and data augmentation: augmented samples learn the targets of un-augmented ones.

    Parameters
    ----------
    augment : str, dict or callable, default="auto"
        How views are made: "photo", "digit", "handwriting", "vector", "none", or {"policy": "digit", ...}. "auto" takes
        the paper's for handwriting: rotations by up to 10 degrees and shifts by up to a tenth.
    gamma : float, default=0.0
        γ, the weight of the reconstruction in stage 2: 0 for the form of DEC; 10 is that of IDEC.
    noise : float, default=0.0
        Fraction of the entries that are set to 0 while the autoencoder is trained, in addition to the augmentation.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 200 steps, and at least 5 epochs.
        The paper: until fewer than 0.1 % of the labels change.
    lr : float, default=0.0001
        Learning rate of Adam in stage 2. The released code: SGD at 0.01 with momentum.

    References
    ----------
    Guo, Zhu, Liu, Yin. Deep embedded clustering with data augmentation. ACML 2018.
    https://proceedings.mlr.press/v95/guo18b.html
    """

    augment: Any = "auto"
    gamma: float = 0.0
    noise: float = 0.0
    lr: float = 1e-4
    schedule: str = "constant"

    def _training_options(self) -> TrainingOptions:
        return TrainingOptions(self.augment, self.device, verbose=self.verbose)

    def _policy(self, dataset: Dataset) -> str | dict[str, Any]:
        """The views of other methods change handwriting more than codes of an autoencoder can follow."""
        return PAPER if dataset.content == "handwriting" else super()._policy(dataset)

    def _check_params(self) -> None:
        checks.number("gamma", self.gamma, 0, why="it is the weight of the reconstruction. A usual value is 0.")
        super()._check_params()

    def _fit(self, context: TrainingContext) -> Centred:
        return fit_sharpened(self, partial(DECDAObjective, gamma=self.gamma), context)
