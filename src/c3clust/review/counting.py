"""Counting: what makes the number of clusters wrong, and how likely each of it is.

Two clusters may be one thing, and a part of a cluster may be something that no cluster shows. The parts are the nodes
of Ward's tree of each cluster. The log odds of both are linear in the logarithms of a few ratios: how many nearest
neighbours lie across, against what chance would give, sizes, and distances between means. The coefficients were fitted
to 25 draws of public data (photographs, texts, tables, digits, sounds) in .5 to 1.6 times as many k-means clusters as
classes; docs/guide/review.md has what they are worth on data that the fit did not include.
Shapes: n samples, D components, K clusters.
"""

import numpy as np
from scipy.cluster.hierarchy import linkage

__all__ = ["nearest", "new_things", "one_thing"]

NEIGHBOURS = 10
PAIRS = 4  # nearest clusters that each one may be one with
NODES = 8  # of each tree, those that were joined last
PAIR = (1.1, -1.2, 0.6)  # of neighbours across, of the size of the smaller cluster; constant
PART = (1.2, -0.3, -0.3, -1.5, -1.9)  # of the variance of the rest, neighbours in it and elsewhere, distance; constant
LEAST = 5  # samples of a cluster that may have parts
WIDE = 30  # samples of a part from which a sample that was asked about says nothing about all of it
TINY = 1e-6


def nearest(x: np.ndarray) -> np.ndarray:
    """The nearest other rows of each row: [n, k]."""
    square = (x**2).sum(1)
    distance = square[:, None] + square - 2 * x @ x.T
    np.fill_diagonal(distance, np.inf)
    k = min(NEIGHBOURS, len(x) - 1)
    return np.argpartition(distance, k - 1, axis=1)[:, :k]


def one_thing(x: np.ndarray, labels: np.ndarray, near: np.ndarray) -> list[tuple[float, tuple[int, int]]]:
    """The log odds that two clusters are one, of each cluster and those nearest to it."""
    live, inverse, size = np.unique(labels, return_inverse=True, return_counts=True)
    means = np.array([x[labels == cluster].mean(0) for cluster in live])
    distance = ((means[:, None] - means) ** 2).sum(2)
    order = distance.argsort(1, kind="stable")[:, 1 : PAIRS + 1]
    across = np.zeros((len(live), len(live)))
    np.add.at(across, (np.repeat(inverse, near.shape[1]), inverse[near].ravel()), 1)
    found = []
    for a, b in sorted({(min(i, j), max(i, j)) for i, row in enumerate(order.tolist()) for j in row}):
        both = size[a] + size[b]
        mixed = [(across[i, j] + 0.5) / (across[i, i] + across[i, j] + 1) * both / size[j] for i, j in ((a, b), (b, a))]
        odds = PAIR[0] * np.log(mixed).mean() + PAIR[1] * np.log(min(size[a], size[b]) / np.median(size)) + PAIR[2]
        found.append((float(odds), (int(live[a]), int(live[b]))))
    return found


def new_things(
    x: np.ndarray, labels: np.ndarray, near: np.ndarray, told: np.ndarray
) -> list[tuple[float, int, np.ndarray]]:
    """The log odds that a part is something that no cluster shows, its most typical row, and its rows.

    told: [n], whether it is known already where a sample belongs.
    """
    live = np.unique(labels)
    means = np.array([x[labels == cluster].mean(0) for cluster in live])
    variance = np.array([_variance(x[labels == cluster]) for cluster in live])
    usual, found = np.median(variance) + TINY, list[tuple[float, int, np.ndarray]]()
    for cluster in live:
        rows, others = np.flatnonzero(labels == cluster), means[live != cluster]
        for part in _parts(x[rows]) if len(rows) >= LEAST else ():
            inside, rest = rows[part], np.delete(rows, part)
            mean, typical = x[inside].mean(0), _typical(x, inside)
            if told[typical] or (len(inside) < WIDE and told[inside].any()):
                continue
            away = ((mean - x[rest].mean(0)) ** 2).sum() + TINY
            other = ((others - mean) ** 2).sum(1).min() if len(others) else 4 * away
            own = np.isin(near[inside], inside).sum()
            same = (labels[near[inside]] == cluster).sum() - own
            outside = near[inside].size - same - own
            values = (
                (_variance(x[rest]) + TINY) / usual,
                (same + 0.5) / (own + same + 1) * len(rows) / len(rest),
                (outside + 0.5) / near[inside].size,
                other / away + TINY,
            )
            found.append((float(np.dot(PART[:4], np.log(values)) + PART[4]), typical, inside))
    return found


def _parts(x: np.ndarray) -> list[np.ndarray]:
    """The smaller sides of the last joins of Ward's tree; at least two rows, at most half of them."""
    tree, members, found = linkage(x, "ward"), [np.array([i]) for i in range(len(x))], list[np.ndarray]()
    for join in tree:
        members.append(np.concatenate([members[int(join[0])], members[int(join[1])]]))
    for join in tree[: -NODES - 1 : -1]:
        found += [members[int(i)] for i in join[:2] if 2 <= len(members[int(i)]) <= len(x) // 2]
    return found


def _variance(x: np.ndarray) -> float:
    return float(((x - x.mean(0)) ** 2).sum(1).mean())


def _typical(x: np.ndarray, rows: np.ndarray) -> int:
    return int(rows[((x[rows] - x[rows].mean(0)) ** 2).sum(1).argmin()])
