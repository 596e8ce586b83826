"""Corrections: samples that were placed by hand, and what that says about other samples.

A sample that was moved speaks for what is closer to it than any sample that was left where it was: such a sample goes
where it went. So the samples of the run are exactly where they were placed, and new ones follow them only close by.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from c3clust.errors import RunError
from c3clust.files import model_io

__all__ = ["FILE", "Corrections"]

FILE = "corrections"
ROWS = 4096
WITHIN = 0.999  # of a radius: z of the same sample differs a little from batch to batch
SAME = 1e-10  # squared distance, in units of the squared length, of samples that are the same
FAR = 1e30  # squared radius where no sample was left


@dataclass(frozen=True, eq=False)
class Corrections:
    """moved: [m, D] z of the samples that were moved; cluster: [m] where to, -1 for nowhere; radius: [m] squared."""

    moved: np.ndarray
    cluster: np.ndarray
    radius: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray, before: np.ndarray, after: np.ndarray) -> "Corrections | None":
        """Those of samples z [n, D] that were in the clusters `before` [n] and are in `after`; None if none moved."""
        changed = before != after
        if not changed.any():
            return None
        moved, left = z[changed], z[~changed]
        radius = np.full(len(moved), FAR)
        for i in range(0, len(left), ROWS):
            radius = np.minimum(radius, _distances(left[i : i + ROWS], moved).min(axis=0))
        least = SAME * (moved.astype(np.float64) ** 2).sum(axis=1)
        return cls(moved, after[changed].astype(np.int64), np.maximum(WITHIN * radius, least))

    def apply(self, labels: np.ndarray, proba: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels [n] and probabilities [n, M] after the corrections, and which samples were corrected [n].

        The probability of the new cluster is at least one half, and 1 for the sample that was placed itself.
        """
        if z.shape[1] != self.moved.shape[1]:
            raise RunError(f"Corrections for {self.moved.shape[1]} features do not fit a model with {z.shape[1]}.")
        labels, proba = labels.copy(), proba.copy()
        found = np.zeros(len(z), bool)
        for i in range(0, len(z), ROWS):
            rows = slice(i, i + ROWS)
            cluster, weight, found[rows] = self._nearest(z[rows])
            labels[rows] = np.where(found[rows], cluster, labels[rows])
            one = np.eye(proba.shape[1], dtype=proba.dtype)[cluster]
            share = np.where(found[rows] & (cluster >= 0), weight, 0).astype(proba.dtype)[:, None]
            proba[rows] = (1 - share) * proba[rows] + share * one
        return labels, proba, found

    def _nearest(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the nearest moved sample went [n], its weight [n], and whether it speaks for a sample [n].

        Distances are in units of the radius of the moved sample.
        """
        near = _distances(z, self.moved) / np.maximum(self.radius, np.finfo(float).tiny)
        at = near.argmin(axis=1)
        share = near[range(len(z)), at]
        return self.cluster[at], 1 - np.minimum(share, 1) / 2, share <= 1

    def write(self, folder: Path) -> None:
        """Write corrections.json and corrections.safetensors: no names of samples."""
        model_io.write(folder / FILE, {}, {name: torch.from_numpy(value) for name, value in vars(self).items()})

    @classmethod
    def read(cls, folder: Path, n_clusters: int) -> "Corrections":
        """Those of a folder that `write` wrote, checked."""
        _, found = model_io.read(folder / FILE, "corrections")
        try:
            parts = {name: found[name].numpy() for name in ("moved", "cluster", "radius")}
            moved, cluster, radius = parts.values()
            if moved.ndim != 2 or not len(moved) or not cluster.shape == radius.shape == moved.shape[:1]:
                raise ValueError("its parts do not fit together")
            types = (moved.dtype, cluster.dtype, radius.dtype) == (np.float32, np.int64, np.float64)
            if not types or model_io.not_finite(found) or not (radius >= 0).all():
                raise ValueError("its values are not numbers")
            if not -1 <= cluster.min() <= cluster.max() < n_clusters:
                raise ValueError("a cluster does not exist")
        except (KeyError, ValueError, TypeError) as error:
            raise RunError(f"{folder / FILE}.safetensors is damaged or of another kind: {error}.") from None
        return cls(**parts)


def _distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances [n, m], in float64: a sample is recognised by a distance close to zero."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    square = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.maximum(square, 0)
