"""Extreme values: those so far from all others of their feature that scale and clusters would follow them alone.

A value is extreme if it is further than FAR times the width of the others from them, where the others are what is left
of the feature without 1 % of its values at each end. Tails of common distributions do not reach that far. A feature
most of whose values are equal has no width, and so no extreme values.

In the column of a table, a single value such as -9999 or 1e9 that stands far from all others, in one row or in many,
usually means that nothing was measured.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Extremes", "find_extremes", "usual_range"]

FAR = 100.0
TRIMMED = 0.01  # fraction of the values at each end that may be extreme
SUSPECT = 8.0  # standard deviations from the mean beyond which a feature is looked at
FEWEST = 8  # values that are needed to know what is usual
LOOKED_AT = 4096  # rows
LISTED = 5  # samples that a note names
GAP = 10.0  # widths of the other values that separate a fill value from them
ENDS = 4  # fill values of one column


@dataclass(frozen=True)
class Extremes:
    """low, high: [F], to which values are clipped; smallest, largest: [F] of the clipped values; rows: positions of the
    samples with an extreme value; feature and value: of the first of them.
    """

    low: np.ndarray
    high: np.ndarray
    smallest: np.ndarray
    largest: np.ndarray
    rows: list[int]
    feature: int
    value: float

    def note(self, names: Sequence[str] | None) -> str:
        """What was found and done. names: of the samples."""
        shown = ", ".join(str(i) if names is None else names[i] for i in self.rows[:LISTED])
        more = f" and {len(self.rows) - LISTED:,} more" if len(self.rows) > LISTED else ""
        one = len(self.rows) == 1
        which = f"sample {shown} is an outlier: it has" if one else f"samples {shown}{more} are outliers: they have"
        return (
            f"The {which} extreme values, such as {self.value:.6g} in feature {self.feature}, which are clipped to the "
            f"range of the others. Remove {'it' if one else 'them'}, or correct the values."
        )


def find_extremes(
    blocks: Callable[[], Iterable[np.ndarray]],
    n: int,
    low: np.ndarray,
    high: np.ndarray,
    mean: np.ndarray,
    spread: np.ndarray,
) -> Extremes | None:
    """The extreme values of n samples, given in blocks [k, F] of float64 rows; None if there are none.

    low, high, mean, spread: [F] of all samples. Features without a value far from the mean are not looked at.
    """
    far = np.maximum(high - mean, mean - low) > min(SUSPECT, 0.7 * np.sqrt(n)) * spread
    at = np.flatnonzero(far & (high > low))
    if n < FEWEST or not len(at):
        return None
    step = -(-n // LOOKED_AT)
    usual_low, usual_high, width = _trimmed_range(np.concatenate([rows[:, at] for rows in _every(blocks(), step)]))
    least, most = np.where(width > 0, usual_low - FAR * width, -np.inf), usual_high + FAR * width
    most = np.where(width > 0, most, np.inf)
    if not ((low[at] < least) | (high[at] > most)).any():
        return None
    smallest, largest, found, first = usual_low.copy(), usual_high.copy(), list[int](), None
    start = 0
    for block in blocks():
        rows = block[:, at]
        extreme = (rows < least) | (rows > most)
        smallest = np.minimum(smallest, np.where(extreme, np.inf, rows).min(axis=0))
        largest = np.maximum(largest, np.where(extreme, -np.inf, rows).max(axis=0))
        which = np.flatnonzero(extreme.any(axis=1))
        if first is None and len(which):
            k = int(extreme[which[0]].argmax())
            first = int(at[k]), float(rows[which[0], k])
        found += (which + start).tolist()
        start += len(block)
    if first is None or len(found) > max(1, TRIMMED * n):
        return None
    return _bounds(at, low, high, smallest - width / 2, largest + width / 2, found, first)


def _bounds(
    at: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    least: np.ndarray,
    most: np.ndarray,
    rows: list[int],
    first: tuple[int, float],
) -> Extremes:
    """Clip the features `at` to [least, most], which is half a width beyond the other values."""
    largest = np.finfo(np.float64).max  # finite, as all values of a saved model
    lower, upper = np.full_like(low, -largest), np.full_like(high, largest)
    lower[at], upper[at] = least, most
    return Extremes(lower, upper, np.maximum(low, lower), np.minimum(high, upper), rows, *first)


def usual_range(x: np.ndarray) -> tuple[float, float] | None:
    """The range outside of which the values of a column [n] mean that they are missing; None if there are none.

    >>> usual_range(np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6, 5.0, 3.5, -9999.0]))
    (-39.0, 49.0)
    >>> usual_range(np.arange(9.0)) is None
    True
    """
    given = x[~np.isnan(x)]
    kept, n = given, len(given)
    for _ in range(ENDS):
        end = next((end for end in (kept.min(), kept.max()) if _stands_alone(end, kept, n)), None) if n else None
        if end is None:
            break
        kept = kept[kept != end]
    if len(kept) == n >= FEWEST:
        low, high, width = (float(part[0]) for part in _trimmed_range(kept[:, None]))
        near = np.maximum(low - kept, kept - high) <= FAR * width
        kept = kept[near] if width > 0 else kept
    if len(kept) == n:
        return None
    margin = GAP / 2 * (kept.max() - kept.min())
    return float(kept.min() - margin), float(kept.max() + margin)


def _stands_alone(end: float, values: np.ndarray, n: int) -> bool:
    """Whether the smallest or largest value is far from all others, which are at least half of n."""
    rest = values[values != end]
    if len(rest) < max(FEWEST, n / 2) or np.subtract(*np.quantile(rest, (0.75, 0.25))) <= 0:
        return False
    return bool(max(rest.min() - end, end - rest.max()) > GAP * (rest.max() - rest.min()))


def _trimmed_range(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each column of x [n, F]: lowest and highest usual value, and their distance; 0 if most values are equal."""
    x = np.sort(x, axis=0)
    cut = max(1, int(np.ceil(TRIMMED * len(x))))
    low, high = x[cut], x[-cut - 1]
    middle = x[3 * len(x) // 4] - x[len(x) // 4]
    return low, high, np.where(middle > 0, high - low, 0.0)


def _every(blocks: Iterable[np.ndarray], step: int) -> Iterator[np.ndarray]:
    """Each `step`-th row."""
    start = 0
    for block in blocks:
        yield block[-start % step :: step]
        start += len(block)
