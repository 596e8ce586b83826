"""The decision: which number of clusters the evidence supports, and which one comes next."""

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from c3clust.features.n_clusters.evidence import Evidence, gather
from c3clust.features.vectors import lengths_alike, scale_rows

__all__ = ["Choice", "choose_k", "without_evidence"]

MOST = 2000  # samples that are looked at; of more, a random part
STRUCTURE = 4.0  # standard deviations above the reference from which there are clusters at all
SAME = 1e-9  # variance of the samples, beside their mean square, up to which they are copies of one


@dataclass(frozen=True)
class Choice:
    """The number of clusters that was found, and the evidence; lists have one entry for each number in `ks`."""

    chosen: int
    runner_up: int | None
    reason: str
    ks: list[int]
    score: list[float]  # mean silhouette of resampled clusterings
    low: list[float]  # its interval, about 95 %
    high: list[float]
    above_cloud: list[float]  # how much clearer clusters are than those of one cloud
    kept: list[float]  # share of nearest neighbours in the same cluster, above chance
    stability: list[float]  # adjusted Rand index of resampled clusterings
    structure: float  # standard deviations by which the silhouette exceeds that of the cloud
    looked_at: int  # samples
    seconds: float

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)


def within_one_error(evidence: Evidence) -> int:
    """The position of the smallest K whose score is within one standard error of the best score.

    The error is that of the difference, member by member. Beyond the right number the score is often flat, and the
    smallest of the numbers that cannot be distinguished is the one to prefer (Breiman, Friedman, Olshen, Stone,
    Classification and Regression Trees, 1984, section 3.4.3).
    """
    found = evidence.silhouettes[:, 1:]  # K = 1 has no silhouette
    lost = found[:, [found.mean(0).argmax()]] - found
    error = lost.std(0, ddof=1) / np.sqrt(len(lost))
    return 1 + int(np.flatnonzero(lost.mean(0) <= error + 1e-12)[0])


def next_best(evidence: Evidence, chosen: int) -> int | None:
    """Another answer: of the other numbers, the K whose clusters are clearest beside the reference.

    The silhouette prefers few large groups where classes form groups, as breeds of dogs do; the comparison with a cloud
    of the same covariance does not, and finds the classes.
    """
    others = [(clear, k) for clear, k in zip(evidence.clear[1:], evidence.ks[1:], strict=True) if k != chosen]
    return max(others)[1] if others else None


def choose_k(x: np.ndarray, *, scaled: bool, seed: int) -> Choice:
    """Choose the number of clusters of features [n, F].

    scaled: the features have a common scale and keep their lengths, as do others whose lengths differ much.
    """
    started, rng = time.perf_counter(), np.random.default_rng(seed)
    x = np.asarray(x[np.sort(rng.permutation(len(x))[:MOST])], dtype=np.float32)
    spread = float(((x - x.mean(0)) ** 2).sum(1).mean())
    if spread <= SAME * float((x**2).sum(1).mean()):
        return without_evidence(1, "All samples are the same: there is one cluster.")
    if len(x) < 4:
        return without_evidence(1, f"{len(x)} samples are too few to distinguish clusters: there is one cluster.")
    unit = not scaled and lengths_alike(x)
    evidence = gather(scale_rows(x, False)[0], unit, rng)
    best = evidence.ks[within_one_error(evidence)]
    chosen, runner_up = best, next_best(evidence, best)
    if evidence.structure < STRUCTURE:
        reason = "No clusters stand out: the samples look like one cloud, so there is one cluster."
        chosen, runner_up = 1, best
    else:
        reason = f"{chosen} clusters were estimated, without labels" + (
            f"; {runner_up} would be the next best number." if runner_up else "."
        )
    error, rounded = 2 * evidence.error, _rounded
    return Choice(
        chosen,
        runner_up,
        reason,
        evidence.ks,
        rounded(evidence.score),
        rounded(evidence.score - error),
        rounded(evidence.score + error),
        rounded(evidence.above_cloud),
        rounded(evidence.kept),
        rounded(evidence.stability),
        round(evidence.structure, 2),
        len(x),
        time.perf_counter() - started,
    )


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(value), 4) for value in values]


def without_evidence(chosen: int, reason: str) -> Choice:
    """A number of clusters that needs no comparison with others."""
    return Choice(chosen, None, reason, [], [], [], [], [], [], [], 0.0, 0, 0.0)
