"""Learner: clusters that follow the answers of a person.

The model's own probabilities are the prior mean of a Gaussian process over the samples; what a pin says beyond them is
observed with noise, and spreads to the samples near it (Rasmussen, Williams, Gaussian Processes for Machine Learning,
2006, chapter 2.7 and 5.4.2). Its variance is the doubt of the model: what is learned about doubtful samples hardly
moves those that the model is sure of. Where a pin confirms the model, nothing changes. How far pins spread is a mean of
widths, each weighted by how well it predicts every pin from the others (leave one out, as in Yao et al., Bayesian
Analysis 2018); the width 0, at which nothing follows, is one of them. People err: a pin that model and other pins
exclude is in doubt. It holds, but hardly spreads, until a second answer confirms it.
Shapes: n samples, F features, m pins, K clusters.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from c3clust.errors import InputError
from c3clust.review.decisions import Decision, Decisions
from c3clust.review.questions import CANDIDATES, Question, choose
from c3clust.review.space import Space

__all__ = ["Learner"]

WIDTHS = (0.0, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0)  # of the kernel, in units of the mean distance within a cluster
POWER = 0.25  # of the evidence for a width: pins near each other are not independent
NOISE = 0.05  # variance of an answer around the truth
SURE = 0.02  # doubt of a sample that the model is certain of
CORE = 0.5  # share of a cluster that is its core
LEAST = 0.05  # probability of a cluster that the other pins and the model exclude, if the model is in doubt at all
RARE = 0.01  # the same if the model is certain; and of a pin, as evidence about a width
NEW = 0.1  # the same of a cluster that answers made
WRONG = (2, 40)  # wrong answers and answers that are assumed to have been before the first
UNCONFIRMED = 0.99  # doubt of a pin that waits for another answer
CERTAIN = 0.9  # probability of the own cluster where a method gives none


class Learner:
    """Clusters that follow the answers of a person.

    Parameters
    ----------
    z : array [n, F]
        The representation of the samples.
    labels : array [n]
        Their clusters; -1 is no cluster.
    n_clusters : int
    probabilities : array [n, K], optional
        Of the model. Without them, a sample is in its cluster with probability .9.
    seed : int, default=0
    rows : mapping, optional
        The rows of the names that pins use. Without it, they use rows.
    space : Space, optional
        Of the same z, if it is known already.

    Attributes
    ----------
    labels : ndarray [n]
        The clusters after the pins.
    probabilities : ndarray [n, K]
        Rows sum to 1; columns of clusters that were merged into others are 0.
    n_clusters : int
        The number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from types import SimpleNamespace as Pin
    >>> z = np.repeat(np.eye(3), 20, axis=0) + np.random.default_rng(0).normal(0, 0.05, (60, 3))
    >>> learner = Learner(z, np.repeat([0, 1, 1], 20), 2)
    >>> learner.correct([Pin(kind="in", samples=(50,), cluster=None)])  # something new
    >>> np.bincount(learner.labels).tolist()
    [20, 20, 20]
    """

    def __init__(
        self,
        z: Any,
        labels: Any,
        n_clusters: int,
        probabilities: Any = None,
        seed: int = 0,
        rows: Mapping[Any, int] | None = None,
        space: Space | None = None,
    ) -> None:
        self.start = np.array(labels, dtype=np.int64)
        self.prior = _prior(self.start, n_clusters, probabilities)
        self.space, self.seed, self.rows = space or Space(z, self.start, seed), seed, rows
        self.core = _core(self.space, self.start, n_clusters)
        self.correct([])

    def correct(self, pins: Sequence[Decision]) -> None:
        """Follow these pins: all of the history, in order. The result depends on them alone, so fewer undo.

        Of two pins that contradict each other, the later one holds.
        """
        self.decisions = Decisions(self.start, self.prior.shape[1], self.core, self.rows)
        self.decisions.add_all(pins)
        self.n_clusters, self.wrong = len(self.decisions.target), _wrong_rate(self.decisions)
        self.mean = _merged(self.prior, self.decisions.target)
        self.pinned, wanted = _observed(self.decisions, self.mean)
        self.weights, self.inverse = np.full(len(WIDTHS), 1 / len(WIDTHS)), np.zeros((0, 0))
        self.left_out, self.doubt, membership = wanted, np.zeros(len(self.pinned)), self.mean.copy()
        if len(self.pinned):
            membership += self._learned(wanted)
        self.labels, self.probabilities = self._decide(membership)
        self.fixed = self.core | np.isin(np.arange(len(self.labels)), self.pinned)

    def questions(self, n: int, number: bool = False) -> list[Question]:
        """The n questions that are worth most now, best first. A sample is asked about again only if it is in doubt.

        number: those that tell most about the number of clusters.
        """
        return choose(self, n, number)

    @property
    def live(self) -> np.ndarray:
        """The numbers of the clusters that have samples."""
        return np.unique(self.labels[self.labels >= 0])

    def start_of(self, row: int) -> int:
        """The cluster of a sample before it was placed."""
        return self.decisions.target[self.start[row]] if self.start[row] >= 0 else -1

    def covariance(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """[rows, others]: how far what is learned about the one holds for the other, before any pin."""
        return _kernel(self.space.distances(rows, others), self.weights)

    def posterior(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The same after the pins: little where there are some near."""
        before = self.covariance(rows, others)
        if not len(self.pinned):
            return before
        one, two = self.covariance(rows, self.pinned), self.covariance(others, self.pinned)
        return before - one @ (self.inverse.astype(np.float32) @ two.T)

    def _learned(self, wanted: np.ndarray) -> np.ndarray:
        """[n, K]: what the pins say beyond the model. A doubtful one is observed with more noise, so it spreads less.

        wanted: [m, K]. With a variance of d / (1 - d), a pin in doubt d moves its own mean by 1 - d at most.
        """
        scale = np.sqrt(1 - self.mean.max(1, keepdims=True) + SURE)
        at_pins = scale[self.pinned].astype(np.float64)
        surprise = (wanted - self.mean[self.pinned]) / at_pins
        distances = self.space.distances(self.pinned, self.pinned).astype(np.float64)
        noise = np.full(len(wanted), NOISE)
        self._weigh(distances, noise, surprise, wanted, at_pins)
        self.left_out = _left_out(self.inverse, surprise, wanted, at_pins)
        self.doubt = self._doubt()
        self._weigh(distances, noise + self.doubt / (1 - self.doubt), surprise, wanted, at_pins)
        weights = (self.inverse @ surprise).astype(np.float32)
        return scale * (self.covariance(np.arange(len(self.mean)), self.pinned) @ weights)

    def _weigh(
        self, distances: np.ndarray, noise: np.ndarray, surprise: np.ndarray, wanted: np.ndarray, scale: np.ndarray
    ) -> None:
        """The weight of each width, by the probability that it gives to each pin that is left out; the inverse.

        distances: [m, m]; noise: [m], the variance of each pin; surprise: [m, K], in units of scale [m, 1].
        """
        evidence = []
        for only in np.eye(len(WIDTHS)):
            chance = (wanted * _left_out(_inverse(distances, only, noise), surprise, wanted, scale)).sum(1)
            evidence.append(POWER * np.log(np.clip(chance, RARE, 1)).sum())
        weights = np.exp(np.array(evidence) - max(evidence))
        self.weights = weights / weights.sum()
        self.inverse = _inverse(distances, self.weights, noise)

    def _doubt(self) -> np.ndarray:
        """[m]: the probability that an answer is wrong, by the model and the other pins; UNCONFIRMED of open merges.

        Bayes' rule: the sample is in a cluster as the others predict; an answer is wrong at the rate of wrong answers,
        and then names each of the other candidates alike.
        """
        waiting, found = self.decisions.waiting, np.zeros(len(self.pinned))
        ratio = (1 - self.wrong) / (self.wrong / (CANDIDATES - 1))
        for i, row in enumerate(self.pinned.tolist()):
            said = [c if c < 0 else self.decisions.target[c] for c in self.decisions.said.get(row, [])]
            if row in waiting:
                found[i] = UNCONFIRMED
            elif said and said[-1] >= 0:
                least = np.clip(1 - self.mean[row].max(), RARE, LEAST)
                chance = np.clip(self.left_out[i], least, 1)
                chance[said[-1]] = max(chance[said[-1]], NEW if said[-1] >= self.prior.shape[1] else least)
                np.multiply.at(chance, [c for c in said if c >= 0], ratio)
                found[i] = min(1 - chance[said[-1]] / chance.sum(), UNCONFIRMED)
        return found

    def _decide(self, membership: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels [n] and probabilities [n, K]. What was in no cluster stays there unless it is pinned.

        A sample moves to clusters with samples only; one that can be in none of them is in no cluster.
        """
        every, target = np.arange(len(membership)), np.array([*self.decisions.target, -1])
        placed = np.array(list(self.decisions.placed), dtype=np.int64)
        said, before = np.array([self.decisions.cluster_of(int(row)) for row in placed], np.int64), target[self.start]
        membership[:, np.setdiff1d(np.arange(membership.shape[1]), [*before, *said])] = -np.inf
        for row, clusters in self.decisions.banned.items():
            membership[row, target[list(clusters)]] = -np.inf
        labels = membership.argmax(1)
        most, own = membership[every, labels], membership[every, before]
        labels = np.where((most <= own) | (before < 0), before, labels)
        labels[np.isneginf(most) & (before >= 0)] = -1
        labels[placed] = said
        return labels, _probabilities(membership, labels, placed)


def _kernel(squared: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mean of Gaussian kernels of all widths, of different samples with these squared distances."""
    found, kind = np.zeros_like(squared), squared.dtype.type
    for width, weight in zip(WIDTHS, weights.tolist(), strict=True):
        if width:
            found += kind(weight) * np.exp(squared * kind(-0.5 / width**2))
    return found


def _inverse(squared: np.ndarray, weights: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """The inverse covariance of the pins."""
    covariance = _kernel(squared, weights)
    np.fill_diagonal(covariance, 1 + noise)
    return np.linalg.inv(covariance)


def _left_out(inverse: np.ndarray, surprise: np.ndarray, wanted: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """[m, K]: what the model and the other pins say of each pin."""
    return wanted - scale * (inverse @ surprise) / np.diag(inverse)[:, None]


def _prior(labels: np.ndarray, n_clusters: int, probabilities: Any) -> np.ndarray:
    """[n, K]: the probabilities of the model, or what its labels alone say."""
    if len(labels) and not -1 <= labels.min() <= labels.max() < n_clusters:
        raise InputError(f"Labels from {labels.min()} to {labels.max()} do not fit {n_clusters} clusters.")
    if probabilities is None:
        rest = (1 - CERTAIN) / max(n_clusters - 1, 1)
        return np.where(np.arange(n_clusters) == labels[:, None], CERTAIN, rest).astype(np.float32)
    found = np.array(probabilities, dtype=np.float32)
    if found.shape != (len(labels), n_clusters):
        needed = f"{len(labels)} samples and {n_clusters} clusters"
        raise InputError(f"Probabilities of shape {found.shape} do not fit {needed}.")
    return found


def _core(space: Space, labels: np.ndarray, n_clusters: int) -> np.ndarray:
    """[n]: whether a sample is among the CORE of its cluster that is nearest to its mean."""
    means, _ = space.means(labels, n_clusters)
    distance, core = ((space.x - means[labels]) ** 2).sum(1), np.zeros(len(labels), bool)
    for cluster in range(n_clusters):
        inside = np.flatnonzero(labels == cluster)
        core[inside[np.argsort(distance[inside], kind="stable")[: int(np.ceil(CORE * len(inside)))]]] = True
    return core


def _merged(prior: np.ndarray, target: Sequence[int]) -> np.ndarray:
    """[n, K]: the prior with a column for each cluster; columns of merged clusters are added."""
    wide = np.zeros((len(prior), len(target)), np.float32)
    for column, into in enumerate(target[: prior.shape[1]]):
        wide[:, into] += prior[:, column]
    return wide


def _wrong_rate(decisions: Decisions) -> float:
    """The share of answers that are wrong, by those that the next answer about the same sample contradicted."""
    target = [*decisions.target, -1]
    pairs = [(said[0], said[1]) for said in decisions.said.values() if len(said) > 1]
    wrong = sum(target[one] != target[two] for one, two in pairs)
    return (WRONG[0] + wrong) / (WRONG[1] + len(decisions.said))


def _observed(decisions: Decisions, mean: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows [m] that pins tell something about, and what they say of the clusters of each: [m, K]."""
    rows = np.array(sorted({*decisions.placed, *decisions.banned}), dtype=np.int64)
    wanted = mean[rows].astype(np.float64)
    for i, row in enumerate(rows.tolist()):
        if row in decisions.placed:
            wanted[i] = np.arange(mean.shape[1]) == decisions.cluster_of(row)
        else:
            wanted[i, [decisions.target[c] for c in decisions.banned[row]]] = 0
            wanted[i] /= max(wanted[i].sum(), 0.5)
    return rows, wanted


def _probabilities(membership: np.ndarray, labels: np.ndarray, placed: np.ndarray) -> np.ndarray:
    """Rows that sum to 1, with the label as the largest; 1 for the cluster of a pinned sample."""
    found = np.clip(membership, 1e-6, 1)
    inside = np.flatnonzero(labels >= 0)
    found[inside, labels[inside]] = found[inside].max(1)
    found /= found.sum(1, keepdims=True)
    certain = placed[labels[placed] >= 0]
    found[certain] = 0
    found[certain, labels[certain]] = 1
    return found
