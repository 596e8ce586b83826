"""SimCLR: a simple framework for contrastive learning, then k-means on its features.

Chen, Kornblith, Norouzi, Hinton, ICML 2020, https://arxiv.org/abs/2002.05709
Two views of each image are contrasted through a projection head, which is then set aside: k-means runs on the unit
features h of the encoder.
Shapes: N images per batch, F feature width, D projection width, M clusters.

Departures from the paper, whose loss this is: small batches and Adam, by default, replace 4096 samples and LARS; the
hidden layer of the projection has no batch normalisation.
"""

from dataclasses import dataclass
from typing import final

from torch import Tensor
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.losses import onepass
from c3clust.losses.terms import nt_xent
from c3clust.methods._base import Clusterer, NetworkFields, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.networks import backbone
from c3clust.networks.heads import Projected
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["SimCLR"]


# 1. Loss: NT-Xent over the 2N views, ops.nt_xent


def shared_nt_xent(g_a: Tensor, g_b: Tensor, tau: float) -> Tensor:
    """`nt_xent` of the batch of all processes, each of which gives its part and computes its own rows."""
    if dist.world_size() == 1:
        return nt_xent(g_a, g_b, tau)
    return onepass.instance_loss(F.normalize(g_a, dim=1), F.normalize(g_b, dim=1), tau, shared=True)


# 2. Objective


@dataclass(frozen=True)
class SimCLRObjective:
    """What one step minimises: NT-Xent of the projections over the batch of all processes."""

    tau: float

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        g_a, g_b = network.body.project(batch.x_a), network.body.project(batch.x_b)
        return {"loss": shared_nt_xent(g_a, g_b, self.tau)}


# 3. Estimator


@final
@parameters
class SimCLR(OptimiserFields, NetworkFields, Clusterer):
    """Cluster with k-means on the features that SimCLR learns.

    Parameters
    ----------
    projection_dim : int, default=128
        D, the width of the projection that is contrasted.
    tau : float, default=0.5
        Temperature. The paper: 0.5 for CIFAR-10, 0.1 for ImageNet.
    epochs : int or "auto", default="auto"
        "auto" is about 420 steps, and at least 15 passes. The paper: 1000 for CIFAR-10.
    batch_size : int, default=256
        The paper: 4096.
    lr : float, default=1e-3
        Learning rate of Adam. The paper: LARS.
    n_init : int, default=20
        Starts of k-means.

    Attributes
    ----------
    network_ : Centred
        Encoder and projection head (`body`) and the centres of the features (`readout`).

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

    tau: float = 0.5
    n_init: int = 20

    def _check_params(self) -> None:
        checks.number("tau", self.tau, 1e-3, why="it divides cosines. A usual value is 0.5.")
        checks.whole("projection_dim", self.projection_dim, why="it is a width. A usual value is 128.")
        checks.whole("n_init", self.n_init, why="it is the number of k-means starts. A usual value is 20.")
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        f, width = backbone(self.backbone, shape, self.stem)
        return Centred(Projected(f, width, self.projection_dim), width, self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("simclr", self._epochs(context, 420, 15, 400))]

    def _fit(self, context: TrainingContext) -> Centred:
        network = context.build(self._build_network)
        [stage] = self._stages(context)
        context.train(stage, network, SimCLRObjective(self.tau))
        network.readout.place(context.projections(network), self.n_init, context.seed)
        return network
