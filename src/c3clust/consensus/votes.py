"""Clusterings are matched (Hungarian method) and vote.

Shapes: n samples, M members, K clusters.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

from c3clust.metrics import counts_of, rand_index

__all__ = ["consensus", "matched_agreement"]

ROUNDS = 3  # of votes, each matched to the one before


def rand_indices(labels: np.ndarray) -> np.ndarray:
    """[M, M]: adjusted Rand index of all pairs of members. labels: [M, n]."""
    return np.array([[1.0 if a is b else rand_index(a, b) for b in labels] for a in labels])


def matching(labels: np.ndarray, reference: np.ndarray, K: int) -> np.ndarray:
    """[K]: which cluster of the reference each cluster is (Hungarian method on the counts)."""
    return linear_sum_assignment(-counts_of(labels, reference, K))[1]


def matched_agreement(labels: np.ndarray, reference: np.ndarray, K: int) -> float:
    """Fraction of samples in the same cluster after matching."""
    return float((matching(labels, reference, K)[labels] == reference).mean())


def consensus(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matched orders [M, K] of the members' clusters, and the mean [n, K] of their assignments. q: [M, n, K].

    The first reference is the member that agrees most with the others; then it is the vote itself.
    """
    K = q.shape[2]
    labels = q.argmax(2)
    reference = labels[int(rand_indices(labels).sum(1).argmax())]
    for _ in range(ROUNDS):
        order = np.stack([np.argsort(matching(member, reference, K)) for member in labels])
        mean = sum(member[:, clusters] for member, clusters in zip(q, order, strict=True)) / len(q)
        reference = mean.argmax(1)
    return order, mean
