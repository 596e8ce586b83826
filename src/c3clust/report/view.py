"""What a run's page shows, kept in the run folder as view.npz: the page can be made again without the source.

Over all n samples it keeps sums for each of the M clusters of the model, so its size does not grow with n and a merge
of clusters is an addition of rows. Pictures, names and places on the map are kept for a sample of m.

view.npz holds no pickles. Its arrays:

    header       uint8 []      JSON: format, n, unit, classes, layout (what made the map), noun (what a sample is),
                               thumbs (null for vectors): {"width", "height", "quality", "n_sheets"},
                               traits (null, or of texts and tables): {"kind", "names"}
    sizes        int64 [M]     samples in each cluster
    certain      float64 [M]   sum of their confidence (NaN where the method gives none)
    centres      float32 [M, D] mean of their z
    confusion    int64 [M, K]  samples of each cluster and true class; K = 0 where labels are not known
    index        int64 [m]     positions of the sampled, by cluster, then from the most typical to the least
    labels       int32 [m]     their clusters
    confidence   float32 [m]   and confidence
    y            int32 [m]     and true classes (-1: not known)
    names        uint8 []      and names, as a JSON list
    z            float16 [m, D]
    map_rows     int32 [k]     which of the m rows are on the map: a fair sample of all n
    xy           float32 [k, 2] where
    sheet_0 ...  uint8 []      sprite sheets of the m thumbnails in order, as image files
    texts        uint8 []      of texts and tables: the m samples in words, as a JSON list
    trait_sums, trait_counts   float64 [M, J], trait_spread [J], trait_share bool [J]: what traits.py tells clusters by
"""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import InputError, RunError
from c3clust.files import write_atomically
from c3clust.report import sprites
from c3clust.report import traits as telling
from c3clust.report.layout import layout
from c3clust.report.traits import Traits

__all__ = ["View", "build"]

FORMAT = 1
FILE = "view.npz"
MAX_THUMBS = 10_000
MAX_MAP = 4_000
BUDGET = 9_000_000  # bytes of all sheets: as base64 within a page of 15 MB
CHUNK = 16_384
LONGEST = 400  # characters of a sample in words


