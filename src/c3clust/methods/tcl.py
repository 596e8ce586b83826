"""TCL: twin contrastive learning.

Li, Yang, Peng, Li, Huang, Peng, IJCV 2022, https://arxiv.org/abs/2210.11680
Stage 1 is CC (methods/cc.py). Stage 2 boosts it: the most confident samples of each cluster get its label; pairs of one
label are no negatives of the instance loss, and the cluster head learns these labels.
Shapes: N samples per batch, D projection width, M clusters.

Both losses are those of the released code (Yunfan-Li/Twin-Contrastive-Learning, loss.py) up to rounding. Departures
from it (engine.py, boost.py, transforms.py): by default both views have the same augmentations and both learn the
labels, where a weak view and a strong one that learns them are made there, as with strong="strong"; the labels are
chosen before each epoch from un-augmented samples, a share of each cluster, where a share of N / M of each batch is
chosen there and kept while it stays confident; Adam without weight decay by default, 1e-4 there; a new optimiser in
stage 2, that of stage 1 there; no mixed precision.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, final

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust import augment, checks, dist
from c3clust.losses.inputs import check_pairs, check_unit_rows
from c3clust.losses.terms import balanced_cross_entropy, full_precision
from c3clust.methods._base import Clusterer, EncoderFields, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.methods.cc import CC, CCObjective
from c3clust.networks import ClusterNet
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["TCL"]


# 1. Loss


def confident_labels(c: Tensor, share: float = 0.5, threshold: float = 0.99) -> Tensor:
    """The labels argmax c_i of the `share` most confident samples of each cluster above the threshold; -1 for others.

    c: [n, M], rows sum to 1 -> [n]
    """
    confidence, labels = c.max(dim=1)
    found = torch.full_like(labels, -1)
    for k in range(c.shape[1]):
        members = (labels == k).nonzero().squeeze(1)
        most = members[confidence[members].argsort(descending=True)][: int(share * len(members))]
        found[most[confidence[most] > threshold]] = k
    return found


def twin_loss(z_a: Tensor, z_b: Tensor, labels: Tensor, tau: float = 0.5) -> Tensor:
    """NT-Xent over the 2N views, where other samples of the same label are no negatives.

    z_a, z_b: [N, D], unit rows; labels: [N], -1 for none.
    """
    check_pairs(z_a=z_a, z_b=z_b)
    check_unit_rows(z_a=z_a, z_b=z_b)
    z, labels = full_precision(torch.cat([z_a, z_b])), labels.repeat(2)
    n, s = len(z_a), z @ z.T / tau
    twin = torch.arange(2 * n, device=z.device).roll(n)
    alike = (labels[:, None] == labels) & (labels >= 0)[:, None]
    alike[torch.arange(2 * n, device=z.device), twin] = False
    s = s.masked_fill(alike | torch.eye(2 * n, dtype=torch.bool, device=z.device), -torch.inf)
    return F.cross_entropy(s, twin)


# 2. Objective


class TCLObjective:
    """What one step of stage 2 minimises: the twin loss, and the cross entropy with confident labels.

    Both views learn these; only the second if it is a strong one. The labels [n] of all samples are its state.
    """

    def __init__(self, tau_i: float, share: float, threshold: float, strong: bool = False) -> None:
        self.tau_i, self.share, self.threshold, self.strong = tau_i, share, threshold, strong
        self.labels = torch.empty(0, dtype=torch.int64)

    def refresh(self, network: ClusterNet, context: TrainingContext) -> None:
        c = torch.from_numpy(context.assignments(network))
        self.labels = confident_labels(c, self.share, self.threshold)

    def state_dict(self) -> dict[str, Tensor]:
        return {"labels": self.labels}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.labels = state["labels"]

    def __call__(self, network: ClusterNet, batch: Batch) -> dict[str, Tensor]:
        h_a, h_b = network.encode(batch.x_a), network.encode(batch.x_b)
        labels = self.labels.to(h_a.device)[dist.gather(batch.index)]
        twin = twin_loss(dist.gather(network.project(h_a)), dist.gather(network.project(h_b)), labels, self.tau_i)
        chosen, known = labels >= 0, labels.clamp_min(0)
        learning = (h_b,) if self.strong else (h_a, h_b)
        each = [balanced_cross_entropy(dist.gather(network.g_c(h)), known, chosen) for h in learning]
        label = torch.stack(each).mean()
        return {"loss": twin + label, "twin_loss": twin, "label_loss": label, "confident": chosen.float().mean()}


# 3. Estimator


@final
@parameters
class TCL(OptimiserFields, EncoderFields, Clusterer):
    """Cluster with twin contrastive learning: CC, then boosting by confident labels.

    Parameters
    ----------
    pretrain_epochs : int or "auto", default="auto"
        Stage 1, CC. "auto" is about 420 steps, in 15 to 200 epochs. The paper: 1000.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 150 steps, and at least 3 epochs. The paper: 200.
    share : float, default=0.5
        γ, the fraction of a cluster that may get labels.
    threshold : float, default=0.99
        α, the confidence above which a sample gets a label.
    strong : str, dict, callable or None, default=None
        Augmentations of the second view in both stages, as for `augment`; only this view learns the labels. None for
        the same ones. The released code: "strong".

    Attributes
    ----------
    start_labels_ : ndarray [n]
        The clusters of CC.
    network_ : ClusterNet
        The trained f, g_I and g_C.

    References
    ----------
    Li, Yang, Peng, Li, Huang, Peng. Twin contrastive learning for online clustering. IJCV 130, 2022.
    https://arxiv.org/abs/2210.11680

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.tcl import TCL
    >>> x = load_digits().images[:100] / 16
    >>> tcl = TCL(n_clusters=10, pretrain_epochs=1, epochs=1, random_state=0).fit(x)
    >>> [stage["name"] for stage in tcl.stages_]
    ['cc', 'tcl']
    """

    pretrain_epochs: int | str = "auto"
    share: float = 0.5
    threshold: float = 0.99
    strong: Any = None

    def _stage_1(self) -> CC:
        shared = set(CC().get_params()) & set(self.get_params(deep=False)) - {"epochs", "outliers"}
        stage_1 = CC(**{name: getattr(self, name) for name in shared}, epochs=self.pretrain_epochs)
        stage_1.choice_, stage_1.preprocessor_ = None, getattr(self, "preprocessor_", None)
        stage_1._prefix = "pretrain_"
        return stage_1

    def _check_params(self) -> None:
        checks.number("share", self.share, 0, 1, why="it is a fraction of a cluster. A usual value is 0.5.")
        checks.number("threshold", self.threshold, 0, 1, why="it is a probability. A usual value is 0.99.")
        if self.strong is not None:
            augment.policy(self.strong)
        self._check_stage()
        self._stage_1()._check_params()

    def _build_network(self, shape: tuple[int, ...]) -> ClusterNet:
        return self._stage_1()._build_network(shape)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        [first] = self._stage_1()._stages(context)
        last = self._stage("tcl", self._epochs(context, 150, 3, 100))
        return [replace(first, optimiser=self.optimizer), last]

    def _fit(self, context: TrainingContext) -> ClusterNet:
        strong = self.strong is not None
        policy = augment.WeakStrong(context.policy, augment.policy(self.strong)) if strong else None
        network, (first, last) = context.build(self._build_network), self._stages(context)
        with context.with_policy(policy):
            context.train(first, network, CCObjective(self.tau_i, self.tau_c))
            self._keep_start(network, context)
            context.train(last, network, TCLObjective(self.tau_i, self.share, self.threshold, strong))
        return network
