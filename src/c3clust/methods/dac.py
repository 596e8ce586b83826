"""DAC: deep adaptive image clustering.

Chang, Wang, Meng, Xiang, Pan, ICCV 2017, https://doi.org/10.1109/ICCV.2017.626
Clustering as binary classification of pairs: pairs whose label features have a large cosine are trained as similar,
pairs with a small one as dissimilar, and the others are left out. The two thresholds approach each other from epoch to
epoch, until every pair takes part.
Shapes: N samples per batch, F feature width, M clusters.

Paper and released code differ. `rule="paper"` has the paper's two thresholds and its binary cross entropy; pairs are
those of one view with another, so the views of a sample, which is similar to itself, become similar; the thresholds
move in equal steps and meet in the last epoch, where the paper trains until they meet. `rule="released"` is the code
for MNIST (vector-1127/DAC, MNIST/mnist.py): one threshold, which falls from 0.9 to 0.5, and the squared error of the
cosines within one view. `rule="released-cifar10"` is that for CIFAR-10 (CIFAR10/cifar10_1.py): a threshold from 0.99 to
0.75, the binary cross entropy of the same cosines, and ten times that of the assignments with the label features.

As in the released code, pairs are chosen by the samples as they are. Departures from it: by default pairs are chosen in
each batch, among 1,000 samples for five passes there, as with target_size=1000 and passes=5; the head is linear, two
layers there that start from the identity; views are those of `augment`, where the code for MNIST turns by 10 degrees,
shifts by a tenth and zooms by 5 %; Adam replaces RMSprop.
"""

from collections.abc import Mapping
from typing import ClassVar, final

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.losses.inputs import check_pairs
from c3clust.losses.terms import full_precision, pair_bce
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._heads import LabelFields
from c3clust.methods._optimiser import OptimiserFields
from c3clust.methods._targets import TargetFields, Targets
from c3clust.networks.heads import LabelNet
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["DAC"]

MEETING = 0.45  # λ at which u(λ) = l(λ)
RELEASED = {"released": (0.9, 0.5), "released-cifar10": (0.99, 0.75)}  # the threshold of the first epoch, and its end
RULES = ("paper", *RELEASED)


# 1. Loss


def thresholds(lamb: float) -> tuple[float, float]:
    """u(λ) = 0.95 - λ and l(λ) = 0.455 + 0.1 λ, the paper's thresholds: similar from u on, dissimilar below l."""
    return 0.95 - lamb, 0.455 + 0.1 * lamb


def pair_loss(p_a: Tensor, p_b: Tensor, p: Tensor, upper: float, lower: float, shared: bool = False) -> Tensor:
    """Σ_ij v_ij (-r_ij log g_ij - (1 - r_ij) log(1 - g_ij)) / Σ_ij v_ij (the paper, section 3), over all pairs.

    g_ij is the cosine of p_a_i and p_b_j, s_ij that of p_i and p_j; r_ij = 1 where s_ij >= u, r_ij = 0 where s_ij < l,
    and v_ij = 0 between them. p_a, p_b, of two views, and p, of the samples: [N, M], rows sum to 1. The mean over the
    chosen pairs takes the place of the sum. shared: these are this process's part of the batch; the loss is that of
    the whole batch, of which each process computes its own rows.
    """
    check_pairs(p_a=p_a, p_b=p_b)
    check_pairs(p_a=p_a[:, 0], p=p[:, 0])
    gather = dist.gather_columns if shared else lambda columns: columns
    a, b, unit = (F.normalize(full_precision(each), dim=1) for each in (p_a, p_b, p.detach()))  # [N, M] label features
    g, s = a @ gather(b).T, unit @ gather(unit).T  # [N, N of all processes]
    similar, dissimilar = s >= upper, s < min(lower, upper)
    chosen = similar | dissimilar
    losses = (pair_bce(g, similar.to(g.dtype)) * chosen).sum()
    if not shared or dist.world_size() == 1:
        return losses / chosen.sum()
    return dist.total(losses) / dist.total(chosen.sum().to(g.dtype))


def squared_loss(p_view: Tensor, p: Tensor, threshold: float, shared: bool = False) -> Tensor:
    """Mean over all pairs of (g_ij - 1{s_ij > threshold})², the released code's loss for MNIST.

    g_ij is the cosine of two rows of p_view, of one view, s_ij that of p, of the samples: [N, M]. shared: as above.
    """
    check_pairs(p_view=p_view[:, 0], p=p[:, 0])
    gather = dist.gather_columns if shared else lambda columns: columns
    a, unit = (F.normalize(full_precision(each), dim=1) for each in (p_view, p.detach()))
    similar = unit @ gather(unit).T > threshold
    losses = (a @ gather(a).T - similar.to(a.dtype)).square().sum() / similar.shape[1] ** 2
    return dist.total(losses) if shared and dist.world_size() > 1 else losses


