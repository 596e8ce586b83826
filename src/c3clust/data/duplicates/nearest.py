"""Nearest neighbours of rows, in blocks so that memory is bounded; and near copies among vectors."""

import numpy as np
import torch

from c3clust import dist

__all__ = ["near_vectors", "nearest"]

NEIGHBOURS = 8  # k: the distance to the k-th nearest is the local scale
CHANCE = 0.01  # expected number of pairs in all samples that are called copies by chance
CLOSEST = 0.25  # of the distance to the k-th nearest: copies are never further


def nearest(rows: np.ndarray, k: int, block: int = 1024) -> tuple[np.ndarray, np.ndarray]:
    """Positions [n, k] of the k nearest other rows of each row, the nearest first, and their distances [n, k]."""
    x = torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32))
    square, positions, distances = x.square().sum(dim=1), [torch.empty(0, k).long()], [torch.empty(0, k)]
    for i in dist.part(len(x), block)[::block]:
        part = x[i : i + block]
        d2 = square + part.square().sum(dim=1, keepdim=True) - 2 * part @ x.T
        d2[torch.arange(len(part)), torch.arange(i, i + len(part))] = torch.inf
        found = torch.topk(d2, k, dim=1, largest=False).indices  # [block, k]
        exact = torch.stack([(part - x[column]).norm(dim=1) for column in found.T], dim=1)  # d2 is rounded
        order = exact.argsort(dim=1, stable=True)
        positions.append(found.gather(1, order))
        distances.append(exact.gather(1, order))
    whole = [dist.gather_arrays(torch.cat(own).numpy(), len(x), block) for own in (positions, distances)]
    return whole[0], whole[1].astype(np.float64)


def near_vectors(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs [P, 2] of rows [n, F] that are far closer than neighbours are, and 1 - the ratio of the two distances.

    Around a sample the ratio r = d_1 / d_k of the distances to the nearest and the k-th nearest has P(r < t) about
    (k - 1) t^D, with D the dimension of the data there (Facco et al., Scientific Reports 7, 2017, for k = 2). D is
    estimated from the median of the ratios, and t is chosen so that CHANCE samples fall below it by chance.
    """
    n, k = len(rows), min(NEIGHBOURS, len(rows) - 1)
    if k < 2:
        return np.empty((0, 2), int), np.empty(0)
    rows = rows - rows.mean(axis=0, dtype=np.float64)  # before they become float32
    position, distance = nearest(rows / max(float(np.abs(rows).max()), 1e-300), k)
    ratio = distance[:, 0] / np.maximum(distance[:, -1], 1e-12)
    median = float(np.clip(np.median(ratio), 1e-6, 1 - 1e-6))
    dimension = np.log(1 - 0.5 ** (1 / (k - 1))) / np.log(median)  # from 1 - (1 - t^D)^(k - 1) = 1/2
    limit = min((CHANCE / n / (k - 1)) ** (1 / dimension), CLOSEST)
    i, j = np.nonzero(distance < limit * distance[:, -1:])
    pairs = np.sort(np.stack([i, position[i, j]], axis=1), axis=1)
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    return pairs, 1 - (distance / np.maximum(distance[:, -1:], 1e-12))[i, j][first]
