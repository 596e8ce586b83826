"""Corrections: samples that were placed by hand, and what that says about other samples.

A sample goes where its nearest reference was moved to, and stays where the model put it if that reference was not
moved. The references are the samples that were moved and, of the others, those without which the rule would move one
that was not: condensed nearest neighbours (Hart, IEEE Transactions on Information Theory 14, 1968). So the samples of
the run are exactly where they were placed, and new ones follow them only close by.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from c3clust.errors import RunError
from c3clust.files import model_io

__all__ = ["FILE", "Corrections"]

FILE = "corrections"
FIRST = 50  # samples of each cluster that are references from the start
ROWS = 4096


@dataclass(frozen=True, eq=False)
class Corrections:
    """moved: [m, D] z of the samples that were moved; cluster: [m] where to, -1 for nowhere; kept: [k, D] of others."""

    moved: np.ndarray
    cluster: np.ndarray
    kept: np.ndarray

    @classmethod
    def of(cls, z: np.ndarray, before: np.ndarray, after: np.ndarray) -> "Corrections | None":
        """Those of samples z [n, D] that were in the clusters `before` [n] and are in `after`; None if none moved."""
        changed = before != after
        if not changed.any():
            return None
        moved, rest = z[changed], np.flatnonzero(~changed)
        order = np.random.default_rng(0).permutation(rest)
        first = np.concatenate([order[before[order] == i][:FIRST] for i in np.unique(before[order])] or [order])
        found = cls(moved, after[changed].astype(np.int64), z[first])
        astray = [rest[i : i + ROWS][found._nearest(z[rest[i : i + ROWS]])[2]] for i in range(0, len(rest), ROWS)]
        kept = np.unique(np.concatenate([first, *astray]).astype(np.int64))
        return cls(moved, found.cluster, z[kept])

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
        """The cluster of the nearest moved sample [n], its weight [n], and whether it is the nearest reference [n]."""
        near = _distances(z, self.moved)
        at = near.argmin(axis=1)
        near, far = near[range(len(z)), at], _distances(z, self.kept).min(axis=1, initial=np.inf)
        with np.errstate(invalid="ignore"):
            weight = np.where(np.isfinite(far), far / np.maximum(near + far, np.finfo(float).tiny), 1.0)
        return self.cluster[at], weight, near <= far

    def write(self, folder: Path) -> None:
        """Write corrections.json and corrections.safetensors: no names of samples."""
        model_io.write(folder / FILE, {}, {name: torch.from_numpy(value) for name, value in vars(self).items()})

    @classmethod
    def read(cls, folder: Path, n_clusters: int) -> "Corrections":
        """Those of a folder that `write` wrote, checked."""
        _, found = model_io.read(folder / FILE, "corrections")
        try:
            parts = {name: found[name].numpy() for name in ("moved", "cluster", "kept")}
            moved, cluster, kept = parts.values()
            shaped = moved.ndim == kept.ndim == 2 and moved.shape[1] == kept.shape[1] and len(moved) > 0
            if not shaped or cluster.shape != moved.shape[:1] or cluster.dtype != np.int64:
                raise ValueError("its parts do not fit together")
            if moved.dtype != np.float32 or kept.dtype != np.float32 or model_io.not_finite(found):
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
