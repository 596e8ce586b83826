"""Arrays in .npy files that stay on the disk.

They are read and not mapped into memory: a mapped file that somebody cuts ends the process by a signal, where a read
that returns too little can be refused with a sentence.
"""

import os
import threading
import weakref
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import DataError

__all__ = ["NpyFile", "open_npy"]

IN_MEMORY = 2**26  # bytes up to which an array is simply read
BLOCK = 2**26  # bytes that are read at a time
VERSIONS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def open_npy(path: Path) -> "np.ndarray | NpyFile":
    """The array of a .npy file: in memory if it is small or in Fortran's order, else an object that reads rows."""
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        if version not in VERSIONS:
            raise ValueError(f"version {version} of the format is not read")
        shape, transposed, dtype = VERSIONS[version](file)
        start = file.tell()
    if dtype.hasobject or dtype.itemsize == 0 or min(shape, default=-1) < 0:
        raise ValueError(f"an array of type {dtype} and shape {shape} is not read")
    found = NpyFile(path, shape[::-1] if transposed else shape, dtype, start)
    if transposed:
        return found[:].T
    return found if found.nbytes > IN_MEMORY else found[:]


class NpyFile:
    """n samples in a .npy file, indexed like an array by a number, a slice, a mask or an array of positions.

    change: applied to the rows that were read, such as another order of their axes.
    """

    def __init__(self, path: Path, shape: tuple[int, ...], dtype: np.dtype, start: int) -> None:
        self.path, self.stored, self.dtype, self.start = path, shape, dtype, start
        self.change: Callable[[np.ndarray], np.ndarray] | None = None
        self.shape = shape
        self._open()
        size = os.fstat(self.number).st_size
        if size < start + self.nbytes:
            raise ValueError(f"it has {size:,} bytes, and an array of shape {shape} needs {start + self.nbytes:,}")

    def _open(self) -> None:
        self.number = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        weakref.finalize(self, os.close, self.number)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "number"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return prod(self.stored) * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def changed(self, change: Callable[[np.ndarray], np.ndarray]) -> "NpyFile":
        """The same samples, each batch of them changed after it was read."""
        found = NpyFile(self.path, self.stored, self.dtype, self.start)
        found.change = change
        found.shape = (self.stored[0], *change(np.empty((1, *self.stored[1:]), self.dtype)).shape[1:])
        return found

    def __getitem__(self, index: Any) -> np.ndarray:
        chosen = np.arange(len(self))[index]
        rows = self._rows(np.atleast_1d(chosen))
        rows = rows if self.change is None else self.change(rows)
        return rows if chosen.ndim else rows[0]

    def _rows(self, chosen: np.ndarray) -> np.ndarray:
        """The samples at these positions, each run of neighbouring ones by one read."""
        width = prod(self.stored[1:]) * self.dtype.itemsize
        raw, ends = np.empty(len(chosen) * width, np.uint8), np.flatnonzero(np.diff(chosen) != 1) + 1
        for i, j in zip([0, *ends.tolist()], [*ends.tolist(), len(chosen)], strict=True):
            self._read(raw.data[i * width : j * width], self.start + int(chosen[i : i + 1].sum()) * width)
        return raw.view(self.dtype).reshape(len(chosen), *self.stored[1:])

    def _read(self, out: memoryview, at: int) -> None:
        """Fill `out` with the bytes of the file from position `at` on."""
        done = 0
        while done < len(out):
            read = read_at(self.number, min(BLOCK, len(out) - done), at + done)
            if not read:
                raise DataError(
                    f"{self.path} was cut while it was in use: it has {os.fstat(self.number).st_size:,} bytes, and "
                    f"had {self.start + self.nbytes:,}. Restore the file, and start again."
                )
            out[done : done + len(read)] = read
            done += len(read)


def seek_and_read(number: int, n: int, at: int) -> bytes:
    """`os.pread` for Windows, which has no fork: only threads of one process share the position in the file."""
    with _SEEKING:
        os.lseek(number, at, os.SEEK_SET)
        return os.read(number, n)


_SEEKING = threading.Lock()
read_at = os.pread if hasattr(os, "pread") else seek_and_read
