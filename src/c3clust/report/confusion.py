"""Counts of clusters and true classes -> matching, per-class accuracy, scores.

Everything here works on the table of counts [M, K], which a merge of clusters only adds up.
"""

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["match", "scores"]


def match(counts: np.ndarray) -> dict[int, int]:
    """The best one-to-one map of clusters to classes, as {class: cluster} (Hungarian method).

    >>> match(np.array([[0, 9], [8, 1], [0, 0]]))
    {0: 1, 1: 0}
    """
    clusters, classes = linear_sum_assignment(-counts)
    return {int(k): int(m) for k, m in sorted(zip(classes, clusters, strict=True)) if counts[m, k] > 0}


def scores(counts: np.ndarray) -> dict[str, float]:
    """ACC, NMI (arithmetic mean) and ARI of the labelling that has these counts."""
    n = counts.sum()
    if n == 0:
        return {}
    acc = sum(counts[m, k] for k, m in match(counts).items()) / n
    return {"acc": float(acc), "nmi": _nmi(counts / n), "ari": _ari(counts.astype(np.float64))}


def _nmi(p: np.ndarray) -> float:
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    mean = (_entropy(rows) + _entropy(columns)) / 2
    return float((_entropy(rows) + _entropy(columns) - _entropy(p.ravel())) / mean) if mean > 1e-12 else 1.0


def _entropy(p: np.ndarray) -> float:
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


def _ari(counts: np.ndarray) -> float:
    both, rows, columns = (_pairs(c) for c in (counts, counts.sum(axis=1), counts.sum(axis=0)))
    chance = rows * columns / max(_pairs(counts.sum()), 1.0)
    most = (rows + columns) / 2
    return float((both - chance) / (most - chance)) if most - chance > 1e-9 else 1.0


def _pairs(c: np.ndarray) -> float:
    return float((c * (c - 1)).sum() / 2)
