"""Rows of features: their scale, their nearest neighbours, and their means with these. No true labels, no torch.

Shapes: n samples, F dimensions, k neighbours.
"""

import numpy as np

__all__ = ["kept_above_chance", "lengths_alike", "nearest", "scale_rows", "smoothed", "unit_rows"]

BLOCK = 1024  # samples whose neighbours are searched for at a time
COLUMNS = 2**16  # samples that they are compared with at a time
LENGTHS = 0.3  # coefficient of variation up to which row lengths are alike; those of encoders have .07 to .16


def unit_rows(x: np.ndarray) -> np.ndarray:
    """Rows scaled to unit length."""
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-9)


def scale_rows(x: np.ndarray, unit: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """Centred rows of unit length, or (a table) of mean squared length 1; with the centre and the scale.

    Centred and not standardised: dimensions that vary little carry noise, which standardisation amplifies.
    """
    centre = x.mean(0)
    z = x - centre
    scale = 1.0 if unit else max(float(np.sqrt((z**2).sum(1).mean())), 1e-9)
    return (unit_rows(z) if unit else z / np.float32(scale)), centre, scale


def lengths_alike(x: np.ndarray) -> bool:
    """Whether centred rows differ little in length, as those of encoders do: then directions distinguish clusters.

    Where lengths differ, a cluster may lie at the centre, and has no direction.
    """
    length = np.linalg.norm(x - x.mean(0), axis=1)
    return bool(length.std() <= LENGTHS * length.mean())


def nearest(z: np.ndarray, k: int, block: int = BLOCK, part: range | None = None) -> np.ndarray:
    """[n, k]: the k nearest other samples of each sample, in blocks so that memory is bounded. part: of these alone."""
    part = range(len(z)) if part is None else part
    square, found = (z**2).sum(1), [np.empty((0, k), np.int64)]
    for i in part[::block]:
        own = np.arange(i, min(i + block, part.stop))
        closest, distance = _among(z, square, own, range(min(COLUMNS, len(z))), k)
        for j in range(COLUMNS, len(z), COLUMNS):
            others, further = _among(z, square, own, range(j, min(j + COLUMNS, len(z))), k)
            closest, distance = np.c_[closest, others], np.c_[distance, further]
            kept = np.argpartition(distance, k - 1, axis=1)[:, :k]
            closest, distance = (np.take_along_axis(each, kept, axis=1) for each in (closest, distance))
        found.append(closest)
    return np.concatenate(found)


def _among(z: np.ndarray, square: np.ndarray, own: np.ndarray, others: range, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The at most k nearest of some samples to the samples `own`, and their distances, less a constant per row."""
    here = slice(others.start, others.stop)
    distance = square[here] - 2 * z[own[0] : own[-1] + 1] @ z[here].T  # [block, others]
    inside = (own >= others.start) & (own < others.stop)
    distance[np.flatnonzero(inside), own[inside] - others.start] = np.inf
    kept = np.argpartition(distance, min(k, len(others)) - 1, axis=1)[:, :k]
    return kept + others.start, np.take_along_axis(distance, kept, axis=1)


def smoothed(z: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """Each sample's mean with its neighbours. Rows between clusters become short, which separates clusters."""
    total = z.copy()
    for column in neighbours.T:
        total += z[column]
    return total / (neighbours.shape[1] + 1)


def kept_above_chance(labels: np.ndarray, neighbours: np.ndarray) -> float:
    """Mean fraction of neighbours in the same cluster, less what clusters of these sizes have by chance; at most 1."""
    kept = float((labels[neighbours] == labels[:, None]).mean())
    chance = float(((np.bincount(labels) / len(labels)) ** 2).sum())
    return (kept - chance) / max(1 - chance, 1e-9)
