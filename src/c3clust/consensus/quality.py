"""Confidence without labels: how far independent clusterings support a result, and how it compares with k-means.

The estimate of the accuracy is learned from draws of labelled data; estimate.json has its coefficients, which
`c3clust paper draws` makes. More than two clusters on which clusterings of different kinds agree are nearly always the
classes. Two may be another division of the data: then agreement says nothing about the classes.

Shapes: n samples, M members, K clusters.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.optimize import brentq

from c3clust.consensus.partition import Partition
from c3clust.consensus.votes import matched_agreement
from c3clust.features.vectors import kept_above_chance

__all__ = [
    "SIGNALS",
    "Comparison",
    "Model",
    "accuracy_interval",
    "compare",
    "estimate",
    "signals",
    "softened",
    "spread",
    "support",
    "temperature_for",
]

SYSTEMATIC = 0.075  # standard error for images learned from scratch that more samples do not lower: errors of .00 on
# digits, .15 on uneven digits, .01, .01 and .10 on three tails of MNIST
SIGNALS = ("two", "several")  # each can only raise the estimate
CERTAIN = 0.99  # no estimate is higher
MARGIN = 0.01  # differences from k-means below this are not reported


@dataclass(frozen=True)
class Comparison:
    """The result compared with k-means on the same features; pairs are in this order. No labels are used."""

    agreement: float  # fraction of samples on which both agree
    kept: tuple[float, float]  # fraction of nearest neighbours in the same cluster, above chance
    supported: tuple[float, float]  # agreement with independent clusterings
    simple_is_as_good: bool  # then the result is that of k-means
    doubtful: bool  # k-means is better in one of the two


@dataclass(frozen=True)
class Model:
    """The estimate of the accuracy from SIGNALS, and the interval that contains 90 % of the data sets.

    low, high: ends of the interval of the error over its `spread`. loss: the fraction of the accuracy that is lost per
    unit of |log(K / classes)|.
    """

    constant: float
    weights: Mapping[str, float]  # not negative
    low: float = 0.0
    high: float = 0.0
    loss: float = 0.0

    def accuracy(self, found: Mapping[str, float]) -> float:
        about = self.constant + sum(weight * found[name] for name, weight in self.weights.items())
        return float(np.clip(about, 1 / found["clusters"], CERTAIN))

    def __call__(self, found: Mapping[str, float], doubt: float = 0.0) -> tuple[float, tuple[float, float]]:
        """The estimate and the interval, none of them below `chance`."""
        about, least = self.accuracy(found), chance(found["clusters"], doubt)
        low, high = about + self.low * spread(about), about + self.high * spread(about)
        about, low = about * max(1 - self.loss * doubt, 0), low * max(1 - 2 * self.loss * doubt, 0)
        return max(about, least), (max(low, least), min(high, 1.0))


def chance(clusters: float, doubt: float) -> float:
    """The least accuracy of K clusters that are matched to K classes, 1 / K; to more classes, less."""
    return float(np.exp(-doubt) / clusters)


def spread(accuracy: float) -> float:
    """The scale of an error of this estimate: the standard deviation of one sample's being right."""
    return float(np.sqrt(accuracy * (1 - accuracy)))


@cache
def _model() -> Model:
    return Model(**json.loads(Path(__file__).with_name("estimate.json").read_text(encoding="utf-8")))


def signals(found: Partition) -> dict[str, float]:
    """What the estimate depends on: whether there are two clusters, or how far clusterings agree on more."""
    clusters = len(np.unique(found.labels))
    squared = _agreement(found) ** 2
    return {"clusters": clusters, "two": float(clusters <= 2), "several": squared if clusters > 2 else 0.0}


def _agreement(found: Partition) -> float:
    """Mean agreement of the pairs of clusterings of different kinds, the result among them."""
    kinds = [(name.rstrip("0123456789 "), labels) for name, labels in found.members.items()]
    pairs = combinations([*kinds, ("result", found.labels)], 2)
    return float(np.mean([matched_agreement(one, two, found.n_clusters) for (a, one), (b, two) in pairs if a != b]))


def estimate(found: Partition, z: np.ndarray, doubt: float = 0.0) -> tuple[float, tuple[float, float]]:
    """Estimated accuracy of the labels, and its 90 % interval.

    doubt: the expected |log(K / number of groups)|, 0 if the number of clusters was given. With k-means as the only
    member nothing can be compared: the interval contains all that is possible.
    """
    known = signals(found)
    if len(found.members) < 2:
        least = chance(known["clusters"], doubt)
        return (1 + least) / 2, (least, 1.0)
    return _model()(known, doubt)


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
