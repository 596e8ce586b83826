"""Build the view of a finished run: choose the samples to show, their thumbnails, and their positions on the map."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from c3clust.errors import InputError
from c3clust.records.duplicates import Duplicates
from c3clust.records.outliers import Outlier
from c3clust.report import sprites
from c3clust.report.layout import layout
from c3clust.report.naming import class_traits, name_traits
from c3clust.report.traits import Traits, row_texts, traits_of_columns, traits_of_texts
from c3clust.report.view import Group, View, closeness

__all__ = ["build"]

MAX_THUMBS = 10_000
MAX_MAP = 4_000
BUDGET = 9_000_000  # bytes of all sheets: as base64 within a page of 15 MB
CHUNK = 16_384
SAME = 1e-5  # of the largest value: copies of a sample differ by less, since batches round differently
MAX_GROUPS = 200  # of copies, copies of a group, and outliers, that are listed
LONGEST = 400  # characters of a sample as text


def build(
    x: Any,
    z: Any,
    labels: Any,
    confidence: Any,
    names: Sequence[str],
    y: Any = None,
    classes: Sequence[str] | None = None,
    *,
    n_clusters: int | None = None,
    max_thumbs: int = MAX_THUMBS,
    max_map: int = MAX_MAP,
    budget: int = BUDGET,
    seed: int = 0,
    columns: Sequence[tuple[str, Sequence[str] | None]] | None = None,
    duplicates: Duplicates | None = None,
    outliers: Mapping[int, Outlier] | None = None,
    seen: tuple[Sequence[str], np.ndarray] | None = None,
) -> View:
    """Build the view of a finished run.

    x: [n, C, H, W], [n, F] or None; only the shown samples are read, in chunks. [n] of str are texts; with `columns`,
    the names and categories of its columns, [n, C] is a table. z: [n, D]. labels: [n] in 0..n_clusters-1 (-1: none).
    confidence: [n] in [0, 1] or None. y: [n] true classes as integers into `classes`, or None. Copies (`duplicates`)
    are neither typical nor doubtful samples of a cluster, and do not move its centre. seen: the names of the classes
    that the encoder knows, and their probabilities [n, J].
    """
    labels = np.asarray(labels, dtype=np.int64)
    n = len(labels)
    confidence = np.full(n, np.nan) if confidence is None else confidence
    confidence = np.asarray(confidence, dtype=np.float32)
    _check(n, z, confidence, names, x, y)
    n_clusters = n_clusters or int(labels.max()) + 1
    if labels.min() < -1 or labels.max() >= n_clusters:
        raise InputError(f"labels range from {labels.min()} to {labels.max()}: they must be in 0 to {n_clusters - 1}.")
    unassigned = bool((labels < 0).any())
    n_all = n_clusters + unassigned
    labels = np.where(labels < 0, n_clusters, labels)
    truth, classes = _truth(y, classes, n)
    sizes = np.bincount(labels, minlength=n_all)
    copies = duplicates or Duplicates.none(n)
    centres, unit = _centres(z, labels, copies.original == np.arange(n), n_all)
    typical = np.concatenate([closeness(_rows(z, s), centres[labels[s]], unit) for s in _slices(n)])

    worst = sorted((outliers or {}).items(), key=lambda pair: pair[1].order)
    first = [i for i, _ in worst[:MAX_GROUPS]]
    order = _sample(labels, confidence, typical, copies.distinct, n_all, max_thumbs, seed, first)
    thumbs, sheets = None, []
    if x is not None and len(x.shape) == 4:
        thumbs, fits = sprites.plan(x, order, budget)
        order = order[:fits]
    mapped = np.random.default_rng(seed).permutation(n)[:max_map]
    index = order[np.lexsort((-typical[order], labels[order]))]
    if thumbs is not None:
        sheets = sprites.pack(x, index, thumbs)
    map_rows = np.flatnonzero(np.isin(index, mapped))
    kept = np.asarray(z[index], dtype=np.float32)
    xy, method = layout(kept[map_rows], seed)
    noun, texts, traits = _as_text(x, columns, index, labels, n_all, seed)
    confusion = np.zeros((n_all, len(classes)), np.int64)
    np.add.at(confusion, (labels[truth >= 0], truth[truth >= 0]), 1)
    return View(
        n=n,
        unit=unit,
        classes=classes,
        layout=method,
        thumbs=thumbs,
        sizes=sizes,
        certain=np.bincount(labels, weights=confidence, minlength=n_all),
        centres=centres.astype(np.float32),
        confusion=confusion,
        index=index,
        labels=labels[index].astype(np.int32),
        confidence=confidence[index],
        y=truth[index].astype(np.int32),
        names=[str(names[i]) for i in index],
        z=_half(kept),
        map_rows=map_rows.astype(np.int32),
        xy=xy,
        sheets=sheets,
        noun=noun,
        texts=texts,
        traits=traits,
        distinct=_distinct(z, n),
        original=copies.original[index],
        copies=_groups(copies, names),
        n_copies=len(copies.copies),
        unassigned=unassigned,
        file_words=name_traits(names, labels, n_all) if noun == "image" else None,
        classes_seen=None if seen is None else class_traits(*seen, labels, n_all),
        outliers=[(str(names[i]), outlier) for i, outlier in worst[:MAX_GROUPS]],
        n_outliers=len(worst),
    )


def _groups(copies: Duplicates, names: Sequence[str]) -> list[Group]:
    """The largest groups of copies."""
    members: dict[int, list[int]] = {}
    for i in copies.copies:
        members.setdefault(int(copies.original[i]), []).append(int(i))
    largest = sorted(members.items(), key=lambda group: (-len(group[1]), group[0]))[:MAX_GROUPS]
    return [
        (str(names[first]), [(str(names[i]), float(copies.similarity[i])) for i in rest[:MAX_GROUPS]])
        for first, rest in largest
    ]


def _as_text(
    x: Any,
    columns: Sequence[tuple[str, Sequence[str] | None]] | None,
    index: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
    seed: int,
) -> tuple[str, list[str] | None, Traits | None]:
    """The noun for a sample; for texts and tables also the shown samples as text, and the traits of the clusters."""
    if columns is not None:
        rows = row_texts(x[index], columns, LONGEST)
        return "row", rows, traits_of_columns(x, columns, labels, n_clusters)
    if x is not None and len(x.shape) == 1:
        texts = [text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…" for text in map(str, x[index])]
        return "text", texts, traits_of_texts(x, labels, n_clusters, seed)
    return "image" if x is not None and len(x.shape) == 4 else "sample", None, None


def _check(n: int, z: Any, confidence: np.ndarray, names: Sequence[str], x: Any, y: Any) -> None:
    lengths = {"labels": n, "z": len(z), "confidence": len(confidence), "names": len(names)}
    lengths |= {name: len(value) for name, value in (("x", x), ("y", y)) if value is not None}
    if n == 0 or len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"lengths differ or are zero ({listed}): one entry per sample is needed.")


def _truth(y: Any, classes: Sequence[str] | None, n: int) -> tuple[np.ndarray, list[str]]:
    """True classes as integers (-1: not known) and their names; no names if labels are not known."""
    if y is None:
        return np.full(n, -1), []
    truth = np.asarray(y, dtype=np.int64)
    most = int(truth.max()) + 1
    names = [str(c) for c in classes] if classes is not None else []
    return np.maximum(truth, -1), names + [str(i) for i in range(len(names), most)]


def _slices(n: int) -> list[slice]:
    return [slice(i, i + CHUNK) for i in range(0, n, CHUNK)]


def _rows(z: Any, rows: slice) -> np.ndarray:
    return np.asarray(z[rows], dtype=np.float32)


def _centres(z: Any, labels: np.ndarray, counted: np.ndarray, n_clusters: int) -> tuple[np.ndarray, bool]:
    """Mean of z over the counted samples of each cluster, [M, D], and whether all rows have unit length."""
    sums, sizes = np.zeros((n_clusters, z.shape[1])), np.bincount(labels[counted], minlength=n_clusters)
    unit = True
    for s in _slices(len(labels)):
        rows = _rows(z, s)
        if not np.isfinite(rows).all():
            raise InputError(
                "z contains NaN or infinity: the network has diverged. Train again with a smaller learning rate."
            )
        np.add.at(sums, labels[s][counted[s]], rows[counted[s]])
        unit = unit and bool(np.all(np.abs(np.linalg.norm(rows, axis=1) - 1) < 1e-2))
    return sums / np.maximum(sizes, 1)[:, None], unit


def _distinct(z: Any, n: int) -> int:
    """How many rows of z differ: gaps in a random projection. Many rows are undercounted, a few are not."""
    direction = np.random.default_rng(0).normal(size=z.shape[1])
    at = np.sort(np.concatenate([_rows(z, s) @ direction for s in _slices(n)]))
    return 1 + int((np.diff(at) > SAME * np.abs(at).max()).sum())


def _sample(
    labels: np.ndarray,
    confidence: np.ndarray,
    typical: np.ndarray,
    distinct: np.ndarray,
    n_clusters: int,
    most: int,
    seed: int,
    first: Sequence[int],
) -> np.ndarray:
    """Positions to be shown, by priority: `first`, extremes of each cluster, the points of the map, random ones."""
    quota = int(np.clip(most // (4 * n_clusters), 6, 24))
    extremes: list[np.ndarray] = []
    turn: list[np.ndarray] = []  # rank within the cluster: the first of each cluster, then the second of each
    by_cluster = distinct[np.argsort(labels[distinct], kind="stable")]
    for members in np.split(by_cluster, np.cumsum(np.bincount(labels[distinct], minlength=n_clusters))[:-1]):
        for key in (-typical[members], confidence[members]):
            extremes.append(members[np.argsort(key, kind="stable")[:quota]])
            turn.append(np.arange(len(extremes[-1])))
    rest = np.random.default_rng(seed).permutation(len(labels))  # starts with the points of the map
    in_turn = np.concatenate(extremes)[np.argsort(np.concatenate(turn), kind="stable")]
    everything = np.concatenate([np.asarray(first, dtype=np.int64), in_turn, rest])
    _, at = np.unique(everything, return_index=True)
    return everything[np.sort(at)][:most]


def _half(z: np.ndarray) -> np.ndarray:
    return np.clip(z, -65504, 65504).astype(np.float16)
