"""placed: the view of a run after samples were placed in other clusters by hand, or by what the model learned of it."""

from dataclasses import replace

import numpy as np

from c3clust.report.traits import Traits
from c3clust.report.view import View

__all__ = ["placed"]


def placed(
    view: View,
    before: np.ndarray,
    after: np.ndarray,
    certain: np.ndarray,
    n_clusters: int,
    truth: np.ndarray | None = None,
) -> View:
    """The view of samples that were in the clusters `before` [n] and are now in `after` [n]; -1: in none.

    certain: [n] confidence now; truth: [n] true classes, -1 where not known. Sizes and confusion are exact, centres
    follow the shown samples, and words and columns stay those of the clusters of the model.
    """
    none, moved = bool((after < 0).any()), before != after
    rows = np.flatnonzero(moved[view.index])
    truth = _known(view) if truth is None else truth
    counted = np.flatnonzero(moved & (truth >= 0))
    sums = _wide(view, view.centres.astype(np.float64) * view.sizes[:, None], n_clusters)
    counts, confusion = _wide(view, view.sizes, n_clusters), _wide(view, view.confusion, n_clusters)
    for sign, at in ((-1, before), (1, after)):  # -1 is the last row
        np.add.at(sums, at[view.index[rows]], sign * view.z[rows].astype(np.float64))
        np.add.at(counts, at[view.index[rows]], sign)
        np.add.at(confusion, (at[counted], truth[counted]), sign)
    kept, now = slice(n_clusters + none), after % (n_clusters + 1)
    return replace(
        view,
        sizes=np.bincount(now, minlength=n_clusters + 1)[kept],
        certain=np.bincount(now, weights=certain, minlength=n_clusters + 1)[kept],
        centres=(sums / np.maximum(counts, 1)[:, None])[kept].astype(np.float32),
        confusion=np.maximum(confusion, 0)[kept],
        labels=now[view.index].astype(np.int32),
        confidence=certain[view.index].astype(np.float32),
        unassigned=none,
        by_hand=none and not view.unassigned,
        traits=_traits(view, view.traits, n_clusters, kept),
        file_words=_traits(view, view.file_words, n_clusters, kept),
        classes_seen=_traits(view, view.classes_seen, n_clusters, kept),
    )


def _known(view: View) -> np.ndarray:
    """True classes [n] of the shown samples, -1 for the others."""
    truth = np.full(view.n, -1)
    truth[view.index] = view.y
    return truth


def _wide(view: View, rows: np.ndarray, n_clusters: int) -> np.ndarray:
    """Rows [M, ...] of clusters as rows of n_clusters, and a last one for the samples that are in none."""
    wide = np.zeros((n_clusters + 1, *rows.shape[1:]), rows.dtype)
    wide[: view.n_clusters] = rows[: view.n_clusters]
    if view.unassigned:
        wide[-1] = rows[-1]
    return wide


def _traits(view: View, traits: Traits | None, n_clusters: int, kept: slice) -> Traits | None:
    if traits is None:
        return None
    sums, counts = (_wide(view, part, n_clusters)[kept] for part in (traits.sums, traits.counts))
    return replace(traits, sums=sums, counts=counts)
