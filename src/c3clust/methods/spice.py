"""SPICE: semantic pseudo-labelling for image clustering.

Niu, Shan, Wang, IEEE TIP 2022, https://arxiv.org/abs/2103.09382
Stage 1 learns features, which are then frozen. Stage 2 (SPICE-Self) trains cluster heads on them: in each batch, the
samples nearest to the mean of a cluster's most confident samples get its label. Stage 3 (SPICE-Semi) trains the whole
network on the labels that neighbours share, and on its own confident ones (FixMatch).
Shapes: N samples per batch, F feature width, H heads, M clusters.

Departures from the released code (niuchuangnn/SPICE, spice/model/heads/sem_head.py and sem_head_multi.py,
configs/cifar10, tools/train_moco.py, train_self.py, train_semi.py): stage 1 is SimCLR, MoCo there; Adam in all stages,
in stages 1 and 3 SGD with weight decay there; by default samples are chosen in each batch, among 5,000 for eight passes
there, as with target_size=5000 and passes=8 (by the scores of un-augmented samples, with new views in each pass,
batches of all samples instead of the chosen ones); by default un-augmented samples stand for weakly augmented ones and
one set of augmentations for strong ones, with strong="strong" there are weak and strong views as there; reliable
samples are not cut down to the size of the smallest cluster, clusters weigh the same in the loss instead; stage 3 goes
on with the network of stage 2 and its last weights give the labels, a new network and the moving average of its weights
there. As there: heads of two layers, prototypes of half of the samples per cluster (`center_ratio`), reliable labels
with a confidence above 0.99 (`score_th`) that 99 % of the neighbours share (`ratio_confident`; the paper: 95 %).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust import augment, checks, dist
from c3clust.data.io.subset import Subset
from c3clust.losses.terms import balanced_cross_entropy, full_precision
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._heads import PretrainedHeadsFields
from c3clust.methods._targets import TargetFields, Targets
from c3clust.methods.simclr import SimCLRObjective
from c3clust.networks.heads import NeighbourNet
from c3clust.training import Adam, Batch, Stage, TrainingContext
from c3clust.training.embed import embed_together
from c3clust.training.neighbours import few_neighbours, mine_neighbours

__all__ = ["SPICE"]


CENTRE = 0.5  # fraction of a fair share, N / M, of which a prototype is the mean


# 1. Loss


def prototype_labels(h: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
    """Which samples get the label of which cluster: positions [M, N / M], and their labels [M, N / M].

    The prototype of a cluster is the mean unit feature of its N / 2M most confident samples; the N / M samples of the
    largest cosine to it get its label, so that a sample may have several labels or none. h: [N, F]; p: [N, M].
    """
    n, m = p.shape
    k = max(n // m, 1)
    unit = F.normalize(h, dim=1)
    confident = p.topk(max(int(CENTRE * k), 1), dim=0).indices.T  # [M, k / 2]
    prototypes = unit[confident].mean(dim=1)  # [M, F]
    nearest = (unit @ prototypes.T).topk(k, dim=0).indices.T  # [M, k]
    return nearest, torch.arange(m, device=h.device)[:, None].expand_as(nearest)


def members(h: Tensor, p: Tensor) -> Tensor:
    """Which samples get the label of which cluster, for every head: [N, F], [N, H, M] -> [N, H, M] bool."""
    found = torch.zeros(p.shape, dtype=torch.bool, device=p.device)
    for head in range(p.shape[1]):
        chosen, labels = prototype_labels(h, p[:, head])
        found[:, head][chosen, labels] = True
    return found


def double_softmax_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross entropy of softmax(softmax(logits)): the second softmax keeps it from over-confidence."""
    return F.cross_entropy(torch.softmax(full_precision(logits), dim=-1).flatten(0, -2), labels.flatten())


