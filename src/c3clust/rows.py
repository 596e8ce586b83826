"""Rows of features: their scale, their nearest neighbours, and their means with these. No true labels, no torch.

Shapes: n samples, F dimensions, k neighbours.
"""

import numpy as np

__all__ = ["kept_above_chance", "lengths_alike", "nearest", "scale_rows", "smoothed", "unit_rows"]

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
    """Whether centred rows differ little in length, as those of encoders do: then directions tell clusters apart.

    Where lengths differ, a cluster may lie at the centre, and has no direction.
    """
    length = np.linalg.norm(x - x.mean(0), axis=1)
    return bool(length.std() <= LENGTHS * length.mean())


def nearest(z: np.ndarray, k: int, block: int = 1024) -> np.ndarray:
    """[n, k]: the k nearest other samples of each sample, in blocks so that memory is bounded."""
    square, found = (z**2).sum(1), []
    for i in range(0, len(z), block):
        distance = square - 2 * z[i : i + block] @ z.T  # [block, n], less a constant per row
        distance[np.arange(len(distance)), np.arange(i, i + len(distance))] = np.inf
        found.append(np.argpartition(distance, k - 1, axis=1)[:, :k])
    return np.concatenate(found)


def smoothed(z: np.ndarray, neighbours: np.ndarray) -> np.ndarray:
    """Each sample's mean with its neighbours. Rows between clusters become short, which separates clusters."""
    total = z.copy()
    for column in neighbours.T:
        total += z[column]
    return total / (neighbours.shape[1] + 1)


def kept_above_chance(labels: np.ndarray, neighbours: np.ndarray) -> float:
    """Mean share of neighbours in the same cluster, less what clusters of these sizes have by chance; at most 1."""
    kept = float((labels[neighbours] == labels[:, None]).mean())
    chance = float(((np.bincount(labels) / len(labels)) ** 2).sum())
    return (kept - chance) / max(1 - chance, 1e-9)
