"""What every source of data turns into: Samples."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

__all__ = ["ArrayLike", "Column", "Samples"]


@runtime_checkable
class ArrayLike(Protocol):
    """n samples that can be indexed by an array of positions: a numpy array, a memory map, or a stream of files."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any) -> np.ndarray: ...


@dataclass(frozen=True)
class Column:
    """A column of a table: numbers, or codes into `levels`, its categories. NaN is a missing value."""

    name: str
    levels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Samples:
    """Samples on their way into a method.

    x: [n, C, H, W] uint8 (or float in [0, 1]) for pictures, [n, F] float for feature vectors, [n] str for texts (an
       array of objects), [n, C] float64 for tables, where `columns` says what the C columns mean.
    names: one a sample, unique: the file's path within its source, or the index.
    y: true labels [n] as integers into `classes`, for metrics only. No method ever sees them.
    skipped: (name, reason) of each file that could not be read.
    notes: what the owner of a run should know about the source, one sentence each.
    policy: the augmentation that suits the source ("photo", "digit", "vector", "words", "table").
    """

    x: ArrayLike
    names: Sequence[str]
    y: np.ndarray | None = None
    classes: Sequence[str] | None = None
    skipped: Sequence[tuple[str, str]] = field(default_factory=tuple)
    place: str = ""
    policy: str = "photo"
    notes: Sequence[str] = ()
    columns: Sequence[Column] | None = None

    @property
    def kind(self) -> str:
        """What the samples are: "image", "vector", "text" or "table"."""
        if self.columns is not None:
            return "table"
        return {1: "text", 2: "vector"}.get(len(self.x.shape), "image")

    def __len__(self) -> int:
        return len(self.x)
