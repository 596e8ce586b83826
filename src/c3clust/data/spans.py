"""Where the bytes of one encoded image lie: a whole file, or a stretch of a tar, zip or spool file.

Spans are plain values: worker processes and threads read them independently, each opening the file for itself.
"""

import os
import tempfile
import zlib
from dataclasses import dataclass
from typing import BinaryIO

__all__ = ["MAX_FILE", "Span", "Spool", "Unreadable", "read_span"]

MAX_FILE = 256 * 2**20  # bytes of one encoded image; a larger file is refused


class Unreadable(Exception):
    """Why one image cannot be read. Collected in `Images.skipped`, never shown as a traceback."""


@dataclass(frozen=True, slots=True)
class Span:
    """`size` encoded bytes; `stored` of them lie at `offset` of `path`, deflated if `deflated`.

    refused: why this image must not be read at all, found when its source was listed.
    """

    path: str
    size: int
    offset: int = 0
    stored: int = -1
    deflated: bool = False
    refused: str = ""


def read_span(span: Span) -> bytes:
    """The encoded bytes of one image, never more than MAX_FILE of them."""
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
    """Undo deflate, and stop at the size that the archive declares: a bomb cannot unfold further."""
    engine = zlib.decompressobj(-15)
    try:
        data = engine.decompress(raw, size)
    except zlib.error as error:
        raise Unreadable(f"damaged in the archive ({error})") from error
    if len(data) != size or engine.unconsumed_tail.strip(b"\0"):
        raise Unreadable("its size differs from what the archive declares")
    return data


class Spool:
    """One temporary file that takes in images which cannot be read in place. Deleted with its last user."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="c3clust-", ignore_cleanup_errors=True)
        self.path = os.path.join(self._folder.name, "images.bin")
        self._file: BinaryIO | None = open(self.path, "wb")  # noqa: SIM115 - closed by close()
        self._end = 0

    def add(self, data: bytes) -> Span:
        """Append one image."""
        if self._file is None:
            raise RuntimeError("the spool is closed")
        span = Span(self.path, len(data), self._end)
        self._file.write(data)
        self._end += len(data)
        return span

    def close(self) -> None:
        """No more images: from now on they are read."""
        if self._file is not None:
            self._file.close()
            self._file = None
