"""IIC: invariant information clustering.

Ji, Henriques, Vedaldi, ICCV 2019, https://arxiv.org/abs/1807.06653
The mutual information between the clusters of two views of the same sample is maximised. A second head with more
clusters than requested (overclustering) shapes the features too. Each has several sub-heads.
Shapes: N samples per batch, H sub-heads, M clusters.

The loss is that of the released code (xu-ji/IIC, code/utils/cluster/IID_losses.py) up to rounding. Departures from it
(code/scripts/cluster): a step minimises the losses of both heads, which alternate by epoch there; the logits are
normalised over the batch, without which a short training ends with some clusters empty; both views are random. By
default there is one pair of views per sample and step (`repeats`; three to five there) and no Sobel filter (`sobel`).
"""

from dataclasses import dataclass
from typing import final

from torch import Tensor

from c3clust import checks, dist
from c3clust.losses.inputs import check_pairs
from c3clust.losses.terms import entropy, full_precision
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._heads import OverclusterFields
from c3clust.networks.heads import InformationNet, LinearHeads
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["IIC"]

SCALE = 2.0  # standard deviation of the logits at the start


# 1. Loss


def joint_distribution(p_a: Tensor, p_b: Tensor) -> Tensor:
    """P = (1/N) Σ_i p(x_i) p(x'_i)ᵀ, symmetrised by (P + Pᵀ) / 2 (equation 2): [..., N, M] twice -> [..., M, M]."""
    check_pairs(p_a=p_a, p_b=p_b)
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


@dataclass(frozen=True)
class IICObjective:
    """What one step minimises: the loss of the overclustering head plus that of the main head."""

    lamb: float
    repeats: int = 1

    def __call__(self, network: InformationNet, batch: Batch) -> dict[str, Tensor]:
        h_a, h_b = network.encode(batch.x_a), network.encode(batch.x_b)
        over, main = (self._loss(heads, h_a, h_b) for heads in (network.over, network.main))
        return {"loss": over + main, "over_loss": over, "main_loss": main}

    def _loss(self, heads: LinearHeads, h_a: Tensor, h_b: Tensor) -> Tensor:
        p_a, p_b = (dist.gather(heads.assign(h)).transpose(0, 1) for h in (h_a, h_b))  # [H, N, M]
        return heads.record(information_loss(p_a, p_b, self.lamb))


# 3. Estimator


@final
@parameters
class IIC(OverclusterFields, Clusterer):
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
        "auto" is about 600 steps, and at least 15 epochs. The paper: 2000 for CIFAR-10.
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

    n_heads: int = 5
    lamb: float = 1.0

    def _check_params(self) -> None:
        self._check_overclusters()
        checks.whole("n_heads", self.n_heads, why="it is the number of sub-heads. A usual value is 5.")
        checks.number("lamb", self.lamb, 0, why="it is the weight of an entropy. A usual value is 1.0.")
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> InformationNet:
        return self._two_heads(shape, self.n_heads, SCALE)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("iic", self._epochs(context, 600, 15, 400))]

    def _fit(self, context: TrainingContext) -> InformationNet:
        network = context.build(self._build_network)
        [stage] = self._stages(context)
        context.train(stage, network, IICObjective(self.lamb, self.repeats))
        return network
