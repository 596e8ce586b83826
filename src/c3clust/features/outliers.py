"""What belongs nowhere: samples far from all clusters, and samples between two clusters.

The distance of a sample is that of z to the nearest centre: 1 - cosine where all z have unit length, else Euclidean, in
units of the cluster's own mean distance. A sample is far if it exceeds the distance of 99 in 100 training samples, or
Tukey's outer fence of these distances (Q3 + 3 IQR), whichever is less. It is between two clusters if the two largest
entries of c are within a tenth.

The rule is fitted once, saved with the model, and holds for new samples too. n samples, D features of z, K clusters.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from c3clust.records.outliers import Outlier

__all__ = ["OutlierRule", "blocks"]

USUAL = 0.99  # fraction of the training samples that are not far, at least
FENCE = 3.0  # interquartile ranges above the third quartile
TIE = 0.1  # difference of the two largest entries of c, divided by their sum
BLOCK = 2**19  # values, 4 MB
PREFIX = "outliers."  # of the tensors in a saved model


@dataclass(frozen=True, eq=False)
class OutlierRule:
    """centres: [K, D]; spread: [K], all 1 for z of unit length; limit: of the distance, in units of the spread."""

    centres: np.ndarray
    spread: np.ndarray
    limit: float
    unit: bool

    @classmethod
    def fit(cls, z: Any, labels: np.ndarray, n_clusters: int) -> "OutlierRule | None":
        """The rule from z [n, D], read in blocks, and labels [n] of the training samples; None if z is not finite."""
        sizes = np.bincount(labels, minlength=n_clusters)
        sums, unit = np.zeros((n_clusters, z.shape[1])), True
        for rows in blocks(z):
            block = z[rows]
            if not np.isfinite(block).all():
                return None
            np.add.at(sums, labels[rows], block)
            unit = unit and bool(np.all(np.abs(np.linalg.norm(block, axis=1) - 1) < 1e-2))
        centres = sums / np.maximum(sizes, 1)[:, None]
        spread = np.ones(n_clusters)
        if not unit:
            length = [np.linalg.norm(z[rows] - centres[labels[rows]], axis=1) for rows in blocks(z)]
            own = np.bincount(labels, np.concatenate(length), n_clusters)
            spread = np.maximum(own / np.maximum(sizes, 1), max(float(own.sum() / len(z)) / 10, 1e-9))
        centres[sizes == 0] = np.nan
        rule = cls(centres.astype(np.float32), spread.astype(np.float32), np.inf, unit)
        distance, _ = rule.distances(z)
        low, high, usual = np.quantile(distance, [0.25, 0.75, USUAL])
        return cls(rule.centres, rule.spread, float(min(usual, high + FENCE * (high - low))), unit)

    def distances(self, z: Any) -> tuple[np.ndarray, np.ndarray]:
        """The distance [n] of each row of z to the nearest centre, in units of its spread; and that cluster [n]."""
        parts = [self._distances(z[rows]) for rows in blocks(z)]
        return np.concatenate([d for d, _ in parts]), np.concatenate([nearest for _, nearest in parts])

    def _distances(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        used = np.flatnonzero(~np.isnan(self.centres[:, 0]))
        centres = self.centres[used].astype(np.float64)
        if self.unit:
            length = np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)
            d = 1 - z @ (centres / length).T
        else:
            square = (z.astype(np.float64) ** 2).sum(axis=1, keepdims=True) + (centres**2).sum(axis=1)
            d = np.sqrt(np.maximum(square - 2 * z @ centres.T, 0)) / self.spread[used]
        nearest = d.argmin(axis=1)
        return d[np.arange(len(z)), nearest], used[nearest]

    def judge(self, z: Any, c: np.ndarray) -> list[Outlier | None]:
        """An Outlier for each sample that is one. c: [n, K]."""
        labels, (distance, nearest) = c.argmax(axis=1), self.distances(z)
        rows, second = np.arange(len(c)), np.zeros(len(c), int)
        mine = c[rows, labels]
        if c.shape[1] > 1:
            others = c.copy()
            others[rows, labels] = -1
            second = others.argmax(axis=1)
        other = c[rows, second]
        tied = mine - other < TIE * (mine + other)
        tied &= c.shape[1] > 1
        found: list[Outlier | None] = [None] * len(c)
        for i in np.flatnonzero((distance > self.limit) | tied):
            label = int(labels[i])
            if distance[i] > self.limit:
                score = float(distance[i] / max(self.limit, 1e-12))
                found[i] = Outlier("far", label, int(nearest[i]), score)
            else:
                found[i] = Outlier("between", label, int(second[i]), float(mine[i]), float(other[i]))
        return found

    def tensors(self) -> dict[str, Tensor]:
        """As they are saved with a model."""
        limit, unit = torch.tensor(self.limit, dtype=torch.float64), torch.tensor(self.unit)
        parts = {"centres": torch.from_numpy(self.centres), "spread": torch.from_numpy(self.spread)}
        return {PREFIX + name: t for name, t in (parts | {"limit": limit, "unit": unit}).items()}

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "OutlierRule | None":
        """The rule of a saved model; None of one without. ValueError if its parts do not fit together."""
        parts = {name.removeprefix(PREFIX): t for name, t in tensors.items() if name.startswith(PREFIX)}
        if not parts:
            return None
        if parts.keys() != {"centres", "spread", "limit", "unit"}:
            raise ValueError("the rule for outliers is incomplete")
        centres, spread = parts["centres"], parts["spread"]
        if centres.ndim != 2 or spread.shape != centres.shape[:1] or parts["limit"].numel() != 1:
            raise ValueError("the parts of the rule for outliers do not fit together")
        used = ~centres.isnan().all(dim=1)  # empty clusters have no centre
        if not (used.any() and centres[used].isfinite().all() and spread[used].isfinite().all()):
            raise ValueError("the rule for outliers holds NaN or infinity")
        if parts["limit"].isnan():
            raise ValueError("the limit of the rule for outliers is NaN")
        return cls(centres.float().numpy(), spread.float().numpy(), float(parts["limit"]), bool(parts["unit"].any()))


def blocks(z: Any) -> list[slice]:
    """Rows that are converted to float64 at a time; at least one block."""
    step = max(BLOCK // z.shape[1], 1)
    return [slice(i, i + step) for i in range(0, max(len(z), 1), step)]