@dataclass(frozen=True, eq=False)
class View:
    """The arrays of view.npz, see the module."""

    n: int
    unit: bool
    classes: list[str]
    layout: str
    thumbs: sprites.Plan | None
    sizes: np.ndarray
    certain: np.ndarray
    centres: np.ndarray
    confusion: np.ndarray
    index: np.ndarray
    labels: np.ndarray
    confidence: np.ndarray
    y: np.ndarray
    names: list[str]
    z: np.ndarray
    map_rows: np.ndarray
    xy: np.ndarray
    sheets: list[bytes]
    noun: str = "sample"
    texts: list[str] | None = None
    traits: Traits | None = None

    def merged(self, target: np.ndarray) -> "View":
        """The view after each cluster i has become target[i]; the rows of clusters that are gone are zero."""
        weights = np.where(self.sizes[:, None] > 0, self.centres * self.sizes[:, None], 0)
        sizes, weights = _gather(self.sizes, target), _gather(weights, target)
        return replace(
            self,
            sizes=sizes,
            certain=_gather(self.certain, target),
            centres=weights / np.maximum(sizes, 1)[:, None],
            confusion=_gather(self.confusion, target),
            labels=target[self.labels].astype(np.int32),
            traits=self.traits and self.traits.merged(target),
        )

    def closeness(self) -> np.ndarray:
        """How near each of the m samples is to the centre of its cluster: more is nearer. [m]"""
        return _closeness(self.z.astype(np.float32), self.centres[self.labels], self.unit)

    def similarity(self) -> np.ndarray:
        """Of each two centres: cosine for unit z, else minus the distance; -inf with empty clusters. [M, M]"""
        c = self.centres.astype(np.float64)
        if self.unit:
            length = np.linalg.norm(c, axis=1, keepdims=True)
            s = (c / np.maximum(length, 1e-12)) @ (c / np.maximum(length, 1e-12)).T
        else:
            s = -np.linalg.norm(c[:, None] - c[None], axis=2) if len(c) <= 512 else -_distances(c)
        gone = (self.sizes == 0)[:, None] | (self.sizes == 0)[None] | np.eye(len(c), dtype=bool)
        return np.where(gone, -np.inf, s)

    def write(self, run_dir: Path) -> Path:
        """Write run_dir/view.npz, whole or not at all."""
        header = {
            "format": FORMAT,
            "n": self.n,
            "unit": self.unit,
            "classes": self.classes,
            "layout": self.layout,
            "thumbs": self.thumbs
            and {
                "width": self.thumbs.width,
                "height": self.thumbs.height,
                "quality": self.thumbs.quality,
                "n_sheets": len(self.sheets),
            },
            "noun": self.noun,
            "traits": self.traits and {"kind": self.traits.kind, "names": self.traits.names},
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {"header": _as_bytes(json.dumps(header)), "names": _as_bytes(json.dumps(self.names))}
        arrays |= {f"sheet_{i}": np.frombuffer(sheet, dtype=np.uint8) for i, sheet in enumerate(self.sheets)}
        if self.texts is not None:
            arrays["texts"] = _as_bytes(json.dumps(self.texts))
        if self.traits is not None:
            arrays |= {f"trait_{name}": getattr(self.traits, name) for name in _TRAITS}
        path = Path(run_dir) / FILE
        out = io.BytesIO()
        np.savez_compressed(out, **arrays)
        write_atomically(path, out.getvalue())
        return path

    @classmethod
    def read(cls, run_dir: Path) -> "View":
        """Read and check run_dir/view.npz."""
        path = Path(run_dir) / FILE
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
                return cls._checked(arrays)
        except FileNotFoundError:
            raise RunError(
                f"{path} does not exist: {run_dir} is not a finished run, or its view was removed."
            ) from None
        except Exception as error:  # numpy raises almost anything on hostile bytes
            reason = " ".join(str(error).split()) or type(error).__name__
            raise RunError(f"{path} cannot be used: {reason}.") from None

    @classmethod
    def _checked(cls, arrays: Any) -> "View":
        header = json.loads(arrays["header"].tobytes())
        names = json.loads(arrays["names"].tobytes())
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise ValueError(f"it is not a view of format {FORMAT}")
        a = {name: arrays[name] for name in _ARRAYS}
        m, n_clusters, k = len(a["index"]), len(a["sizes"]), len(header["classes"])
        shapes = {"certain": (n_clusters,), "confusion": (n_clusters, k), "labels": (m,), "confidence": (m,), "y": (m,)}
        for name, shape in shapes.items():
            if a[name].shape != shape:
                raise ValueError(f"{name} has shape {a[name].shape}, needed is {shape}")
        for name, least, most in (("labels", 0, n_clusters), ("y", -1, k), ("map_rows", 0, m)):
            if a[name].size and not least <= a[name].min() <= a[name].max() < most:
                raise ValueError(f"{name} points outside its range")
        if len(names) != m or len(a["z"]) != m or len(a["xy"]) != len(a["map_rows"]):
            raise ValueError("its parts differ in length")
        how = header["thumbs"]
        plan = how and sprites.Plan(int(how["width"]), int(how["height"]), int(how["quality"]))
        if plan and not (0 < plan.width <= sprites.SHEET and 0 < plan.height <= sprites.SHEET):
            raise ValueError(f"thumbnails of {plan.width} x {plan.height} px are out of range")
        sheets = [arrays[f"sheet_{i}"].tobytes() for i in range(int(how["n_sheets"]))] if how else []
        texts = json.loads(arrays["texts"].tobytes()) if "texts" in arrays.files else None
        if texts is not None and len(texts) != m:
            raise ValueError("its parts differ in length")
        return cls(
            n=int(header["n"]),
            unit=bool(header["unit"]),
            classes=[str(c) for c in header["classes"]],
            layout=str(header["layout"]),
            thumbs=plan,
            names=[str(name) for name in names],
            sheets=sheets,
            noun=str(header.get("noun") or ("image" if plan else "sample")),
            texts=None if texts is None else [str(text) for text in texts],
            traits=_checked_traits(arrays, header["traits"], n_clusters) if header.get("traits") else None,
            **a,
        )


_TRAITS = ["sums", "counts", "spread", "share"]
_ARRAYS = ["sizes", "certain", "centres", "confusion", "index", "labels", "confidence", "y", "z", "map_rows", "xy"]


def _checked_traits(arrays: Any, how: Any, n_clusters: int) -> Traits:
    names = [str(name) for name in how["names"]]
    shapes = {"sums": (n_clusters, len(names)), "counts": (n_clusters, len(names)), "spread": (len(names),)}
    found = {name: arrays[f"trait_{name}"] for name in _TRAITS}
    for name, shape in (shapes | {"share": (len(names),)}).items():
        if found[name].shape != shape:
            raise ValueError(f"trait_{name} has shape {found[name].shape}, needed is {shape}")
    return Traits(str(how["kind"]), names, found["sums"], found["counts"], found["spread"], found["share"].astype(bool))


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
) -> View:
    """Gather what the page shows of a finished run.

    x: [n, C, H, W], [n, F] or None; only the sampled are read, in chunks. [n] of str are texts; with `columns`, the
    names and categories of its columns, [n, C] is a table. z: [n, D]. labels: [n] in 0..n_clusters-1.
    confidence: [n] in [0, 1] or None. y: [n] true classes as integers into `classes`, or None.
    """
    labels = np.asarray(labels, dtype=np.int64)
    n = len(labels)
    sure = np.full(n, np.nan, np.float32) if confidence is None else np.asarray(confidence, dtype=np.float32)
    _check(n, z, sure, names, x, y)
    n_clusters = n_clusters or int(labels.max()) + 1
    if labels.min() < 0 or labels.max() >= n_clusters:
        raise InputError(f"labels reach from {labels.min()} to {labels.max()}: 0 to {n_clusters - 1} is needed.")
    truth, classes = _truth(y, classes, n)
    sizes = np.bincount(labels, minlength=n_clusters)
    centres, unit = _centres(z, labels, sizes)
    typical = np.concatenate([_closeness(_rows(z, s), centres[labels[s]], unit) for s in _slices(n)])

    order = _sample(labels, sure, typical, n_clusters, max_thumbs, seed)
    thumbs, sheets = None, []
    if x is not None and len(x.shape) == 4:
        thumbs, fits = sprites.plan(x, order, budget)
        order = order[:fits]
    mapped = _fair(n, max_map, seed)
    index = order[np.lexsort((-typical[order], labels[order]))]
    if thumbs is not None:
        sheets = sprites.pack(x, index, thumbs)
    map_rows = np.flatnonzero(np.isin(index, mapped))
    kept = np.asarray(z[index], dtype=np.float32)
    xy, how = layout(kept[map_rows], seed)
    noun, texts, traits = _in_words(x, columns, index, labels, n_clusters, seed)
    confusion = np.zeros((n_clusters, len(classes)), np.int64)
    np.add.at(confusion, (labels[truth >= 0], truth[truth >= 0]), 1)
    return View(
        n=n,
        unit=unit,
        classes=classes,
        layout=how,
        thumbs=thumbs,
        sizes=sizes,
        certain=np.bincount(labels, weights=sure, minlength=n_clusters),
        centres=centres.astype(np.float32),
        confusion=confusion,
        index=index,
        labels=labels[index].astype(np.int32),
        confidence=sure[index],
        y=truth[index].astype(np.int32),
        names=[str(names[i]) for i in index],
        z=_half(kept),
        map_rows=map_rows.astype(np.int32),
        xy=xy,
        sheets=sheets,
        noun=noun,
        texts=texts,
        traits=traits,
    )


