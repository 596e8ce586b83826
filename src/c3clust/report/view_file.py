"""The format of view.npz, without pickles. Its arrays:

header       uint8 []      JSON: format, n, unit, classes, layout (how the map was made), noun (what a sample is),
                           distinct (samples with different z), n_copies,
                           unassigned (whether the last of the M rows is of samples that are in no cluster),
                           n_outliers, outliers: [[name, kind, cluster, other, score, second], ...]
                           thumbs (null for vectors): {"width", "height", "quality", "n_sheets"},
                           traits (null, or of texts and tables): {"kind", "names"},
                           file_words, classes_seen: the same, see naming.py
sizes        int64 [M]     samples in each cluster
certain      float64 [M]   sum of their confidence (NaN where the method gives none)
centres      float32 [M, D] mean of their z
confusion    int64 [M, K]  samples of each cluster and true class; K = 0 where labels are not known
index        int64 [m]     positions of the subset, by cluster, then from the most typical to the least
labels       int32 [m]     their clusters
confidence   float32 [m]   their confidence
y            int32 [m]     their true classes (-1: not known)
names        uint8 []      their names, as a JSON list
z            float16 [m, D]
map_rows     int32 [k]     which of the m rows are on the map: a random sample of all n
xy           float32 [k, 2] their positions
sheet_0 ...  uint8 []      sprite sheets of the m thumbnails in order, as image files
texts        uint8 []      of texts and tables: the m samples as text, as a JSON list
original     int64 [m]     the position of the sample that each is a copy of, or its own
copies       uint8 []      the largest groups of copies, as JSON: [[name, [[name, similarity], ...]], ...]
trait_sums, trait_counts   float64 [M, J], trait_spread [J], trait_share bool [J]: see traits.py
word_..., class_...        the same for file_words and classes_seen
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from c3clust.files.limits import limit
from c3clust.records.outliers import Outlier
from c3clust.report import sprites
from c3clust.report.traits import Traits

if TYPE_CHECKING:
    from c3clust.report.view import View

__all__ = ["ARRAYS", "from_arrays", "to_arrays"]

FORMAT = 1
_STORED = {"traits": "trait", "file_words": "word", "classes_seen": "class"}  # fields that are Traits, and their arrays
_TRAITS = ["sums", "counts", "spread", "share"]
NUMBERS = {"certain", "centres", "confidence", "z", "xy"}  # the others are integers
ARRAYS = ["sizes", "certain", "centres", "confusion", "index", "labels", "confidence", "y", "z", "map_rows", "xy"]


def _texts(values: Any) -> list[str]:
    return [str(value) for value in values]


HEADER: dict[str, Callable[[Any], Any]] = {  # fields of a View in the header, and their types
    "n": int, "unit": bool, "classes": _texts, "layout": str, "noun": str, "distinct": int, "n_copies": int,
    "unassigned": bool, "n_outliers": int,
}  # fmt: skip


def to_arrays(view: "View") -> dict[str, Any]:
    """The arrays of the file."""
    traits_of: list[tuple[str, Traits | None]] = [(name, getattr(view, name)) for name in _STORED]
    header = {
        "format": FORMAT,
        **{name: getattr(view, name) for name in HEADER},
        "thumbs": view.thumbs and {**asdict(view.thumbs), "n_sheets": len(view.sheets)},
        "outliers": [[name, *asdict(outlier).values()] for name, outlier in view.outliers],
        **{name: traits and {"kind": traits.kind, "names": traits.names} for name, traits in traits_of},
    }
    arrays = {name: getattr(view, name) for name in ARRAYS}
    arrays |= {"header": _as_bytes(json.dumps(header)), "names": _as_bytes(json.dumps(view.names))}
    arrays |= {f"sheet_{i}": np.frombuffer(sheet, dtype=np.uint8) for i, sheet in enumerate(view.sheets)}
    if view.texts is not None:
        arrays["texts"] = _as_bytes(json.dumps(view.texts))
    if view.original is not None:
        arrays |= {"original": view.original, "copies": _as_bytes(json.dumps(view.copies))}
    for name, traits in traits_of:
        if traits is not None:
            arrays |= {f"{_STORED[name]}_{part}": getattr(traits, part) for part in _TRAITS}
    return arrays


def from_arrays(arrays: Any) -> dict[str, Any]:
    """The fields of a View, checked; any exception if the file is damaged."""
    header = json.loads(arrays["header"].tobytes())
    names = json.loads(arrays["names"].tobytes())
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"it is not a view of format {FORMAT}")
    a = _checked_arrays(arrays, len(header["classes"]))
    m, n_clusters = len(a["index"]), len(a["sizes"])
    texts = json.loads(arrays["texts"].tobytes()) if "texts" in arrays.files else None
    if len(names) != m or (texts is not None and len(texts) != m):
        raise ValueError("its parts differ in length")
    plan, sheets = _checked_thumbs(arrays, header["thumbs"])

    def stored(name: str) -> Traits | None:
        return _checked_traits(arrays, header[name], n_clusters, _STORED[name])

    return dict(
        **{name: kind(header[name]) for name, kind in HEADER.items()},
        thumbs=plan,
        names=_texts(names),
        sheets=sheets,
        texts=None if texts is None else _texts(texts),
        outliers=[(str(name), _outlier(row, n_clusters)) for name, *row in header["outliers"]],
        **_checked_copies(arrays, m),
        traits=stored("traits"),
        file_words=stored("file_words"),
        classes_seen=stored("classes_seen"),
        **a,
    )


def _checked_arrays(arrays: Any, k: int) -> dict[str, np.ndarray]:
    """The arrays of a view with k true classes; ValueError if their shapes or values do not fit together."""
    a = {name: _typed(name, arrays[name], "f" if name in NUMBERS else "iu") for name in ARRAYS}
    m, n_clusters = len(a["index"]), len(a["sizes"])
    if n_clusters > limit("C3CLUST_MAX_CLUSTERS"):
        raise ValueError(f"{n_clusters:,} clusters are more than the limit (docs/SECURITY.md)")
    width, points = a["z"].shape[-1:], a["map_rows"].shape[:1]
    shapes = {"certain": (n_clusters,), "confusion": (n_clusters, k), "labels": (m,), "confidence": (m,), "y": (m,)}
    shapes |= {"sizes": (n_clusters,), "index": (m,), "centres": (n_clusters, *width), "z": (m, *width)}
    shapes |= {"map_rows": points, "xy": (*points, 2)}
    for name, shape in shapes.items():
        if a[name].shape != shape:
            raise ValueError(f"{name} has shape {a[name].shape} instead of {shape}")
    for name, least, most in (("labels", 0, n_clusters), ("y", -1, k), ("map_rows", 0, m)):
        if a[name].size and not least <= a[name].min() <= a[name].max() < most:
            raise ValueError(f"{name} points outside its range")
    if (a["sizes"] < 0).any() or (a["confusion"] < 0).any():
        raise ValueError("it has negative counts")
    for name, rows in (("xy", slice(None)), ("centres", a["sizes"] > 0)):
        if not np.isfinite(a[name][rows]).all():
            raise ValueError(f"{name} has values that are not finite")
    return a


def _typed(name: str, array: np.ndarray, kinds: str) -> np.ndarray:
    """ValueError if an array is of another kind than numbers ("f"), integers ("iu") or booleans ("b")."""
    if array.dtype.kind not in kinds or (array.dtype.itemsize > 8):
        raise ValueError(f"{name} is of type {array.dtype}")
    return array


def _checked_thumbs(arrays: Any, header: Any) -> tuple[sprites.Plan | None, list[bytes]]:
    """The size of the thumbnails and the sheets that contain them; none for samples that are not images."""
    if not header:
        return None, []
    plan = sprites.Plan(int(header["width"]), int(header["height"]), int(header["quality"]))
    if not (0 < plan.width <= sprites.SHEET and 0 < plan.height <= sprites.SHEET):
        raise ValueError(f"thumbnails of {plan.width} x {plan.height} px are out of range")
    return plan, [arrays[f"sheet_{i}"].tobytes() for i in range(int(header["n_sheets"]))]


def _outlier(row: Any, n_clusters: int) -> Outlier:
    kind, cluster, other, score, second = row
    if not (0 <= min(int(cluster), int(other)) <= max(int(cluster), int(other)) < n_clusters):
        raise ValueError("an outlier points to a cluster that does not exist")
    return Outlier(str(kind), int(cluster), int(other), float(score), float(second))


def _checked_copies(arrays: Any, m: int) -> dict[str, Any]:
    if "original" not in arrays.files:
        return {}
    original, groups = _typed("original", arrays["original"], "iu"), json.loads(arrays["copies"].tobytes())
    if original.shape != (m,):
        raise ValueError("its parts differ in length")
    return {
        "original": original,
        "copies": [(str(name), [(str(copy), float(s)) for copy, s in rest]) for name, rest in groups],
    }


def _checked_traits(arrays: Any, header: Any, n_clusters: int, prefix: str) -> Traits | None:
    if not header:
        return None
    names = _texts(header["names"])
    table, row = (n_clusters, len(names)), (len(names),)
    parts = {name: _typed(name, arrays[f"{prefix}_{name}"], "fiub") for name in _TRAITS}
    for name, shape in {"sums": table, "counts": table, "spread": row, "share": row}.items():
        if parts[name].shape != shape:
            raise ValueError(f"{prefix}_{name} has shape {parts[name].shape} instead of {shape}")
    return Traits(str(header["kind"]), names, **{**parts, "share": parts["share"].astype(bool)})


def _as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
