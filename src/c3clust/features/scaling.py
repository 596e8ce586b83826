"""Scaling of feature vectors: in float64, before they become float32.

float32 has seven digits. Of features that have a large mean and a small spread, few digits are left after a cast, and
fewer in squared distances. So vectors are centred in float64, and divided by a spread; what a method then sees does not
depend on a common shift or scale of the features.

A single value of 1e7 among values near 1 would be the mean, the spread and the clusters. Where a feature has such
extreme values (data/extremes.py), all values are clipped to the range of the others, and a note names the samples.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from c3clust.data.extremes import Extremes, find_extremes
from c3clust.data.samples import ArrayLike
from c3clust.errors import InputError

__all__ = ["Converted", "Scaled", "Scaling", "fit_scaling"]

BLOCK = 1024  # rows that are converted at a time
CONSTANT = 1e-14  # of its largest value: a feature that varies less has nothing but rounding errors


@dataclass(frozen=True)
class Scaling:
    """(x - centre) / spread. centre: [F]; spread: [F] where each feature is standardised, [] for a common factor.

    low, high: [F], to which x is clipped first; None if no value was extreme.
    """

    centre: np.ndarray
    spread: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    @property
    def standard(self) -> bool:
        """Whether each feature has its own spread."""
        return self.spread.ndim == 1

    def __call__(self, x: np.ndarray) -> np.ndarray:
        x = x if self.low is None else np.clip(x, self.low, self.high)
        return ((x - self.centre) / self.spread).astype(np.float32)

    def single(self) -> "Scaling":
        most, bounds = np.finfo(np.float32).max, [b for b in (self.low, self.high) if b is not None]
        clipped = (np.clip(b, -most, most).astype(np.float32) for b in bounds)
        return Scaling(self.centre.astype(np.float32), self.spread.astype(np.float32), *clipped)


@dataclass(frozen=True)
class Converted:
    """Samples x that are converted when they are read."""

    x: ArrayLike

    @property
    def shape(self) -> tuple[int, ...]:
        return self.x.shape

    def __len__(self) -> int:
        return len(self.x)


@dataclass(frozen=True)
class Scaled(Converted):
    """Feature vectors as float32: of unit length if `unit`, then scaled, when they are read."""

    scaling: Scaling | None
    unit: bool = False

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32)

    @property
    def views(self) -> ArrayLike:
        """What pairs are drawn from: the stored views if there are some, else the samples."""
        if not hasattr(self.x, "views"):
            return self
        fast = self.scaling is not None and self.x.dtype == np.float32  # they are read at every step
        return Scaled(self.x.views, self.scaling.single() if fast and self.scaling else self.scaling, self.unit)

    def __getitem__(self, index: Any) -> np.ndarray:
        x = _unit_rows(self.x[index]) if self.unit else self.x[index]
        return x.astype(np.float32) if self.scaling is None else self.scaling(x)


def fit_scaling(
    x: ArrayLike, *, each: bool, unit: bool = False, names: Sequence[str] | None = None
) -> tuple[Scaling, list[str]]:
    """The scaling of samples x [n, F], and notes on extreme values and on features that are lost.

    each: every feature gets standard deviation 1; a constant one keeps its scale. Otherwise all are divided by one
    power of two near their common standard deviation; with unit, rows are scaled to unit length and then only centred.
    names: of the samples, for the notes; their positions if there are none.
    """
    found, notes = _moments(x, unit), []
    bounds = None if unit else find_extremes(lambda: _blocks(x, unit), len(x), *found)
    if bounds is not None:
        found = _moments(x, unit, bounds)
        notes.append(bounds.note(names))
    low, high, centre, spread = found
    constant = spread <= CONSTANT * np.maximum(np.abs(low), np.abs(high))
    if each:
        divisor = np.where(constant, 1.0, spread)
    else:
        divisor = np.array(1.0 if unit or constant.all() else _power_of_two(spread))
    scaling = Scaling(centre, divisor, *(() if bounds is None else (bounds.low, bounds.high)))
    lost = _lost(scaling, low, high, each & constant)
    return scaling, [*notes, *([] if lost is None else [lost])]


def _moments(x: ArrayLike, unit: bool, bounds: Extremes | None = None) -> tuple[np.ndarray, ...]:
    """Smallest and largest value, mean and standard deviation of each feature: [F] each."""
    low, high = _extremes(x, unit) if bounds is None else (bounds.smallest, bounds.largest)
    width = np.where(high > low, high - low, 1.0)
    total, square = np.zeros_like(low), np.zeros_like(low)
    for rows in _blocks(x, unit):
        rows = rows if bounds is None else np.clip(rows, bounds.low, bounds.high)
        share = (rows - low) / width  # within [0, 1], so that no square overflows
        total += share.sum(axis=0)
        square += np.square(share).sum(axis=0)
    mean = total / len(x)
    spread = np.sqrt(np.maximum(square / len(x) - np.square(mean), 0)) * np.where(high > low, width, 0.0)
    return low, high, low + mean * width, spread


def _power_of_two(spread: np.ndarray) -> float:
    """A power of two near the root of the mean variance: dividing by it does not round."""
    largest = float(spread.max())
    return float(2.0 ** np.round(np.log2(largest * np.sqrt(np.square(spread / largest).mean()))))


def _lost(scaling: Scaling, low: np.ndarray, high: np.ndarray, constant: np.ndarray) -> str | None:
    """A note on features whose values differ before the scaling and not after it; InputError if these are all."""
    varies = high > low
    lost = varies & (constant | (scaling(low) == scaling(high)))
    if not lost.any():
        return None
    n, first = int(lost.sum()), int(lost.argmax())
    what = f"feature {first}" if n == 1 else f"{n:,} features, the first of them feature {first},"
    if lost.sum() == varies.sum():
        raise InputError(
            f"Only {what} varies, with values from {low[first]!r} to {high[first]!r}, which differ only by "
            "rounding errors. Subtract the common part before the values are rounded."
        )
    return (
        f"The values of {what} differ so little, relative to their size or to other features, that they are equal. "
        'Rescale them, or use scale="standard" if the method has it.'
    )


def _extremes(x: ArrayLike, unit: bool) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value of each feature: [F], [F]."""
    pairs = [(rows.min(axis=0), rows.max(axis=0)) for rows in _blocks(x, unit)]
    return np.min([low for low, _ in pairs], axis=0), np.max([high for _, high in pairs], axis=0)


def _blocks(x: ArrayLike, unit: bool) -> Iterator[np.ndarray]:
    """The samples in float64, some at a time."""
    for i in range(0, len(x), BLOCK):
        rows = np.asarray(x[i : i + BLOCK], dtype=np.float64)
        yield _unit_rows(rows) if unit else rows


def _unit_rows(x: np.ndarray) -> np.ndarray:
    """Rows of unit length in float64; rows of zeros stay."""
    x = np.asarray(x, dtype=np.float64)
    largest = np.abs(x).max(axis=-1, keepdims=True)
    x = x / np.where(largest > 0, largest, 1.0)
    return x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-12)