def _in_words(
    x: Any,
    columns: Sequence[tuple[str, Sequence[str] | None]] | None,
    index: np.ndarray,
    labels: np.ndarray,
    n_clusters: int,
    seed: int,
) -> tuple[str, list[str] | None, Traits | None]:
    """What a sample is called, the chosen ones in words, and what sets clusters apart; for texts and tables."""
    if columns is not None:
        rows = telling.row_texts(x[index], columns, LONGEST)
        return "row", rows, telling.of_columns(x, columns, labels, n_clusters)
    if x is not None and len(x.shape) == 1:
        texts = [text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…" for text in map(str, x[index])]
        return "text", texts, telling.of_texts(x, labels, n_clusters, seed)
    return "image" if x is not None and len(x.shape) == 4 else "sample", None, None


def _check(n: int, z: Any, confidence: np.ndarray, names: Sequence[str], x: Any, y: Any) -> None:
    lengths = {"labels": n, "z": len(z), "confidence": len(confidence), "names": len(names)}
    lengths |= {name: len(value) for name, value in (("x", x), ("y", y)) if value is not None}
    if n == 0 or len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"lengths differ or are zero ({told}): one entry a sample is needed.")


def _truth(y: Any, classes: Sequence[str] | None, n: int) -> tuple[np.ndarray, list[str]]:
    """True classes as integers (-1: not known) and their names; none where labels are not known."""
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


