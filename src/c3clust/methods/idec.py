"""IDEC: improved deep embedded clustering.

Guo, Gao, Liu, Yin, IJCAI 2017. DEC (methods/dec.py) that keeps its decoder: the reconstruction error is minimised in
addition to the clustering loss, which preserves the structure of the code. Departures from the released code
(XifengGuo/IDEC, IDEC.py) as in DEC, with a target every 140 steps; its weights of both terms and its Adam are those of
here.
Shapes: N samples per batch, D code width, M clusters.
"""

from functools import partial
from typing import final

from torch import Tensor

from c3clust import checks, dist
from c3clust.losses.terms import kl_rows
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.methods.ae import reconstruction_errors
from c3clust.methods.dae import PretrainFields
from c3clust.methods.dec import SharpenedTarget, fit_sharpened
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, TrainingContext

__all__ = ["IDEC"]


# 2. Objective, of AE's and DEC's losses


class IDECObjective(SharpenedTarget):
    """What one step minimises: mean ‖x - x̂‖² / d + γ mean KL(t_i ‖ q_i) over the batch of all processes."""

    def __init__(self, network: Centred, gamma: float) -> None:
        super().__init__(network)
        self.gamma = gamma

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        z, q = network(batch.x_a)
        errors = reconstruction_errors(network.body.scaled(batch.x_a), network.body.decode(z))
        reconstruction = dist.gather(errors).mean()
        cluster = dist.gather(kl_rows(self.target(batch.x_a), q)).mean()
        loss = reconstruction + self.gamma * cluster
        return {"loss": loss, "reconstruction_loss": reconstruction, "cluster_loss": cluster}


# 3. Estimator


@final
@parameters
class IDEC(OptimiserFields, PretrainFields, Clusterer):
    """Cluster with improved deep embedded clustering: DEC that keeps its decoder.

    Parameters
    ----------
    gamma : float, default=0.1
        Weight of the clustering loss relative to the reconstruction.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 200 steps, and at least 5 epochs.
        The paper: until fewer than 0.1 % of the labels change.

    References
    ----------
    Guo, Gao, Liu, Yin. Improved deep embedded clustering with local structure preservation. IJCAI 2017.
    """

    gamma: float = 0.1
    schedule: str = "constant"

    def _check_params(self) -> None:
        checks.number("gamma", self.gamma, 0, why="it is the weight of the clustering loss. A usual value is 0.1.")
        super()._check_params()

    def _fit(self, context: TrainingContext) -> Centred:
        return fit_sharpened(self, partial(IDECObjective, gamma=self.gamma), context)