def reliable(labels: Tensor, neighbours: Tensor, agreement: float = 0.95) -> Tensor:
    """Whether at least this fraction of a sample's neighbours has its label: [n], [n, K] -> [n] bool."""
    return (labels[neighbours] == labels[:, None]).double().mean(dim=1) >= agreement


# 2. Objective


def weak_and_strong(batch: Batch, strong: bool) -> tuple[Tensor, Tensor]:
    """What labels are made of, and what learns them: both views, or the samples and a view."""
    return (batch.x_a, batch.x_b) if strong else (batch.x, batch.x_a)


class SelfObjective(Targets):
    """What one step of stage 2 minimises: the loss of each head on views of the samples that it labels itself."""

    def __init__(self, strong: bool = False, together: int = 0, passes: int = 1) -> None:
        super().__init__(together, passes)
        self.strong = strong

    def optimisers(self, network: NeighbourNet, lr: float) -> dict[str, torch.optim.Optimizer]:
        return {"loss": Adam(network.heads.parameters(), lr=lr)}

    def refresh_targets(self, network: NeighbourNet, context: TrainingContext, index: Tensor) -> None:
        def outputs(x: Tensor) -> tuple[Tensor, Tensor]:
            return (h := network.encode(x)), network.heads.assign(h)

        chosen = Subset(context.x, index.numpy())
        h, p = (torch.from_numpy(rows) for rows in embed_together(network, chosen, context.size, outputs))
        self.index, self.c = index, members(h, p)

    def labelled(self, network: NeighbourNet, weak: Tensor, index: Tensor) -> Tensor:
        """The labels of the batch of all processes: [N, H, M] bool."""
        if self.together:
            return self.c.to(index.device)[self.rows(dist.gather(index))]
        h = dist.gather(network.encode(weak))
        return members(h, network.heads.assign(h))

    def __call__(self, network: NeighbourNet, batch: Batch) -> dict[str, Tensor]:
        network.body.eval()
        weak, strong = weak_and_strong(batch, self.strong)
        with torch.no_grad():
            labelled, h_strong = self.labelled(network, weak, batch.index), network.encode(strong)
        logits, losses = dist.gather(network.heads.logits(h_strong)), []
        for head in range(logits.shape[1]):
            chosen, labels = labelled[:, head].nonzero(as_tuple=True)
            losses.append(double_softmax_loss(logits[chosen, head], labels) if len(chosen) else 0 * logits.sum())
        return {"loss": network.heads.record(torch.stack(losses))}


@dataclass(frozen=True)
class SemiObjective:
    """What one step of stage 3 minimises: cross entropy with reliable labels, and with confident ones of the others."""

    labels: Tensor  # [n], -1 where not reliable
    threshold: float
    strong: bool = False

    def state_dict(self) -> dict[str, Tensor]:
        return {"labels": self.labels}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.labels.copy_(state["labels"])

    def __call__(self, network: NeighbourNet, batch: Batch) -> dict[str, Tensor]:
        given = self.labels.to(batch.x_a.device)[dist.gather(batch.index)]
        weak, strong = weak_and_strong(batch, self.strong)
        with torch.no_grad():
            confidence, own = dist.gather(network(weak)[1]).max(dim=1)
        logits = dist.gather(network.heads.best(network.encode(strong)))
        first = dist.gather(network.heads.best(network.encode(weak))) if self.strong else logits
        known = balanced_cross_entropy(first, given.clamp_min(0), given >= 0)
        others = balanced_cross_entropy(logits, own, (given < 0) & (confidence > self.threshold))
        return {"loss": known + others, "reliable_loss": known, "confident_loss": others}


# 3. Estimator


