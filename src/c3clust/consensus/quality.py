"""Confidence without labels: how far independent clusterings support a result, and how it compares with k-means.

Shapes: n samples, M members, K clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from c3clust import dist
from c3clust.consensus.heads import (
    Settings,
    draw_dims,
    kmeans,
    linkage_start,
    member_rows,
    neighbour_count,
)
from c3clust.consensus.votes import matched_agreement
from c3clust.features.vectors import kept_above_chance, nearest, smoothed

__all__ = [
    "Comparison",
    "accuracy_estimate",
    "accuracy_interval",
    "compare",
    "reference_clusterings",
    "softened",
    "temperature_for",
]

SYSTEMATIC = 0.035  # standard error of the estimated accuracy that more samples do not lower
MARGIN = 0.01  # differences from k-means below this are not reported


@dataclass(frozen=True)
class Comparison:
    """The result compared with k-means on the same features; pairs are in this order. No labels are used."""

    agreement: float  # fraction of samples on which both agree
    kept: tuple[float, float]  # fraction of nearest neighbours in the same cluster, above chance
    supported: tuple[float, float]  # agreement with independent clusterings
    simple_is_as_good: bool  # then the result is that of k-means
    doubtful: bool  # k-means is better in one of the two


def reference_clusterings(
    z: np.ndarray, K: int, unit: bool, s: Settings, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Samples [n'], and independent clusterings of them [3, M, n'].

    Heads that were trained on the same neighbours repeat each other's errors. A reference clustering uses neither
    the heads nor their neighbours: it uses a tenth of the dimensions (of few, half) and finds neighbours there. There
    are three kinds: k-means, k-means of smoothed rows, and average linkage of smoothed rows.
    """
    F, index = z.shape[1], np.sort(rng.permutation(len(z))[: s.reference_samples])
    k = neighbour_count(len(index), K, s.neighbours)
    members = member_rows(z[index], draw_dims(F, s.members, 1 / 10, max(min(F // 2, 32), 1), rng), unit)
    draws = [(rows, int(rng.integers(2**31)), rng.permutation(len(index))[: s.anchors]) for rows in members]

    def reference(draw: tuple[np.ndarray, int, np.ndarray]) -> list[np.ndarray]:
        rows, seed, anchors = draw
        smooth = smoothed(rows, nearest(rows, k))
        return [kmeans(rows, K, seed).labels_, kmeans(smooth, K, seed).labels_, linkage_start(smooth, K, anchors)]

    return index, np.array(dist.shared_map(reference, draws, threads=True)).transpose(1, 0, 2)


def accuracy_estimate(labels: np.ndarray, votes: Sequence[np.ndarray], K: int) -> tuple[float, tuple[float, float]]:
    """Mean agreement of the labels with the vote of each kind of reference clustering, and an interval.

    SYSTEMATIC is the error that remains with many samples and unanimous references, measured on labelled data.
    """
    each = [matched_agreement(one, labels, K) for one in votes]
    estimate = float(np.mean(each))
    return estimate, accuracy_interval(estimate, len(labels), each)


def accuracy_interval(estimate: float, n: int, each: Sequence[float]) -> tuple[float, float]:
    """About 95 %: from the number of samples, the variance of the agreements `each`, and SYSTEMATIC."""
    error = float(np.sqrt(estimate * (1 - estimate) / n + np.var(each) / len(each) + SYSTEMATIC**2))
    return max(estimate - 2 * error, 0.0), min(estimate + 2 * error, 1.0)


def softened(mean: np.ndarray, temperature: float) -> np.ndarray:
    """Rows proportional to mean^(1/T): same order, other confidence."""
    logs = np.log(np.maximum(mean, 1e-6)) / temperature
    x = np.exp(logs - logs.max(1, keepdims=True))
    return x / x.sum(1, keepdims=True)


def temperature_for(mean: np.ndarray, target: float) -> float:
    """The temperature at which the mean confidence of the rows `mean` [n, K] is the target, within [.05, 50]."""

    def gap(log_temperature: float) -> float:
        return float(softened(mean, np.exp(log_temperature)).max(1).mean() - target)

    low, high = np.log(0.05), np.log(50.0)
    if gap(low) <= 0:
        return 0.05
    return 50.0 if gap(high) >= 0 else float(np.exp(brentq(gap, low, high, xtol=1e-3)))


def support(labels: np.ndarray, clusterings: np.ndarray, K: int) -> float:
    """Mean agreement with single reference clusterings. clusterings: [3, M, n']."""
    return float(np.mean([matched_agreement(one, labels, K) for kind in clusterings for one in kind]))


def compare(
    labels: np.ndarray, simple: np.ndarray, neighbours: np.ndarray, index: np.ndarray, clusterings: np.ndarray, K: int
) -> Comparison:
    """Compare the labels with those of k-means, by neighbours kept and by support.

    If k-means is at least as good in both, it is preferred as the simpler result. If it is better in one of them
    by more than MARGIN, the result is doubtful.
    """
    kept = kept_above_chance(labels, neighbours), kept_above_chance(simple, neighbours)
    supported = support(labels[index], clusterings, K), support(simple[index], clusterings, K)
    gains = kept[1] - kept[0], supported[1] - supported[0]
    return Comparison(matched_agreement(simple, labels, K), kept, supported, min(gains) >= 0, max(gains) > MARGIN)
