"""Counts of clusters and true classes [M, K] -> the matching of clusters and classes, and scores."""

import numpy as np

__all__ = ["match", "scores"]


def match(counts: np.ndarray) -> dict[int, int]:
    """The best one-to-one map of clusters to classes, as {class: cluster} (Hungarian method).

    >>> match(np.array([[0, 9], [8, 1], [0, 0]]))
    {0: 1, 1: 0}
    """
    from scipy.optimize import linear_sum_assignment

    clusters, classes = linear_sum_assignment(-counts)
    return {int(k): int(m) for k, m in sorted(zip(classes, clusters, strict=True)) if counts[m, k] > 0}


def scores(counts: np.ndarray) -> dict[str, float]:
    """ACC, NMI and ARI of the labelling that has these counts; none if there are no labels."""
    from c3clust import metrics

    clusters, classes = np.nonzero(counts)
    n = counts[clusters, classes]
    return metrics.scores(np.repeat(classes, n), np.repeat(clusters, n)) if len(n) else {}
