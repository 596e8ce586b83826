"""The location of one encoded image: a whole file, a part of a tar, zip or spool file, or a cell of a Parquet file.

Spans are plain values. Worker processes and threads read them independently; each opens the file itself.
"""

import contextlib
import errno
import os
import stat
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from c3clust.data.io.remote import is_url, read_range
from c3clust.data.io.row_groups import ColumnChunk, read_cell
from c3clust.data.io.scratch import Scratch
from c3clust.errors import DataError
from c3clust.files.limits import limit


class Unreadable(Exception):
    """The reason why one image cannot be read. It is listed in `Samples.skipped`, not raised to the user."""


@dataclass(frozen=True, slots=True)
class Span:
    """`size` encoded bytes, stored as `stored` bytes at `offset` of `path`, deflated if `deflated`.

    path: that of a file, or a URL, which is never deflated.

    chunk: the column chunk of a Parquet file that has the image in row `offset`.

    refused: the reason why this image must not be read, found when its source was listed.
    """

    path: str
    size: int
    offset: int = 0
    stored: int = -1
    deflated: bool = False
    refused: str = ""
    chunk: ColumnChunk | None = None


def read_span(span: Span) -> bytes:
    """The encoded bytes of one image."""
    if span.refused:
        raise Unreadable(span.refused)
    if refused := too_large(span.size):
        raise Unreadable(refused)
    if span.chunk is not None:
        return _read_cell(span, span.chunk)
    try:
        length = min(span.size if span.stored < 0 else span.stored, limit("C3CLUST_MAX_IMAGE"))
        if is_url(span.path):
            return read_range(span.path, span.offset, length)
        with open_regular(span.path) as file:
            file.seek(span.offset)
            raw = file.read(length)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    return _inflate(raw, span.size) if span.deflated else raw


def _read_cell(span: Span, chunk: ColumnChunk) -> bytes:
    try:
        cell = read_cell(span.path, chunk, span.offset)
    except (OSError, IndexError, DataError) as error:
        raise Unreadable(getattr(error, "strerror", None) or str(error)) from error
    data = cell.get("bytes") if isinstance(cell, dict) else cell
    if not isinstance(data, bytes) or len(data) != span.size:
        raise Unreadable("the table has changed")
    return data


def too_large(size: int) -> str:
    """The reason why an encoded image of this size is not read; "" if it is."""
    most = limit("C3CLUST_MAX_IMAGE")
    return "" if 0 <= size <= most else f"{size:,} bytes, more than the {most:,} that one image may have"


def open_regular(path: str | Path) -> BinaryIO:
    """Open a file, or what a link leads to, for reading. OSError for a pipe or a device, which might never end."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(number, "rb")


def _inflate(raw: bytes, size: int) -> bytes:
    """Decompress, up to the size that the archive declares, as a protection against decompression bombs."""
    try:
        data = zlib.decompressobj(-15).decompress(raw, size + 1)
    except zlib.error as error:
        raise Unreadable(f"damaged in the archive ({error})") from error
    if len(data) != size:
        raise Unreadable("its size differs from what the archive declares")
    return data


def _close(file: BinaryIO) -> None:
    with contextlib.suppress(OSError):  # what could not be written is of no use any more
        file.close()


class Spool:
    """A temporary file for images that cannot be read in place. It is deleted with the last reference to it."""

    def __init__(self) -> None:
        self._scratch: Scratch | None = None
        self._file: BinaryIO | None = None
        self.path: str | None = None  # once something was added

    def add(self, data: bytes) -> Span:
        with self._room(len(data)):
            if self._file is None:
                self._scratch = Scratch("c3clust-images-")
                self.path = str(self._scratch.folder / "images")
                self._file = open(self.path, "wb")  # noqa: SIM115
                weakref.finalize(self, _close, self._file)
            span = Span(self.path or "", len(data), self._file.tell())
            self._file.write(data)
            return span

    def close(self) -> None:
        """Finish writing. The images can then be read."""
        with self._room(0):
            if self._file is not None:
                self._file.close()

    @contextmanager
    def _room(self, size: int) -> Iterator[None]:
        """DataError if the temporary file cannot be written; it is removed."""
        try:
            yield
        except OSError as error:
            written = size + (0 if self._file is None or self._file.closed else self._file.tell())
            if self._scratch is not None:
                self._scratch.remove()
            raise DataError(
                f"Images cannot be copied to the temporary folder {tempfile.gettempdir()} ({error.strerror or error}): "
                f"{written:,} bytes were needed so far. Free some space, or set TMPDIR to another folder."
            ) from error
