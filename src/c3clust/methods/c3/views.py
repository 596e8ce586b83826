"""Guidance by views, the paper's: CC, then pairs of views whose projections are close are positives."""

import time
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from c3clust import dist
from c3clust.methods._start import started_network
from c3clust.methods.c3.guard import Guard, effective_clusters
from c3clust.methods.c3.loss import c3_loss, positives_per_view
from c3clust.methods.c3.zeta import SAMPLES, choose_zeta
from c3clust.methods.cc import cluster_loss, cluster_projections, fit_head
from c3clust.metrics import acc
from c3clust.networks import ClusterNet
from c3clust.networks.readouts import spherical_kmeans
from c3clust.training import Batch, Stage, TrainingContext, encode_views

__all__ = ["HEADS", "C3Objective", "fit_views", "stages"]

LOST = 0.05  # fraction of samples on which the head disagrees with k-means in z: the head has lost the clusters
EVEN = 0.95  # of the effective clusters in z before stage 2: the clusters of z have not merged
HEADS = ("follow", "frozen", "joint")


@dataclass(frozen=True)
class C3Objective:
    """What one step of stage 2 minimises over the batch of all processes.

    head = "frozen": f and g_I get L_C3, g_C nothing.
    head = "follow": the same, and g_C gets CC's cluster loss on detached h, which trains nothing else.
    head = "joint": CC's cluster loss trains f too.
    """

    zeta: float
    gamma: float
    tau_c: float
    head: str
    twins: str = "always"

    def __call__(self, network: ClusterNet, batch: Batch) -> dict[str, Tensor]:
        h_a, h_b = network.encode(batch.x_a), network.encode(batch.x_b)
        z_a, z_b = network.project(h_a), network.project(h_b)
        c3 = c3_loss(z_a, z_b, self.zeta, self.gamma, self.twins, shared=True)
        positives = positives_per_view(z_a, z_b, self.zeta, self.twins, shared=True)
        terms = {"loss": c3, "c3_loss": c3, "positives_per_view": positives}
        if self.head != "frozen":
            follow = self.head == "follow"
            c_a, c_b = (dist.gather(network.assign(h.detach() if follow else h)) for h in (h_a, h_b))
            cluster = cluster_loss(c_a, c_b, self.tau_c)
            terms |= {"loss": c3 + cluster, "cluster_loss": cluster}
        return terms


def stages(method: Any, context: TrainingContext) -> list[Stage]:
    """Stage 2, and the joint epochs after it, if there are any."""
    epochs = method._epochs(context, 56, 3, 20)
    settle = 0 if method.head == "frozen" else method.settle if isinstance(method.settle, int) else epochs
    return [method._stage("c3", epochs), *([method._stage("settle", settle)] if settle else [])]


def fit_views(method: Any, start: Any, context: TrainingContext) -> ClusterNet:
    """CC, or the network of the fitted `start`; then the C3 loss; then a few joint epochs."""
    if start is None:
        stage_1 = method._stage_1()
        network = stage_1._fit(context)
        method.choice_ = stage_1.choice_
    else:
        network = started_network(method, start, context)
    method._keep_start(network, context)
    stage, *settle = stages(method, context)
    before = cluster_projections(network, context)[1] if settle else torch.empty(0)
    method.zeta_, zeta_note = _choose_zeta(method, network, context)
    objective = C3Objective(method.zeta_, method.gamma, method.tau_c, method.head, method.twins)
    note = context.train(stage, network, objective, Guard() if method.guard else None)
    note["zeta"] = zeta_note
    stopped = method.guard and note["guard"]["decision"]
    if settle and not stopped:
        if not method._init_head_from_features:
            refit_lost_head(network, before, context)
        objective = replace(objective, head="joint")
        context.train(settle[0], network, objective, Guard() if method.guard else None)
    if method.readout == "z":
        centres = spherical_kmeans(context.projections(network), method.n_clusters_, context.seed, shared=True)
        network.centres = torch.from_numpy(centres).to(context.device)
    return network


def _choose_zeta(method: Any, network: ClusterNet, context: TrainingContext) -> tuple[float, dict[str, Any]]:
    """The threshold, and how it was found."""
    if not isinstance(method.zeta, str):
        return float(method.zeta), {"chosen": float(method.zeta)}

    def loss(z_a: Tensor, z_b: Tensor, zeta: float) -> tuple[Tensor, Tensor]:
        counted = positives_per_view(z_a, z_b, zeta, method.twins)
        return c3_loss(z_a, z_b, zeta, method.gamma, method.twins), counted

    started = time.perf_counter()
    h = encode_views(network, context.x, context.policy, context.size, method.batch_size, SAMPLES, context.seed)
    zeta, note = choose_zeta(network.g_i, h, method.n_clusters_, method.batch_size, loss, context.seed)
    context.notes.append(note["why"])
    return dist.agree(zeta), note | {"seconds": time.perf_counter() - started}


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
