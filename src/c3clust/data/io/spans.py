"""The location of one encoded image: a whole file, or a part of a tar, zip or spool file.

Spans are plain values. Worker processes and threads read them independently; each opens the file itself.
"""

import contextlib
import os
import tempfile
import weakref
import zlib
from dataclasses import dataclass
from typing import Any

MAX_FILE = 256 * 2**20  # bytes of one encoded image; a larger file is rejected


class Unreadable(Exception):
    """The reason why one image cannot be read. It is listed in `Samples.skipped`, not raised to the user."""


@dataclass(frozen=True, slots=True)
class Span:
    """`size` encoded bytes, stored as `stored` bytes at `offset` of `path`, deflated if `deflated`.

    refused: the reason why this image must not be read, found when its source was listed.
    """

    path: str
    size: int
    offset: int = 0
    stored: int = -1
    deflated: bool = False
    refused: str = ""


def read_span(span: Span) -> bytes:
    """The encoded bytes of one image, at most MAX_FILE."""
    if span.refused:
        raise Unreadable(span.refused)
    if span.size > MAX_FILE:
        raise Unreadable(f"{span.size:,} bytes, more than the {MAX_FILE:,} that one image may have")
    try:
        with open(span.path, "rb") as file:
            file.seek(span.offset)
            raw = file.read(min(span.size if span.stored < 0 else span.stored, MAX_FILE))
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    return _inflate(raw, span.size) if span.deflated else raw


def _inflate(raw: bytes, size: int) -> bytes:
    """Decompress, up to the size that the archive declares, as a protection against decompression bombs."""
    try:
        data = zlib.decompressobj(-15).decompress(raw, size + 1)
    except zlib.error as error:
        raise Unreadable(f"damaged in the archive ({error})") from error
    if len(data) != size:
        raise Unreadable("its size differs from what the archive declares")
    return data


class Spool:
    """A temporary file for images that cannot be read in place. It is deleted with the last reference to it."""

    def __init__(self) -> None:
        self._file = tempfile.NamedTemporaryFile(prefix="c3clust-", suffix=".images", delete=False)  # noqa: SIM115
        self.path = self._file.name
        self._delete = weakref.finalize(self, _close_and_delete, self._file)

    def add(self, data: bytes) -> Span:
        span = Span(self.path, len(data), self._file.tell())
        self._file.write(data)
        return span

    def close(self) -> None:
        """Finish writing. The images can then be read."""
        self._file.close()


def _close_and_delete(file: Any) -> None:
    file.close()
    with contextlib.suppress(OSError):
        os.unlink(file.name)
