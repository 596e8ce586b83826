"""The C3Adaptive estimator, its objective, and what it does between the stages."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor

from c3clust import checks, dist
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._start import StartFields, started_network
from c3clust.methods.c3 import C3, c3_loss, positives_per_view
from c3clust.methods.c3_adaptive.guard import Guard, effective_clusters
from c3clust.methods.c3_adaptive.zeta import SAMPLES, choose_zeta
from c3clust.methods.cc import CC, CCObjective, InstanceObjective, cluster_loss
from c3clust.metrics import acc
from c3clust.networks import ClusterNet
from c3clust.networks.readouts import nearest, spherical_kmeans
from c3clust.training import Batch, Stage, TrainingContext, encode_views
from c3clust.training.head import fit_head

__all__ = ["AdaptiveObjective", "C3Adaptive"]

GAMMA = C3.gamma  # of the pair weights
LOST = 0.05  # fraction of samples on which the head disagrees with k-means in z: the head has lost the clusters
EVEN = 0.95  # of the effective clusters in z before stage 2: the clusters of z have not merged
HEADS = ("follow", "frozen", "joint")


@dataclass(frozen=True)
class AdaptiveObjective:
    """What one step of stage 2 minimises over the batch of all processes.

    head = "frozen": f and g_I get L_C3, g_C nothing; the paper.
    head = "follow": the same, and g_C gets CC's cluster loss on detached h, which trains nothing else.
    head = "joint": CC's cluster loss trains f too.
    """

    zeta: float
    tau_c: float
    head: str

    def __call__(self, network: ClusterNet, batch: Batch) -> dict[str, Tensor]:
        h_a = network.encode(batch.x_a)
        h_b = network.encode(batch.x_b)
        z_a = network.project(h_a)
        z_b = network.project(h_b)
        c3 = c3_loss(z_a, z_b, self.zeta, GAMMA, shared=True)
        positives = positives_per_view(z_a, z_b, self.zeta, shared=True)
        terms = {"loss": c3, "c3_loss": c3, "positives_per_view": positives}
        if self.head != "frozen":
            follow = self.head == "follow"
            c_a, c_b = (dist.gather(network.assign(h.detach() if follow else h)) for h in (h_a, h_b))
            cluster = cluster_loss(c_a, c_b, self.tau_c)
            terms |= {"loss": c3 + cluster, "cluster_loss": cluster}
        return terms


@final
@parameters
class C3Adaptive(StartFields, Clusterer):
    """Cluster images (or feature vectors) with C3 and what this package changed in it; no labels are involved.

    Parameters
    ----------
    encoder : str, torch.nn.Module or None, default="auto"
        A pretrained encoder, whose features f is given: "efficientnet-lite0", "hf:NAME_OR_FOLDER", "timm:NAME", the
        folder of a run, or a module. "auto" uses the first for photographs of 20 px and more if it is installed,
        unless a backbone is chosen; "none" uses none.
    zeta : float or "auto", default="auto"
        Cosine from which two views count as positives. "auto" searches the value for which positives per view converge
        to 2N / n_clusters, by probes of the instance head; `zeta_` is the value used. C3: 0.6.
    head : {"follow", "frozen", "joint"}, default="follow"
        "follow": the cluster head g_C is trained with CC's cluster loss on detached features, so that it follows them.
        "frozen": C3; g_C is that of stage 1. "joint": the cluster loss trains f too.
    settle : int or "auto", default="auto"
        Epochs after stage 2, at its learning rate, in which the cluster loss trains f too. A head that disagrees with
        k-means in z on more than 5 % of the samples is first fitted to those clusters, if they are still as even as
        before stage 2. "auto" is as many as `epochs`. 0, or a frozen head, leaves this stage out: C3.
    guard : bool, default=True
        Stop stage 2 if it fails (collapse, vanishing clusters, a loss that is not finite), detected without labels, and
        restore the network of its last healthy epoch. `stages_` contains the reason.
    start : CC, C3, C3Adaptive, path or None, default=None
        Where stage 2 starts: a fitted estimator, the folder of a saved one, with its network, encoder and size of
        images, or a checkpoint of CC's released code (checkpoint_1000.tar). None trains stage 1 first.
    warmup : float, default=0.3
        Fraction of the epochs of stage 1 with the instance loss alone; then the cluster head starts from k-means in z
        (for texts and tables, in their features). C3: 0, and a head that starts at random.
    cc_epochs, cc_batch_size, cc_lr, cc_schedule
        Stage 1. "auto" is about 420 steps, in 15 to 200 epochs.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 56 steps, in 3 to 20 epochs.
    batch_size : int, default=128
        Of stage 2.
    lr : float, default=0.0001
        Of stage 2.
    schedule : {"constant", "cosine"}, default="constant"
        Of stage 2.

    Attributes
    ----------
    zeta_ : float
        The threshold that stage 2 used.
    start_labels_ : ndarray [n]
        The clusters before stage 2.
    network_ : ClusterNet
        The trained f, g_I and g_C.

    References
    ----------
    Sadeghi, Hojjati, Armanfard. C3: Cross-instance Guided Contrastive Clustering. BMVC 2023.
    https://arxiv.org/abs/2211.07136

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust import C3Adaptive
    >>> method = C3Adaptive(n_clusters=10, cc_epochs=1, epochs=1, random_state=0)
    >>> method.fit(load_digits().images[:300] / 16).labels_.shape
    (300,)
    """

    encoder: Any = "auto"
    zeta: float | str = "auto"
    head: str = "follow"
    settle: int | str = "auto"
    guard: bool = True
    warmup: float = 0.3
    cc_epochs: int | str = "auto"
    cc_batch_size: int = 256
    cc_lr: float = 1e-3
    cc_schedule: str = "cosine"
    epochs: int | str = "auto"
    batch_size: int = 128
    lr: float = 1e-4
    schedule: str = "constant"

    chooses_k: ClassVar[bool] = True

    def _start_kinds(self) -> Mapping[str, type]:
        return {"cc": CC, "c3": C3, "c3_adaptive": C3Adaptive}

    def _check_params(self) -> None:
        if self.zeta != "auto":
            checks.number(
                "zeta", self.zeta, -1, 1, why="it is compared with a cosine similarity. A usual value is 0.6."
            )
        checks.choice("head", self.head, HEADS)
        if self.settle != "auto":
            checks.whole("settle", self.settle, 0, why='it is a number of epochs. "auto" is as many as stage 2 has.')
        checks.flag("guard", self.guard)
        checks.number("warmup", self.warmup, 0, 1, why="it is a fraction of the epochs. A usual value is 0.3.")
        self._check_network()
        checks.stage(self.cc_epochs, self.cc_batch_size, self.cc_lr, self.cc_schedule, prefix="cc_")
        checks.stage(self.epochs, self.batch_size, self.lr, self.schedule)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        first = self._first_stages(context) if self.start is None else []
        epochs = self._epochs(context, 56, 3, 20)
        settle = 0 if self.head == "frozen" else epochs if isinstance(self.settle, str) else self.settle
        last = [self._stage("settle", settle)] if settle else []
        return [*first, self._stage("c3", epochs), *last]

    def _first_stages(self, context: TrainingContext) -> list[Stage]:
        epochs = self._epochs(context, 420, 15, 200, "cc_epochs", self.cc_batch_size)
        warmup = round(self.warmup * epochs)
        first = [Stage("warmup", warmup, self.cc_batch_size, self.cc_lr)] if warmup else []
        return [*first, Stage("cc", epochs - warmup, self.cc_batch_size, self.cc_lr, self.cc_schedule)]

    def _fit(self, context: TrainingContext) -> ClusterNet:
        planned = {stage.name: stage for stage in self._stages(context)}
        if self.start is None:
            network = self._fit_stage_1(planned.get("warmup"), planned["cc"], context)
        else:
            network = started_network(self, self._fitted_start(), context)
        self._keep_start(network, context)
        before = cluster_projections(network, context)[1] if "settle" in planned else torch.empty(0)
        self.zeta_, zeta_note = self._choose_zeta(network, context)
        objective = AdaptiveObjective(self.zeta_, self.tau_c, self.head)
        note = context.train(planned["c3"], network, objective, Guard() if self.guard else None)
        note["zeta"] = zeta_note
        stopped = self.guard and note["guard"]["decision"]
        if "settle" in planned and not stopped:
            if not self._init_head_from_features:
                refit_lost_head(network, before, context)
            joint = replace(objective, head="joint")
            context.train(planned["settle"], network, joint, Guard() if self.guard else None)
        return network

    def _fit_stage_1(self, warmup: Stage | None, cc: Stage, context: TrainingContext) -> ClusterNet:
        """The instance loss alone, then CC from the clusters that k-means finds."""
        if self.n_clusters == "auto" and (len(context.shape) == 1 or warmup is None):
            self._choose_clusters(context.pixels(), context)
        network: ClusterNet = context.build(self._build_network)
        if warmup is not None:
            context.train(warmup, network, InstanceObjective(self.tau_i))
            self._choose_head(network, context)
            clusters = cluster_inputs if self._init_head_from_features else cluster_projections
            n = len(context.x)
            steps = min(max(n // 5, 20), 200)  # few samples are learned in fewer steps
            fit_head(network, *clusters(network, context), context, steps, batch=min(n, 512))
        context.train(cc, network, CCObjective(self.tau_i, self.tau_c))
        return network

    @property
    def _init_head_from_features(self) -> bool:
        """Whether the cluster head starts from the clusters of the encoder's features instead of those of z."""
        encoder = self.preprocessor_.encoder
        return encoder is not None and encoder.init_head_from_features

    def _choose_zeta(self, network: ClusterNet, context: TrainingContext) -> tuple[float, dict[str, Any]]:
        """The threshold, and how it was found."""
        if not isinstance(self.zeta, str):
            return float(self.zeta), {"chosen": float(self.zeta)}

        def loss(z_a: Tensor, z_b: Tensor, zeta: float) -> tuple[Tensor, Tensor]:
            return c3_loss(z_a, z_b, zeta, GAMMA), positives_per_view(z_a, z_b, zeta)

        started = time.perf_counter()
        h = encode_views(network, context.x, context.policy, context.size, self.batch_size, SAMPLES, context.seed)
        zeta, note = choose_zeta(network.g_i, h, self.n_clusters_, self.batch_size, loss, context.seed)
        context.notes.append(note["why"])
        return dist.agree(zeta), note | {"seconds": time.perf_counter() - started}


