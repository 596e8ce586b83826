"""A cache of decoded images on disk, valid while source and settings are unchanged.

An entry consists of two files named by the hash of its key: `<hash>.npy`, a uint8 array that is memory-mapped, and
`<hash>.json` with its metadata. The key includes the name, size, offset and modification time of every file, the
working size, the channels and the decoder. Files are renamed into place only when complete. The folder may be deleted
at any time.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io.decode import decoder
from c3clust.data.io.spans import Span
from c3clust.errors import DataError

__all__ = ["Entry", "stamp"]

FORMAT = 1
BLOCK = 256


@dataclass(frozen=True)
class Entry:
    """The decoded images of one source at one working size."""

    array: Path
    info: Path

    @classmethod
    def of(
        cls, folder: Path, spans: Sequence[Span], names: Sequence[str], stamps: Sequence[str], settings: dict[str, Any]
    ) -> "Entry":
        """The paths of the entry, whether the files exist or not."""
        key = hashlib.sha256(json.dumps([FORMAT, decoder(), settings, list(stamps)]).encode())
        for span, name in zip(spans, names, strict=True):
            key.update(f"{name}\0{span.offset}\0{span.size}\0".encode("utf-8", "surrogatepass"))
        stem = key.hexdigest()[:32]
        return cls(folder / f"{stem}.npy", folder / f"{stem}.json")

    def load(self) -> tuple[np.ndarray, list[str]] | None:
        """The pictures as a memory map and a reason or "" per file; None if the entry is missing or damaged."""
        try:
            info = json.loads(self.info.read_text())
            x = np.load(self.array, mmap_mode="r", allow_pickle=False)
            return (x, info["reasons"]) if list(x.shape) == info["shape"] else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(self, chunks: Iterable[tuple[np.ndarray, list[str], bool]], channels: int | None) -> None:
        """Write the readable pictures of all chunks (pixels, reasons, grey), one chunk in memory at a time."""
        try:
            self.array.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.array.parent, prefix=".writing-") as folder:
                self._store(chunks, channels, Path(folder))
        except OSError as error:
            raise DataError(
                f"The cache {self.array.parent} cannot be written ({error.strerror}). Choose another folder or none."
            ) from error

    def _store(self, chunks: Iterable[tuple[np.ndarray, list[str], bool]], channels: int | None, folder: Path) -> None:
        reasons: list[str] = []
        n, grey, size = 0, True, 0
        with (folder / "raw").open("wb") as raw:
            for pixels, chunk_reasons, chunk_grey in chunks:
                raw.write(pixels.tobytes())
                reasons += chunk_reasons
                n, grey, size = n + len(pixels), grey and chunk_grey, pixels.shape[2]
        shape = (n, channels or (1 if grey else 3), size, size)
        _copy(folder / "raw", folder / "array.npy", shape)
        (folder / "info.json").write_text(json.dumps({"shape": shape, "reasons": reasons}))
        os.replace(folder / "array.npy", self.array)
        os.replace(folder / "info.json", self.info)  # last: without it the entry is not valid


def _copy(raw: Path, target: Path, shape: tuple[int, int, int, int]) -> None:
    """Copy raw pictures of three channels to an .npy file with the given number of channels."""
    n, channels, size, _ = shape
    x = np.lib.format.open_memmap(target, mode="w+", dtype=np.uint8, shape=shape)
    if n:
        rows = np.memmap(raw, dtype=np.uint8, mode="r", shape=(n, 3, size, size))
        for i in range(0, n, BLOCK):
            x[i : i + BLOCK] = rows[i : i + BLOCK, :channels]
    x.flush()


def stamp(path: str) -> str:
    """Size and modification time of a file."""
    try:
        status = os.stat(path)
    except OSError:
        return "absent"
    return f"{status.st_size}:{status.st_mtime_ns}"
