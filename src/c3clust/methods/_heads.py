"""What methods with cluster heads on one encoder share.

One head: DAC, DDC and DRC. A main head and one with more clusters: IIC and PICA. Several heads after pretraining by
SimCLR: SCAN and SPICE.
"""

from typing import ClassVar

from torch import nn

from c3clust import checks
from c3clust.errors import InputError
from c3clust.methods._base import NetworkFields, parameters
from c3clust.networks import backbone
from c3clust.networks.heads import InformationNet, LabelNet, LinearHeads, NeighbourNet, Projected
from c3clust.networks.sobel import Sobel

__all__ = ["LabelFields", "OverclusterFields", "PretrainedHeadsFields"]


@parameters
class LabelFields(NetworkFields):
    """The parameters of a method whose network has one cluster head.

    Attributes
    ----------
    network_ : LabelNet
        The encoder (`f`) and the cluster head (`head`).
    """

    logit_scale: ClassVar[float] = 1.0  # standard deviation of the logits at the start

    def _build_network(self, shape: tuple[int, ...]) -> LabelNet:
        return LabelNet(*backbone(self.backbone, shape, self.stem), self.n_clusters_, self.logit_scale)


@parameters
class OverclusterFields(NetworkFields):
    """The parameters of a method with a second head that has more clusters.

    Parameters
    ----------
    n_overclusters : int or "auto"
        Clusters of the second head; "auto" is 5 M. The paper: 70 for the 10 classes of CIFAR-10.
    sobel : bool
        Give the encoder two maps of gradients (Sobel's filter) instead of the colours.
    repeats : int
        Pairs of views of each sample in one step.

    Attributes
    ----------
    network_ : InformationNet
        The encoder (`f`) and the heads (`main`, `over`).
    """

    n_overclusters: int | str = "auto"
    sobel: bool = False
    repeats: int = 1

    def _check_overclusters(self) -> None:
        if self.n_overclusters != "auto":
            checks.whole("n_overclusters", self.n_overclusters, why='it is a number of clusters. "auto" is 5 M.')
        checks.flag("sobel", self.sobel)
        checks.whole("repeats", self.repeats, why="it is the number of pairs of views of a sample in a step.")

    def _two_heads(self, shape: tuple[int, ...], n_heads: int, scale: float | None = None) -> InformationNet:
        """The network, with `n_heads` sub-heads for each head. With a scale, their logits are normalised."""
        f, width = self._filtered(shape) if self.sobel else backbone(self.backbone, shape, self.stem)
        more = self.n_overclusters if isinstance(self.n_overclusters, int) else 5 * self.n_clusters_
        return InformationNet(f, width, self.n_clusters_, more, n_heads, scale)

    def _filtered(self, shape: tuple[int, ...]) -> tuple[nn.Module, int]:
        """The encoder of gradients, and its width."""
        if len(shape) != 3:
            raise InputError(f"sobel=True needs images [C, H, W], not samples of shape {shape}: omit it.")
        f, width = backbone(self.backbone, (2, *shape[1:]), self.stem)
        return nn.Sequential(Sobel(), f), width


@parameters
class PretrainedHeadsFields(NetworkFields):
    """The parameters of a method that trains several cluster heads after SimCLR has trained the encoder.

    Parameters
    ----------
    n_heads : int
        H, cluster heads. The one with the lowest loss gives the labels.
    tau : float
        Temperature of stage 1.
    pretrain_epochs : int or "auto"
        Stage 1. "auto" is about 420 steps, and at least 15 epochs.

    Attributes
    ----------
    network_ : NeighbourNet
        Encoder and projection head (`body`) and the cluster heads (`heads`).
    """

    hidden_heads: ClassVar[bool] = False  # whether heads have a hidden layer

    n_heads: int = 5
    tau: float = 0.5
    pretrain_epochs: int | str = "auto"

    def _build_network(self, shape: tuple[int, ...]) -> NeighbourNet:
        f, width = backbone(self.backbone, shape, self.stem)
        heads = LinearHeads(width, self.n_clusters_, self.n_heads, hidden=self.hidden_heads)
        return NeighbourNet(Projected(f, width, self.projection_dim), heads)

    def _check_heads(self) -> None:
        checks.whole("n_heads", self.n_heads, why="it is the number of cluster heads. A usual value is 5.")
        checks.number("tau", self.tau, 1e-3, why="it divides cosines. A usual value is 0.5.")
        checks.whole("projection_dim", self.projection_dim, why="it is a width. A usual value is 128.")
        checks.stage(self.pretrain_epochs, self.batch_size, self.lr, self.schedule, "pretrain_")
        self._check_stage()
