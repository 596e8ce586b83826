"""IIC: invariant information clustering.

Ji, Henriques, Vedaldi, ICCV 2019, https://arxiv.org/abs/1807.06653
The mutual information between the clusters of two views of the same sample is maximised. A second head with more
clusters than requested (overclustering) is trained in alternation and shapes the features. Each has several sub-heads.
Shapes: N samples per batch, H sub-heads, M clusters.

Departures from the paper and its released code: the heads alternate by step, not by epoch; both views are random; there
is no Sobel filter.
"""

from collections.abc import Iterator
from typing import final

import torch
from torch import Tensor

from c3clust import checks, dist
from c3clust.methods._base import Clusterer, NetworkFields, parameters
from c3clust.networks import backbone
from c3clust.networks.heads import InformationNet
from c3clust.ops import entropy, full_precision
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["IIC"]


# 1. Loss


def joint_distribution(p_a: Tensor, p_b: Tensor) -> Tensor:
    """P = (1/N) Σ_i p(x_i) p(x'_i)ᵀ, symmetrised by (P + Pᵀ) / 2 (equation 2): [..., N, M] twice -> [..., M, M]."""
    joint = full_precision(p_a).mT @ full_precision(p_b) / p_a.shape[-2]
    return (joint + joint.mT) / 2


def information_loss(p_a: Tensor, p_b: Tensor, lamb: float = 1.0) -> Tensor:
    """-Σ_cc' P_cc' (ln P_cc' - λ ln P_c - λ ln P_c') of each head, equation 3 with the weight λ of the released code.

    By its marginals P_c = Σ_c' P_cc' this is H(P) - 2 λ H(P_c), and for λ = 1 minus the mutual information, which lies
    between 0 and ln M. p_a, p_b: [..., N, M], rows sum to 1. -> [...]
    """
    joint = joint_distribution(p_a, p_b)
    return entropy(joint.flatten(-2)) - 2 * lamb * entropy(joint.sum(dim=-1))


# 2. Objective


class IICObjective:
    """What one step minimises: first the loss of the overclustering head, then that of the main head."""

    def __init__(self, lamb: float) -> None:
        self.lamb = lamb

    def optimisers(self, network: InformationNet, lr: float) -> dict[str, torch.optim.Optimizer]:
        """One Adam takes both steps, as in the released code: the moments of f are shared."""
        adam = torch.optim.Adam(network.parameters(), lr=lr)
        return {"over": adam, "main": adam}

    def losses(self, network: InformationNet, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        for name, heads in (("over", network.over), ("main", network.main)):
            p_a, p_b = (dist.gather(heads.assign(network.encode(x))) for x in (batch.x_a, batch.x_b))  # [N, H, M]
            yield name, heads.record(information_loss(p_a.transpose(0, 1), p_b.transpose(0, 1), self.lamb))


# 3. Estimator


@final
@parameters
class IIC(NetworkFields, Clusterer):
    """Cluster with invariant information clustering: maximise the mutual information between two views' clusters.

    Parameters
    ----------
    n_overclusters : int or "auto", default="auto"
        Clusters of the overclustering head; "auto" is 5 M. The paper: 70 for the 10 classes of CIFAR-10, 50 for MNIST.
    n_heads : int, default=5
        H, sub-heads of each head. The one with the lowest loss gives the labels.
    lamb : float, default=1.0
        λ, the weight of the entropies of the marginals; 1 gives the mutual information. More favours equal clusters.
    epochs : int or "auto", default="auto"
        "auto" comes to about 600 steps, and at least 15 epochs. The paper: 2000 for CIFAR-10.
    lr : float, default=0.001
        Learning rate of Adam. The paper: 1e-4.

    Attributes
    ----------
    network_ : InformationNet
        The encoder (`f`) and the sub-heads (`main`, `over`).

    References
    ----------
    Ji, Henriques, Vedaldi. Invariant information clustering for unsupervised image classification and segmentation.
    ICCV 2019. https://arxiv.org/abs/1807.06653

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.iic import IIC
    >>> iic = IIC(n_clusters=10, epochs=1, random_state=0).fit(load_digits().images / 16)
    >>> iic.predict_proba(load_digits().images[:2] / 16).shape
    (2, 10)
    """

    n_overclusters: int | str = "auto"
    n_heads: int = 5
    lamb: float = 1.0

    def _check_params(self) -> None:
        if self.n_overclusters != "auto":
            checks.whole("n_overclusters", self.n_overclusters, why='it is a number of clusters. "auto" is 5 M.')
        checks.whole("n_heads", self.n_heads, why="it counts sub-heads. A usual value is 5.")
        checks.number("lamb", self.lamb, 0, why="it is the weight of an entropy. A usual value is 1.0.")
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> InformationNet:
        f, width = backbone(self.backbone, shape, self.stem)
        more = self.n_overclusters if isinstance(self.n_overclusters, int) else 5 * self.n_clusters_
        return InformationNet(f, width, self.n_clusters_, more, self.n_heads)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("iic", self._epochs(context, 600, 15, 400))]

    def _fit(self, context: TrainingContext) -> InformationNet:
        network = context.build(self._build_network)
        [stage] = self._stages(context)
        context.train(stage, network, IICObjective(self.lamb))
        return network
