"""One cloud without clusters that is otherwise like the data: what a clustering of it shows is no structure.

It has the covariance of the data. Where directions alone count, these are those of a Gaussian, as of any elliptical
distribution. Else rows have tails, and tails that are not those of the data would look like clusters:

- Tails heavier than Gaussian ones, by the mean fourth power of the distances from the centre (Mardia, Biometrika 57,
  1970): the directions are Gaussian, the distances those of the data, as of any elliptical distribution.
- Else, of few features: each feature has the unimodal distribution that is nearest to its own, so that the cloud may be
  a box, or skewed. Data of one or two dimensions are always treated so: there, points at the same distance from the
  centre are clusters.

Shapes: n samples, F features.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtr

from c3clust.features.vectors import unit_rows

__all__ = ["clouds"]

MODES = 21  # places of the mode that are compared
FEW = 30  # features up to which each has its own distribution; sums of more are close to Gaussian


def clouds(z: np.ndarray, unit: bool, rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """`count` clouds [n, F] like the rows z. unit: rows are scaled to unit length in the end."""
    z = z - z.mean(0)
    shape = unit_rows if unit else _shape_like(z, rng)
    mixing = (
        rng.standard_normal((len(z), len(z)), dtype=np.float32) / np.float32(np.sqrt(len(z))) for _ in range(count)
    )
    return [shape(each @ z) for each in mixing]


def _shape_like(z: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """What turns Gaussian rows with the covariance of the centred rows z into rows with tails like theirs."""
    axes, radius = _whitening(z)
    q = axes.shape[1]
    if q > 2 and (radius**4).mean() > q * (q + 2):

        def stretched(g: np.ndarray) -> np.ndarray:
            own = np.linalg.norm(g @ axes, axis=1)
            return g * (rng.permutation(radius) / np.maximum(own, 1e-9))[:, None].astype(np.float32)

        return stretched
    if z.shape[1] > FEW:
        return lambda g: g
    spread, features = np.maximum(z.std(0), 1e-12), [unimodal(column) for column in z.T]
    return lambda g: np.stack(
        [np.interp(p, *f) for p, f in zip(ndtr(g / spread).T, features, strict=True)], axis=1, dtype=np.float32
    )


def _whitening(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the q widest directions the axes [F, q], scaled to unit variance, and the distances [n] from the centre there.

    Each distance is in the metric of the other samples: in that of all of them, no sample is further than sqrt(n).
    """
    wide = z.shape[1] > len(z)
    values, vectors = np.linalg.eigh(z @ z.T if wide else z.T @ z)
    kept = values > 1e-6 * values[-1]
    kept[: -max(len(z) // 4, 1)] = False
    values, vectors = values[kept], vectors[:, kept]
    axes = (z.T @ vectors / np.sqrt(values) if wide else vectors) * np.sqrt(len(z) / values)
    square = ((z @ axes) ** 2).sum(1)
    return axes.astype(np.float32), np.sqrt(square / np.maximum(1 - square / len(z), 1 / len(z)))


def unimodal(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The unimodal distribution nearest to that of the centred sample x [n]: its cumulative values, and where they are.

    On both sides of a mode it is the greatest convex minorant and the least concave majorant, as in the dip test
    (Hartigan, Hartigan, Annals of Statistics 13, 1985), for the mode of the smallest distance. It is stretched to the
    variance of x.
    """
    x = np.sort(x.astype(np.float64))
    width = np.maximum(np.diff(x), 1e-9 * max(x[-1] - x[0], 1e-300))
    share, found = 1 / len(width), []
    for mode in np.unique(np.linspace(0, len(width), MODES).round().astype(int)):
        sides = ((slice(None, mode), True), (slice(mode, None), False))
        density = [
            isotonic_regression(share / width[side], weights=width[side], increasing=up).x
            for side, up in sides
            if len(width[side])
        ]
        mass = np.concatenate(density) * width
        found.append((float(np.abs(np.cumsum(mass - share)).max()), mass / mass.sum()))
    mass, at = min(found, key=lambda each: each[0])[1], x[0] + np.r_[0, np.cumsum(width)]
    middle = (at[1:] + at[:-1]) / 2
    at = at - mass @ middle
    variance = mass @ ((middle - mass @ middle) ** 2 + width**2 / 12)
    return np.r_[0, np.cumsum(mass)], at * np.sqrt(x.var() / max(variance, 1e-300))