def _centres(z: Any, labels: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, bool]:
    """Mean of z in each cluster, [M, D], and whether all rows have unit length."""
    sums = np.zeros((len(sizes), z.shape[1]))
    unit = True
    for s in _slices(len(labels)):
        rows = _rows(z, s)
        if not np.isfinite(rows).all():
            raise InputError(
                "z holds NaN or infinity: the network has diverged. Train again with a smaller learning rate."
            )
        np.add.at(sums, labels[s], rows)
        unit = unit and bool(np.all(np.abs(np.linalg.norm(rows, axis=1) - 1) < 1e-2))
    return sums / np.maximum(sizes, 1)[:, None], unit


def _closeness(z: np.ndarray, centre: np.ndarray, unit: bool) -> np.ndarray:
    if unit:
        return np.einsum("nd,nd->n", z, centre) / np.maximum(np.linalg.norm(centre, axis=1), 1e-12)
    return -np.linalg.norm(z - centre, axis=1)


def _distances(c: np.ndarray) -> np.ndarray:
    square = (c**2).sum(axis=1)
    return np.sqrt(np.maximum(square[:, None] + square[None] - 2 * c @ c.T, 0))


def _fair(n: int, most: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(n)[:most]


def _sample(
    labels: np.ndarray,
    confidence: np.ndarray,
    typical: np.ndarray,
    n_clusters: int,
    most: int,
    seed: int,
) -> np.ndarray:
    """Positions worth a thumbnail, the most needed first: extremes of each cluster, the map, then at random."""
    quota = int(np.clip(most // (4 * n_clusters), 6, 24))
    extremes: list[np.ndarray] = []
    turn: list[np.ndarray] = []  # the first of each cluster, then the second of each
    by_cluster = np.argsort(labels, kind="stable")
    for members in np.split(by_cluster, np.cumsum(np.bincount(labels, minlength=n_clusters))[:-1]):
        for key in (-typical[members], confidence[members]):
            extremes.append(members[np.argsort(key, kind="stable")[:quota]])
            turn.append(np.arange(len(extremes[-1])))
    rest = np.random.default_rng(seed).permutation(len(labels))  # starts with the points of _fair
    everything = np.concatenate([np.concatenate(extremes)[np.argsort(np.concatenate(turn), kind="stable")], rest])
    _, first = np.unique(everything, return_index=True)
    return everything[np.sort(first)][:most]


def _gather(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Add each row i to row target[i]."""
    out = np.zeros_like(rows)
    np.add.at(out, target, rows)
    return out


def _half(z: np.ndarray) -> np.ndarray:
    return np.clip(z, -65504, 65504).astype(np.float16)


def _as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
