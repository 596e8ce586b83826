"""Consensus: clusterings are matched (Hungarian method) and vote; how much they agree selects the prior.

Shapes: n samples, M members, P priors, K clusters.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from c3clust.metrics import counts_of, rand_index

__all__ = ["consensus", "matched_agreement", "select_prior", "stability", "vote"]

EVIDENCE = 0.03  # gain in agreement for which even sizes are given up,
SHARE = 0.12  # and the share of the disagreement that it must remove


def rand_indices(labels: np.ndarray) -> np.ndarray:
    """[M, M]: adjusted Rand index of all pairs of members. labels: [M, n]."""
    return np.array([[1.0 if a is b else rand_index(a, b) for b in labels] for a in labels])


def stability(labels: np.ndarray) -> float:
    """Mean adjusted Rand index of different members. One member alone has 1."""
    M = len(labels)
    return float((rand_indices(labels).sum() - M) / (M * (M - 1))) if M > 1 else 1.0


def matching(labels: np.ndarray, reference: np.ndarray, K: int) -> np.ndarray:
    """[K]: which cluster of the reference each cluster is (Hungarian method on the counts)."""
    return linear_sum_assignment(-counts_of(labels, reference, K))[1]


def matched_agreement(labels: np.ndarray, reference: np.ndarray, K: int) -> float:
    """Fraction of samples in the same cluster after matching."""
    return float((matching(labels, reference, K)[labels] == reference).mean())


def consensus(q: np.ndarray, rounds: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Matched orders [M, K] of the members' clusters, and the mean [n, K] of their assignments. q: [M, n, K].

    The first reference is the member that agrees most with the others; then it is the vote itself.
    """
    K = q.shape[2]
    labels = q.argmax(2)
    reference = labels[int(rand_indices(labels).sum(1).argmax())]
    for _ in range(rounds):
        order = np.stack([np.argsort(matching(member, reference, K)) for member in labels])
        mean = sum(member[:, clusters] for member, clusters in zip(q, order, strict=True)) / len(q)
        reference = mean.argmax(1)
    return order, mean


def vote(labels: np.ndarray, K: int) -> np.ndarray:
    """[n]: the labels that most of the clusterings [M, n] give, after matching."""
    return consensus(np.eye(K, dtype=np.float32)[labels])[1].argmax(1)


def select_prior(labels: Sequence[np.ndarray]) -> tuple[int, list[float]]:
    """The prior whose members agree most, and how much those of each do. labels: P x [M, n], the evenest prior first.

    Members start from clusterings with different errors (`starts`). With the right prior they converge to the same;
    a larger one divides large clusters differently, a smaller one leaves members where they started. Equal sizes are
    given up only for a gain of more than EVIDENCE and SHARE: where members agree little, it varies more.
    """
    agreement = [stability(each) for each in labels]
    best = int(np.argmax(agreement))
    enough = max(EVIDENCE, SHARE * (1 - agreement[0]))
    return (best if agreement[best] > agreement[0] + enough else 0), agreement