def entropy_loss(p_view: Tensor, p: Tensor, threshold: float, shared: bool = False) -> Tensor:
    """Mean of BCE(g_ij, 1{s_ij > threshold}) over all pairs + 10 times that of BCE(p_view_ik, u_ik), as for CIFAR-10.

    g_ij is the cosine of two rows of p_view, of one view, s_ij that of p, of the samples: [N, M]; u are the rows of p
    of unit length. shared: as above.
    """
    check_pairs(p_view=p_view, p=p)
    gather = dist.gather_columns if shared else lambda columns: columns
    a, unit = (F.normalize(full_precision(each), dim=1) for each in (p_view, p.detach()))
    similar = unit @ gather(unit).T > threshold
    n = similar.shape[1]
    pairs = pair_bce(a @ gather(a).T, similar.to(a.dtype)).sum() / n**2
    loss = pairs + 10 * pair_bce(p_view, unit).mean() * len(a) / n
    return dist.total(loss) if shared and dist.world_size() > 1 else loss


LOSSES = {"released": squared_loss, "released-cifar10": entropy_loss}


# 2. Objective


class DACObjective(Targets):
    """What one step minimises: the loss of the pairs that λ admits. λ, which grows with each epoch, is state too."""

    def __init__(self, epochs: int, rule: str = "paper", together: int = 0, passes: int = 1) -> None:
        super().__init__(together, passes)
        self.growth, self.lamb, self.rule = MEETING / max(epochs, 1), 0.0, rule

    @property
    def threshold(self) -> float:
        """That of the released code, which falls in equal steps: for MNIST from 0.9 to near 0.5."""
        first, end = RELEASED[self.rule]
        return first - (first - end) * max(self.lamb - self.growth, 0) / MEETING

    def refresh(self, network: LabelNet, context: TrainingContext) -> None:
        self.lamb = min(self.lamb + self.growth, MEETING)

    def state_dict(self) -> dict[str, Tensor]:
        return {"lamb": torch.tensor(self.lamb, dtype=torch.float64), **super().state_dict()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        super().load_state_dict(state)
        self.lamb = state["lamb"].item()

    def __call__(self, network: LabelNet, batch: Batch) -> dict[str, Tensor]:
        p = self.clean(network, batch)
        if self.rule in LOSSES:
            return {"loss": LOSSES[self.rule](network(batch.x_a)[1], p, self.threshold, shared=True)}
        p_a, p_b = (network(x)[1] for x in (batch.x_a, batch.x_b))  # [N, M]
        return {"loss": pair_loss(p_a, p_b, p, *thresholds(self.lamb), shared=True)}


# 3. Estimator


@final
@parameters
class DAC(OptimiserFields, TargetFields, LabelFields, Clusterer):
    """Cluster with deep adaptive clustering: train on clear pairs of samples first, then on all.

    Parameters
    ----------
    rule : {"paper", "released", "released-cifar10"}, default="paper"
        The loss and thresholds of the paper, or those of the released code for MNIST or for CIFAR-10.
    epochs : int or "auto", default="auto"
        "auto" is about 600 steps, and at least 15 epochs. The paper: until the thresholds meet.
    batch_size : int, default=128
        The released code: 128.
    lr : float, default=0.001
        Learning rate of Adam. The released code: RMSprop at 0.001.

    References
    ----------
    Chang, Wang, Meng, Xiang, Pan. Deep adaptive image clustering. ICCV 2017.
    https://doi.org/10.1109/ICCV.2017.626

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.dac import DAC
    >>> dac = DAC(n_clusters=10, epochs=1, random_state=0).fit(load_digits().images / 16)
    >>> dac.predict_proba(load_digits().images[:2] / 16).shape
    (2, 10)
    """

    logit_scale: ClassVar[float] = 2.0  # with 1 and few clusters, nearly all pairs are similar at the start

    rule: str = "paper"
    batch_size: int = 128

    def _check_params(self) -> None:
        checks.choice("rule", self.rule, RULES)
        self._check_targets()
        self._check_stage()

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("dac", self._epochs(context, 600 // self.passes, -(-15 // self.passes), 400))]

    def _fit(self, context: TrainingContext) -> LabelNet:
        [stage] = self._stages(context)
        network = context.build(self._build_network)
        context.train(stage, network, DACObjective(stage.epochs, self.rule, self.target_size, self.passes))
        return network
