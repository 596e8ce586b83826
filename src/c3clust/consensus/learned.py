"""Clusters of features that a network has learned: the graph of their neighbours, with an estimate of its accuracy."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from c3clust.consensus.fit import MOST, Quality
from c3clust.consensus.graph import MEMBERS, NEIGHBOURS, PRIORS, read_clusters
from c3clust.consensus.members import kmeans
from c3clust.consensus.quality import accuracy_interval, compare, support, temperature_for
from c3clust.consensus.votes import matched_agreement
from c3clust.features.vectors import nearest, unit_rows
from c3clust.networks import ClusterNet
from c3clust.training import TrainingContext
from c3clust.training.head import fit_head, head_assignments

__all__ = ["Assignment", "assign_neighbours", "calibration"]


@dataclass(frozen=True)
class Assignment:
    """Clusters of the graph of neighbours: labels [n] and confidence [n], of the features h [n, F]."""

    labels: Tensor
    confidence: Tensor
    h: Tensor
    quality: Quality


def assign_neighbours(
    network: ClusterNet, context: TrainingContext, prior: str | float, members: int | str
) -> Assignment:
    """Find the clusters of the graph of neighbours, and fit g_C to them.

    Of more than MOST samples, that many are clustered, and g_C assigns the rest.
    """
    z, h = context.features(network)
    chosen = np.sort(np.random.default_rng(context.seed).permutation(len(h))[:MOST])
    priors = {"auto": PRIORS, "even": (1.0,), "free": (0.0,)}[prior] if isinstance(prior, str) else (float(prior),)
    n_members = MEMBERS if isinstance(members, str) else members
    reading = read_clusters(h[chosen].numpy(), z[chosen].numpy(), network.n_clusters, context.seed, priors, n_members)
    found, sure = torch.from_numpy(reading.labels), torch.from_numpy(reading.confidence).float()
    fit_head(network, h[chosen], found, context)
    confidence, labels = head_assignments(network, h, context).max(dim=1)
    labels[chosen], confidence[chosen] = found, sure
    estimate = float(sure.mean())
    agreements = [matched_agreement(member, reading.labels, network.n_clusters) for member in reading.members]
    interval = accuracy_interval(estimate, len(chosen), agreements)
    rows = unit_rows(h[chosen].numpy() - h[chosen].numpy().mean(axis=0))
    simple = kmeans(rows, network.n_clusters, context.seed, n_init=10).labels_
    near = nearest(rows, min(NEIGHBOURS, len(rows) - 1))
    supported = (
        support(reading.labels, list(reading.members), network.n_clusters),
        support(simple, list(reading.members), network.n_clusters),
    )
    comparison = compare(reading.labels, simple, near, supported, network.n_clusters)
    agreement = {f"prior {each:.2g}": value for each, value in reading.agreement.items()}
    return Assignment(labels, confidence, h, Quality(estimate, interval, reading.prior, agreement, comparison))


def calibration(network: ClusterNet, found: Assignment, context: TrainingContext) -> Tensor:
    """The temperature of g_C at which the mean confidence is the estimated accuracy."""
    c = head_assignments(network, found.h, context)
    return torch.tensor(temperature_for(c.numpy(), found.quality.estimated_accuracy), device=context.device)
