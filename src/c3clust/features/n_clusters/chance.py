"""How probable each number of clusters is: a conditional logit of four curves over it.

log P(K) = sum over curves of weight x (value - largest value) / range + prior(log K), up to a constant. The weights
were learned on labelled draws, and judged on draws of data sets that they were not learned on (docs/CHOOSING_K.md).

Shapes: G numbers of clusters.
"""

import numpy as np

from c3clust.features.n_clusters.evidence import Evidence
from c3clust.features.n_clusters.partitions import Partitions

__all__ = ["chances", "curves", "select"]

WEIGHTS = {"silhouette": 3.25, "weakest": 3.2, "next_eigenvalue": 2.8, "above_cloud": 1.8}
PRIOR = (0.29, -0.61)  # of log K and of (log K - 2)^2
WIDTH = 0.35  # of the kernel over log K that smooths the probabilities
SHARP = 0.1  # of log K: how near the mode of the smoothed probabilities the most probable number is looked for
RIGHT = 1.25  # factor within which a number is as good as right
OTHER = 1.5  # factor from which it is another answer
NUMBERS = 3  # answers
PEAK = 3  # weight of the density at a peak, where other answers are ranked


def curves(evidence: Evidence, found: Partitions) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The numbers of clusters from 2 on, and the curves [G] over them; those of the partitions are interpolated."""
    ks = np.array(evidence.ks[1:])
    own, cloud, at = found.eigenvalues, found.cloud, np.minimum(ks, len(found.eigenvalues) - 1)
    return ks, {
        "silhouette": evidence.score[1:],
        "weakest": np.interp(np.log(ks), np.log(found.ks), found.weakest),
        "next_eigenvalue": -own[at],  # small where K clusters are all that diffuses slowly
        "above_cloud": own[at - 1] - cloud[at - 1],
    }


def chances(ks: np.ndarray, found: dict[str, np.ndarray]) -> np.ndarray:
    """[G] probabilities."""
    score = PRIOR[0] * np.log(ks) + PRIOR[1] * (np.log(ks) - 2) ** 2
    for name, weight in WEIGHTS.items():
        score = score + weight * (found[name] - found[name].max()) / max(float(np.ptp(found[name])), 1e-6)
    chance = np.exp(score - score.max()) * _share(ks)
    return chance / chance.sum()


def _share(ks: np.ndarray) -> np.ndarray:
    """[G]: the part of log K that each of the numbers ks, all from 2 on, stands for."""
    return np.log((ks + 0.5) / (ks - 0.5))


def select(ks: np.ndarray, chance: np.ndarray) -> tuple[list[int], float]:
    """The number chosen and at most NUMBERS - 1 other answers, the most probable first; the doubt about the first.

    It is chosen at the mode of the probabilities smoothed over log K, as the densest number near it. Others are where
    the density is largest among numbers that differ by a factor OTHER; peaks count PEAK times. The doubt is the
    probability that the number is not within a factor RIGHT of the first.
    """
    log, density = np.log(ks), chance / _share(ks)
    apart = log[:, None] - log
    mode = log[(_kernel(apart, WIDTH) @ chance).argmax()]
    found = [int(ks[np.where(np.abs(log - mode) <= SHARP, density, -1).argmax()])]
    fine = _kernel(apart, SHARP)
    fine = (fine @ chance) / (fine @ _share(ks))
    beside = np.pad(fine, 1, constant_values=-1)
    ranked = fine * np.where((fine >= beside[:-2]) & (fine >= beside[2:]), PEAK, 1)
    while len(found) < NUMBERS and (left := np.abs(log[:, None] - np.log(found)).min(1) > np.log(OTHER) - 1e-9).any():
        found.append(int(ks[np.where(left, ranked, -1).argmax()]))
    right = np.abs(log - np.log(found[0])) <= np.log(RIGHT) + 1e-9
    return found, float(1 - chance[right].sum())


def _kernel(apart: np.ndarray, width: float) -> np.ndarray:
    return np.exp(-((apart / width) ** 2) / 2)
