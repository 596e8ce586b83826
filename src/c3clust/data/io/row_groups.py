"""Parquet files that do not fit in memory, read by row group: vectors as an array, and encoded pictures one by one."""

import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from c3clust.data.io.cells import open_parquet

__all__ = ["HELD", "KEPT", "LARGEST", "ColumnChunk", "Group", "RowGroups", "read_cell"]

KEPT = 4  # row groups of vectors that stay in memory
HELD = 2**28  # bytes of row groups of pictures that stay in memory
LARGEST = 2**27  # bytes of the pictures of a row group that is read in place


@dataclass(frozen=True)
class Group:
    """One row group of a file."""

    path: Path
    number: int
    rows: int


class RowGroups:
    """Vectors [n, F] of the row groups of several files, in order; indexed like an array, and read on each access.

    `read` gives the vectors of one group. The last KEPT groups stay in memory, so rows that are read in order are read
    once.
    """

    def __init__(self, groups: Sequence[Group], width: int, read: Callable[[Group], np.ndarray]) -> None:
        self.groups, self._read = groups, read
        self.ends = np.cumsum([group.rows for group in groups])
        self.shape, self.dtype = (int(self.ends[-1]), width), np.dtype(np.float32)
        self._kept: OrderedDict[int, np.ndarray] = OrderedDict()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> np.ndarray:
        """One vector [F] for an integer, several [k, F] for a slice, a mask or an array of positions."""
        chosen = np.arange(*index.indices(len(self))) if isinstance(index, slice) else np.asarray(index)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        if chosen.size and not -len(self) <= chosen.min() <= chosen.max() < len(self):
            raise IndexError(f"a position outside of {len(self):,} rows")
        at = np.atleast_1d(chosen % len(self)).astype(np.int64)
        found, group = np.empty((len(at), self.shape[1]), self.dtype), np.searchsorted(self.ends, at, side="right")
        for number in np.unique(group):
            mine = group == number
            found[mine] = self._group(int(number))[at[mine] - (self.ends[number] - self.groups[number].rows)]
        return found if chosen.ndim else found[0]

    def _group(self, number: int) -> np.ndarray:
        if number not in self._kept:
            self._kept[number] = self._read(self.groups[number])
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(number)
        return self._kept[number]


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """One column of one row group of a file."""

    group: int
    column: str


def read_cell(path: str, chunk: ColumnChunk, row: int) -> Any:
    """One cell of a column chunk, which is read as a whole. The last ones stay in memory, up to HELD bytes.

    Threads that need the same chunk wait for one of them to read it.
    """
    status = os.stat(path)
    key = (path, status.st_mtime_ns, status.st_size, chunk)
    with _lock:
        if key not in _held:
            with open_parquet(Path(path)) as file:
                _held[key] = file.read_row_group(chunk.group, columns=[chunk.column]).column(0)
            while len(_held) > 1 and sum(cells.nbytes for cells in _held.values()) > HELD:
                _held.popitem(last=False)
        _held.move_to_end(key)
        cells = _held[key]
    return cells[row].as_py()


_lock = Lock()
_held: OrderedDict[tuple[str, int, int, ColumnChunk], Any] = OrderedDict()
