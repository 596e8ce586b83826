"""The decision: which number of clusters the evidence supports, which others are possible, and how doubtful it is."""

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from c3clust.features.n_clusters.chance import chances, curves, select
from c3clust.features.n_clusters.evidence import gather
from c3clust.features.n_clusters.partitions import partitions
from c3clust.features.vectors import lengths_alike, scale_rows

__all__ = ["Choice", "choose_k", "without_evidence"]

MOST = 2000  # samples that are looked at; of more, a random part
STRUCTURE = 4.0  # standard deviations above the reference from which there are clusters at all
EVEN = 0.5  # doubt about one cluster: the labelled draws, from which doubt is known, have no such case
SAME = 1e-9  # variance of the samples, beside their mean square, up to which they are copies of one


@dataclass(frozen=True)
class Choice:
    """The number of clusters that was found, and the evidence; lists have one entry for each number in `ks`."""

    chosen: int
    runner_up: int | None
    others: list[int]  # further answers, the most probable first; each differs by a factor of 1.5 or more
    doubt: float  # probability that the true number is not within a factor of 1.25 of the one chosen
    reason: str
    ks: list[int]
    chance: list[float]  # probability of each number from 2 on, if it is not 1
    score: list[float]  # mean silhouette of resampled clusterings
    low: list[float]  # its interval, about 95 %
    high: list[float]
    above_cloud: list[float]  # how much clearer clusters are than those of one cloud
    kept: list[float]  # share of nearest neighbours in the same cluster, above chance
    stability: list[float]  # adjusted Rand index of resampled clusterings
    structure: float  # standard deviations by which the silhouette exceeds that of the cloud
    looked_at: int  # samples
    seconds: float

    @property
    def log_error(self) -> float:
        """Expected |log(chosen / true number)|; 0 without probabilities."""
        if self.chosen < 2 or not self.chance:
            return 0.0
        return float(np.array(self.chance[1:]) @ np.abs(np.log(np.array(self.ks[1:]) / self.chosen)))

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)


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
    z = scale_rows(x, False)[0]
    evidence = gather(z, unit, rng)
    ks, found = curves(evidence, partitions(z, unit, rng))
    chance = chances(ks, found)
    (chosen, *others), doubt = select(ks, chance)
    if evidence.structure < STRUCTURE:
        reason = "No clusters stand out: the samples look like one cloud, so there is one cluster."
        chosen, others, doubt = 1, [chosen, *others][:2], EVEN
    else:
        also = (
            f"; {' or '.join(map(str, others))} would be the next best number{'s'[: len(others) - 1]}" if others else ""
        )
        reason = f"{chosen} clusters were estimated, without labels{also}."
    error, rounded = 2 * evidence.error, _rounded
    return Choice(
        chosen,
        others[0] if others else None,
        others,
        round(doubt, 3),
        reason,
        evidence.ks,
        [0.0, *rounded(chance)],
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
    return Choice(chosen, None, [], 0.0, reason, [], [], [], [], [], [], [], [], 0.0, 0, 0.0)
