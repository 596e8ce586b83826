"""Nearest neighbours of many samples, shared by all processes: exact up to a million samples, FAISS beyond.

Shapes: n samples, F dimensions, k neighbours.
"""

import importlib.util
from typing import Any

import numpy as np

from c3clust import dist
from c3clust.errors import MissingExtraError
from c3clust.features import vectors

__all__ = ["EXACT", "nearest_neighbours"]

EXACT = 1_000_000  # samples up to which neighbours are exact
LISTS = 4  # times the square root of n: the cells of the index
PROBES = 32  # cells that are searched for each sample
TRAINED = 64  # samples per cell that the cells are found from
BLOCK = 16_384  # samples that are searched for at a time


def nearest_neighbours(z: np.ndarray, k: int) -> np.ndarray:
    """[n, k]: the k nearest other samples of each sample, in any order; each process searches for its part of them.

    Up to EXACT samples they are exact, and the same for any number of processes. Beyond, an inverted file is searched
    (Jegou, Douze, Schmid, PAMI 2011; the package faiss): some of the k may be missed.
    """
    n = len(z)
    part = dist.part(n, vectors.BLOCK)
    found = _approximate(z, k, part) if n > EXACT else vectors.nearest(z, k, part=part)
    return dist.gather_arrays(found, n, vectors.BLOCK)


def _approximate(z: np.ndarray, k: int, part: range) -> np.ndarray:
    """The neighbours of the samples `part` among all samples."""
    index = _index(np.ascontiguousarray(z, dtype=np.float32))
    found = np.empty((len(part), k), np.int64)
    for i in range(0, len(part), BLOCK):
        own = np.arange(part.start + i, min(part.start + i + BLOCK, part.stop))
        near = index.search(z[own].astype(np.float32), k + 1)[1]  # [BLOCK, k + 1], itself among them, or -1
        near = np.where((near == own[:, None]) | (near < 0), -1, near)
        order = np.argsort(near < 0, axis=1, kind="stable")  # those that were found first
        near = np.take_along_axis(near, order, axis=1)[:, :k]
        found[i : i + BLOCK] = np.where(near < 0, near[:, :1], near)  # the nearest once more for one that was missed
    return found


def _index(z: np.ndarray) -> Any:
    """All samples in cells around the centres that k-means finds in some of them."""
    if importlib.util.find_spec("faiss") is None:
        raise MissingExtraError(
            f"The neighbours of {len(z):,} samples need the package faiss: pip install 'c3clust[faiss]'. "
            f"Up to {EXACT:,} samples need none."
        )
    import faiss

    cells = max(int(LISTS * np.sqrt(len(z))), 1)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(z.shape[1]), z.shape[1], cells)
    chosen = np.random.default_rng(0).permutation(len(z))[: TRAINED * cells]
    index.train(z[np.sort(chosen)])
    index.add(z)
    index.nprobe = PROBES
    return index