def cluster_projections(network: ClusterNet, context: TrainingContext) -> tuple[Tensor, Tensor]:
    """Features h [n, F] of the un-augmented samples, and the clusters [n] that spherical k-means finds in their z."""
    z, h = context.features(network)
    centres = spherical_kmeans(z.numpy(), network.n_clusters, context.seed, shared=True)
    return h, torch.from_numpy(nearest(z.numpy(), centres))


def cluster_inputs(network: ClusterNet, context: TrainingContext) -> tuple[Tensor, Tensor]:
    """Features h [n, F] of the un-augmented samples, and the clusters [n] that k-means finds in the network's input.

    For encoders of texts and tables: with few samples, z separates each one from all others, and loses the
    clusters that the encoder's features have.
    """
    found = KMeans(network.n_clusters, n_init=10, random_state=context.seed).fit(context.pixels())
    return context.features(network)[1], torch.from_numpy(found.labels_.astype(np.int64))


def refit_lost_head(network: ClusterNet, before: Tensor, context: TrainingContext) -> None:
    """Fit g_C to the clusters of z if it has lost them: if it disagrees on more than LOST of the samples.

    Only where z has kept its clusters: where they are far less even than `before` stage 2, clusters of z have merged,
    and the head is the better of the two.
    """
    h, labels = cluster_projections(network, context)
    with torch.no_grad():
        own = network.g_c(h.to(context.device)).argmax(dim=1).cpu()
    disagreement = 1 - acc(labels.numpy(), own.numpy())
    if disagreement <= LOST:
        return
    finding = f"After stage c3 the cluster head disagreed with k-means in z on {disagreement:.0%} of the samples"
    now, then = (effective_clusters(torch.bincount(found).tolist()) for found in (labels, before))
    if now < EVEN * then:
        context.notes.append(
            f"{finding}. It was left unchanged, since the clusters of z have become uneven: their effective number "
            f"fell from {then:.1f} to {now:.1f}."
        )
        return
    fit_head(network, h, labels, context)
    context.notes.append(f"{finding}, so it was fitted to the clusters of z before the stage settle.")