@final
@parameters
class SPICE(TargetFields, PretrainedHeadsFields, Clusterer):
    """Cluster with SPICE: frozen features, heads that label by prototypes, then semi-supervised learning.

    Parameters
    ----------
    n_heads : int, default=10
        H, cluster heads of stage 2. The one with the lowest loss is kept.
    n_neighbors : int, default=100
        Neighbours that must agree on a reliable label; at most n / (2 M).
    agreement : float, default=0.99
        Fraction of the neighbours that must.
    confidence : float, default=0.99
        Confidence above which a label may be reliable.
    threshold : float, default=0.95
        Confidence above which other samples are trained on their own label.
    strong : str, dict, callable or None, default=None
        Augmentations of what learns labels in stages 2 and 3, as for `augment`; views by `augment` then make the
        labels, and learn the reliable ones. None for the same ones. The paper: "strong".
    target_size : int, default=0
        Samples among which those of each cluster are chosen at once in stage 2, at least one batch; 0 for those of each
        batch. The released code: 5000.
    passes : int, default=1
        How often stage 2 trains on them, with new views each time. The released code: 8.
    pretrain_epochs : int or "auto", default="auto"
        Stage 1. "auto" is about 420 steps, and at least 15 epochs. The paper: 1000.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 200 steps, and at least 5 epochs. The paper: 100.
    semi_epochs : int or "auto", default="auto"
        Stage 3. "auto" is as many as stage 2 has, times its passes.
    lr : float, default=0.001
        Learning rate of Adam in all stages. The paper: 5e-3 in stage 2.

    Attributes
    ----------
    start_labels_ : ndarray [n]
        The clusters before stage 3.

    References
    ----------
    Niu, Shan, Wang. SPICE: semantic pseudo-labeling for image clustering. IEEE TIP 31, 2022.
    https://arxiv.org/abs/2103.09382

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.spice import SPICE
    >>> x = load_digits().images[:100] / 16
    >>> spice = SPICE(n_clusters=10, pretrain_epochs=1, epochs=1, random_state=0).fit(x)
    >>> [stage["name"] for stage in spice.stages_]
    ['simclr', 'self', 'semi']
    """

    hidden_heads: ClassVar[bool] = True

    n_heads: int = 10
    n_neighbors: int = 100
    agreement: float = 0.99
    confidence: float = 0.99
    threshold: float = 0.95
    strong: Any = None
    semi_epochs: int | str = "auto"

    def _check_params(self) -> None:
        checks.whole(
            "n_neighbors", self.n_neighbors, why="it is the number of neighbours of a sample. A usual value is 100."
        )
        for name in ("agreement", "confidence", "threshold"):
            checks.number(
                name, getattr(self, name), 0, 1, why="it is a fraction or probability. A usual value is 0.95."
            )
        if self.strong is not None:
            augment.policy(self.strong)
        self._check_targets()
        checks.stage(self.semi_epochs, self.batch_size, self.lr, self.schedule, "semi_")
        self._check_heads()

    def _stages(self, context: TrainingContext) -> list[Stage]:
        first = self._epochs(context, 420, 15, 400, "pretrain_epochs")
        epochs = self._epochs(context, 200 // self.passes, -(-5 // self.passes), 100)
        last = epochs * self.passes if self.semi_epochs == "auto" else int(self.semi_epochs)
        return [self._stage(*each) for each in (("simclr", first), ("self", epochs), ("semi", last))]

    def _fit(self, context: TrainingContext) -> NeighbourNet:
        network, (first, second, last) = context.build(self._build_network), self._stages(context)
        context.train(first, network, SimCLRObjective(self.tau))
        strong = self.strong is not None
        policy = augment.WeakStrong(context.policy, augment.policy(self.strong)) if strong else None
        context.train(second, network, SelfObjective(strong, self.target_size, self.passes), policy=policy)
        self._keep_start(network, context)
        few = few_neighbours(self.n_neighbors, len(context.x), self.n_clusters_)
        confidence, labels = torch.from_numpy(context.assignments(network)).max(dim=1)
        sure = reliable(labels, mine_neighbours(network, context, few), self.agreement)
        sure &= confidence > self.confidence
        objective = SemiObjective(torch.where(sure, labels, -1), self.threshold, strong)
        context.train(last, network, objective, policy=policy)
        return network
