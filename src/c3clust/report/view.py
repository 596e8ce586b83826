"""The data of a report page, stored as view.npz in the run folder: the page can be made again without the source.

For the M clusters of the model, sums over all n samples are stored: their size does not grow with n, and merging
clusters adds rows. Images, names and positions on the map are stored for a subset of m samples. view_file.py has the
format of the file.
"""

import io
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from c3clust.errors import RunError
from c3clust.files.atomic import open_zip, write_atomically
from c3clust.records.outliers import Outlier
from c3clust.report import sprites, view_file
from c3clust.report.traits import Traits

__all__ = ["Group", "View", "closeness"]

Group = tuple[str, list[tuple[str, float]]]  # a sample, and the names and similarities of its copies

FILE = "view.npz"


@dataclass(frozen=True, eq=False)
class View:
    """The content of view.npz: see view_file.py for the shapes."""

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
    distinct: int = 0
    original: np.ndarray | None = None
    copies: list[Group] = field(default_factory=list)
    n_copies: int = 0
    unassigned: bool = False
    outliers: list[tuple[str, Outlier]] = field(default_factory=list)
    n_outliers: int = 0
    file_words: Traits | None = None
    classes_seen: Traits | None = None
    by_hand: bool = False  # whether only a person put samples in no cluster; not stored

    @property
    def n_clusters(self) -> int:
        """M, without the row of the samples that are in no cluster."""
        return len(self.sizes) - self.unassigned

    @property
    def is_copy(self) -> np.ndarray:
        """[m] whether a sample is a copy of another."""
        return np.zeros(len(self.index), bool) if self.original is None else self.original != self.index

    def merged(self, target: np.ndarray) -> "View":
        """The view after each cluster i has become target[i]; the rows of clusters merged away are zero."""
        target = np.append(target, self.n_clusters) if self.unassigned else target
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

    def closeness(self) -> np.ndarray:
        """How close each of the m samples is to the centre of its cluster; larger is closer. [m]"""
        return closeness(self.z.astype(np.float32), self.centres[self.labels], self.unit)

    def second(self) -> np.ndarray:
        """The cluster whose centre is nearest to each of the m samples, but for their own; -1 if there is none. [m]"""
        centres, z = self.centres.astype(np.float32), self.z.astype(np.float32)
        length = np.maximum(np.linalg.norm(centres, axis=1), 1e-12)
        near = (z @ (centres / length[:, None]).T) if self.unit else 2 * z @ centres.T - length**2
        near[:, self.sizes == 0] = -np.inf
        near[:, self.n_clusters :] = -np.inf
        near[np.arange(len(near)), self.labels] = -np.inf
        best = near.argmax(axis=1)
        return np.where(np.isfinite(near[np.arange(len(near)), best]), best, -1)

    def similarity(self) -> np.ndarray:
        """Of each pair of centres: cosine for unit z, else minus the distance; -inf for empty clusters. [M, M]"""
        c = self.centres.astype(np.float64)
        if self.unit:
            length = np.linalg.norm(c, axis=1, keepdims=True)
            s = (c / np.maximum(length, 1e-12)) @ (c / np.maximum(length, 1e-12)).T
        else:
            s = -np.linalg.norm(c[:, None] - c[None], axis=2) if len(c) <= 512 else -_distances(c)
        excluded = (self.sizes == 0)[:, None] | (self.sizes == 0)[None] | np.eye(len(c), dtype=bool)
        if self.unassigned:
            excluded[-1] = excluded[:, -1] = True
        return np.where(excluded, -np.inf, s)

    def write(self, run_dir: Path) -> Path:
        """Write run_dir/view.npz atomically."""
        path = Path(run_dir) / FILE
        out = io.BytesIO()
        np.savez_compressed(out, **view_file.to_arrays(self))
        write_atomically(path, out.getvalue())
        return path

    @classmethod
    def read(cls, run_dir: Path) -> "View":
        """Read and check run_dir/view.npz."""
        path = Path(run_dir) / FILE
        try:
            with open_zip(path) as file, np.load(file, allow_pickle=False) as arrays:
                return cls(**view_file.from_arrays(arrays))
        except FileNotFoundError:
            raise RunError(
                f"{path} does not exist: {run_dir} is not a finished run, or its view was deleted."
            ) from None
        except Exception as error:  # numpy raises almost anything on hostile bytes
            reason = " ".join(str(error).split()) or type(error).__name__
            raise RunError(f"{path} cannot be used: {reason}.") from None


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
