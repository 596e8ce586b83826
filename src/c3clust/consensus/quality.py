"""Confidence without labels: how far independent clusterings support a result, and how it compares with k-means.

Shapes: n samples, M members, K clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from c3clust.consensus.partition import Partition
from c3clust.consensus.votes import matched_agreement
from c3clust.features.vectors import kept_above_chance

__all__ = [
    "Comparison",
    "accuracy_interval",
    "compare",
    "estimate",
    "softened",
    "support",
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


def estimate(found: Partition, z: np.ndarray) -> tuple[float, tuple[float, float]]:
    """Mean agreement of the labels with the members, and an interval."""
    each = list(found.agreements().values())
    accuracy = float(np.mean(each))
    return accuracy, accuracy_interval(accuracy, len(z), each)


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


def compare(
    labels: np.ndarray, simple: np.ndarray, neighbours: np.ndarray, supported: tuple[float, float], K: int
) -> Comparison:
    """Compare the labels with those of k-means, by neighbours kept and by support.

    supported: agreement of the labels and of k-means with other clusterings. The result is doubtful if k-means is
    better in one of them by more than MARGIN.
    """
    kept = kept_above_chance(labels, neighbours), kept_above_chance(simple, neighbours)
    gains = kept[1] - kept[0], supported[1] - supported[0]
    return Comparison(matched_agreement(simple, labels, K), kept, supported, False, max(gains) > MARGIN)


def support(labels: np.ndarray, clusterings: Sequence[np.ndarray], K: int) -> float:
    """Mean agreement with other clusterings."""
    return float(np.mean([matched_agreement(one, labels, K) for one in clusterings]))
