"""The data of a report page, stored as view.npz in the run folder: the page can be made again without the source.

For the M clusters of the model, sums over all n samples are stored: their size does not grow with n, and merging
clusters adds rows. Pictures, names and positions on the map are stored for a subset of m samples.

view.npz contains no pickles. Its arrays:

    header       uint8 []      JSON: format, n, unit, classes, layout (how the map was made), noun (what a sample is),
                               distinct (samples with different z; null in older views), n_copies,
                               apart (whether the last of the M rows is of samples that are in no cluster),
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

import io
import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import RunError
from c3clust.files import open_zip, write_atomically
from c3clust.limits import limit
from c3clust.records.outliers import Outlier
from c3clust.report import sprites
from c3clust.report.traits import Traits

__all__ = ["Group", "View", "closeness"]

Group = tuple[str, list[tuple[str, float]]]  # a sample, and the names and similarities of its copies

FORMAT = 1
FILE = "view.npz"


@dataclass(frozen=True, eq=False)
class View:
    """The content of view.npz, see the docstring of the module."""

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
    distinct: int | None = None
    original: np.ndarray | None = None
    copies: list[Group] = field(default_factory=list)
    n_copies: int = 0
    apart: bool = False
    outliers: list[tuple[str, Outlier]] = field(default_factory=list)
    n_outliers: int = 0
    file_words: Traits | None = None
    classes_seen: Traits | None = None

    @property
    def n_clusters(self) -> int:
        """M, without the row of the samples that are in no cluster."""
        return len(self.sizes) - self.apart

    @property
    def is_copy(self) -> np.ndarray:
        """[m] whether a sample is a copy of another."""
        return np.zeros(len(self.index), bool) if self.original is None else self.original != self.index

    def merged(self, target: np.ndarray) -> "View":
        """The view after each cluster i has become target[i]; the rows of clusters merged away are zero."""
        target = np.append(target, self.n_clusters) if self.apart else target
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
            file_words=self.file_words and self.file_words.merged(target),
            classes_seen=self.classes_seen and self.classes_seen.merged(target),
        )

    def _traits(self) -> list[tuple[str, Traits | None]]:
        return [(name, getattr(self, name)) for name in _STORED]

    def closeness(self) -> np.ndarray:
        """How close each of the m samples is to the centre of its cluster; larger is closer. [m]"""
        return closeness(self.z.astype(np.float32), self.centres[self.labels], self.unit)

    def similarity(self) -> np.ndarray:
        """Of each pair of centres: cosine for unit z, else minus the distance; -inf for empty clusters. [M, M]"""
        c = self.centres.astype(np.float64)
        if self.unit:
            length = np.linalg.norm(c, axis=1, keepdims=True)
            s = (c / np.maximum(length, 1e-12)) @ (c / np.maximum(length, 1e-12)).T
        else:
            s = -np.linalg.norm(c[:, None] - c[None], axis=2) if len(c) <= 512 else -_distances(c)
        excluded = (self.sizes == 0)[:, None] | (self.sizes == 0)[None] | np.eye(len(c), dtype=bool)
        if self.apart:
            excluded[-1] = excluded[:, -1] = True
        return np.where(excluded, -np.inf, s)

    def write(self, run_dir: Path) -> Path:
        """Write run_dir/view.npz atomically."""
        header = {
            "format": FORMAT,
            "n": self.n,
            "unit": self.unit,
            "classes": self.classes,
            "layout": self.layout,
            "thumbs": self.thumbs and {**asdict(self.thumbs), "n_sheets": len(self.sheets)},
            "noun": self.noun,
            "distinct": self.distinct,
            "n_copies": self.n_copies,
            "apart": self.apart,
            "n_outliers": self.n_outliers,
            "outliers": [[name, *asdict(outlier).values()] for name, outlier in self.outliers],
            **{name: traits and {"kind": traits.kind, "names": traits.names} for name, traits in self._traits()},
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {"header": _as_bytes(json.dumps(header)), "names": _as_bytes(json.dumps(self.names))}
        arrays |= {f"sheet_{i}": np.frombuffer(sheet, dtype=np.uint8) for i, sheet in enumerate(self.sheets)}
        if self.texts is not None:
            arrays["texts"] = _as_bytes(json.dumps(self.texts))
        if self.original is not None:
            arrays |= {"original": self.original, "copies": _as_bytes(json.dumps(self.copies))}
        for name, traits in self._traits():
            if traits is not None:
                arrays |= {f"{_STORED[name]}_{part}": getattr(traits, part) for part in _TRAITS}
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
            with open_zip(path) as file, np.load(file, allow_pickle=False) as arrays:
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
        if len(a["sizes"]) > limit("C3CLUST_MAX_CLUSTERS"):
            raise ValueError(f"{len(a['sizes']):,} clusters are more than the limit (docs/SECURITY.md)")
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
        thumbs = header["thumbs"]
        plan = thumbs and sprites.Plan(int(thumbs["width"]), int(thumbs["height"]), int(thumbs["quality"]))
        if plan and not (0 < plan.width <= sprites.SHEET and 0 < plan.height <= sprites.SHEET):
            raise ValueError(f"thumbnails of {plan.width} x {plan.height} px are out of range")
        sheets = [arrays[f"sheet_{i}"].tobytes() for i in range(int(thumbs["n_sheets"]))] if thumbs else []
        texts = json.loads(arrays["texts"].tobytes()) if "texts" in arrays.files else None
        if texts is not None and len(texts) != m:
            raise ValueError("its parts differ in length")

        def stored(name: str) -> Traits | None:
            return _checked_traits(arrays, header.get(name), n_clusters, _STORED[name])

        return cls(
            n=int(header["n"]),
            unit=bool(header["unit"]),
            classes=[str(c) for c in header["classes"]],
            layout=str(header["layout"]),
            thumbs=plan,
            names=[str(name) for name in names],
            sheets=sheets,
            noun=str(header.get("noun") or ("image" if plan else "sample")),
            distinct=None if header.get("distinct") is None else int(header["distinct"]),
            texts=None if texts is None else [str(text) for text in texts],
            n_copies=int(header.get("n_copies") or 0),
            apart=header.get("apart") is True,
            n_outliers=int(header.get("n_outliers") or 0),
            outliers=[(str(name), _outlier(row, n_clusters)) for name, *row in header.get("outliers") or []],
            **_checked_copies(arrays, m),
            traits=stored("traits"),
            file_words=stored("file_words"),
            classes_seen=stored("classes_seen"),
            **a,
        )


_STORED = {"traits": "trait", "file_words": "word", "classes_seen": "class"}  # fields that are Traits, and their arrays
_TRAITS = ["sums", "counts", "spread", "share"]
_ARRAYS = ["sizes", "certain", "centres", "confusion", "index", "labels", "confidence", "y", "z", "map_rows", "xy"]


def _outlier(row: Any, n_clusters: int) -> Outlier:
    kind, cluster, other, score, second = row
    if not (0 <= min(int(cluster), int(other)) <= max(int(cluster), int(other)) < n_clusters):
        raise ValueError("an outlier points to a cluster that does not exist")
    return Outlier(str(kind), int(cluster), int(other), float(score), float(second))


def _checked_copies(arrays: Any, m: int) -> dict[str, Any]:
    if "original" not in arrays.files:
        return {}
    original, groups = arrays["original"], json.loads(arrays["copies"].tobytes())
    if original.shape != (m,):
        raise ValueError("its parts differ in length")
    return {
        "original": original,
        "copies": [(str(name), [(str(copy), float(s)) for copy, s in rest]) for name, rest in groups],
    }


def _checked_traits(arrays: Any, header: Any, n_clusters: int, prefix: str) -> Traits | None:
    if not header:
        return None
    names = [str(name) for name in header["names"]]
    table, row = (n_clusters, len(names)), (len(names),)
    parts = {name: arrays[f"{prefix}_{name}"] for name in _TRAITS}
    for name, shape in {"sums": table, "counts": table, "spread": row, "share": row}.items():
        if parts[name].shape != shape:
            raise ValueError(f"{prefix}_{name} has shape {parts[name].shape}, needed is {shape}")
    return Traits(str(header["kind"]), names, **{**parts, "share": parts["share"].astype(bool)})


def closeness(z: np.ndarray, centre: np.ndarray, unit: bool) -> np.ndarray:
    """Cosine of each row with its centre for unit z, else minus the distance."""
    if unit:
        return np.einsum("nd,nd->n", z, centre) / np.maximum(np.linalg.norm(centre, axis=1), 1e-12)
    return -np.linalg.norm(z - centre, axis=1)


def _distances(c: np.ndarray) -> np.ndarray:
    square = (c**2).sum(axis=1)
    return np.sqrt(np.maximum(square[:, None] + square[None] - 2 * c @ c.T, 0))


def _gather(rows: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Add each row i to row target[i]."""
    out = np.zeros_like(rows)
    np.add.at(out, target, rows)
    return out


def _as_bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("ascii"), dtype=np.uint8)
