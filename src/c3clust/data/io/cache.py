"""Arrays cached on disk: `Entry`, and the entries of decoded images.

An entry consists of two files named by the hash of its key: `<hash>.npy`, an array, and
`<hash>.json` with its metadata and the hash of the array, which is compared before each use. The key of decoded
images includes the name, size, offset and modification time of every file, the working size, the channels and the
decoder. Files are flushed to disk and then renamed into place. The folder may be deleted at any time.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from c3clust.data.io.decode import decoder
from c3clust.data.io.npy import NpyFile, open_npy
from c3clust.data.io.scratch import Scratch
from c3clust.data.io.spans import Span
from c3clust.errors import DataError
from c3clust.files.atomic import move, open_regular, read_json, sync, write_atomically

FORMAT = 1
BLOCK = 256


@dataclass(frozen=True)
class Entry:
    """The two files of an entry, whether they exist or not."""

    array: Path
    info: Path

    @classmethod
    def of(cls, folder: Path, key: str) -> "Entry":
        return cls(folder / f"{key[:32]}.npy", folder / f"{key[:32]}.json")

    def load(self) -> tuple[np.ndarray | NpyFile, dict[str, Any]] | None:
        """The array, which is read when it is used if it is large, and the metadata; None if they are missing or
        damaged.
        """
        try:
            info = read_json(self.info)
            if not isinstance(info, dict) or info.get("sha256") != _digest(self.array):
                return None
            return open_npy(self.array), info
        except (OSError, ValueError, RecursionError):
            return None

    def store(self, file: Path, info: dict[str, Any]) -> None:
        """Move a complete .npy file to its final name; the metadata follow, as an entry without them is not valid."""
        sync(file)
        digest = _digest(file)
        move(file, self.array)
        write_atomically(self.info, json.dumps(info | {"sha256": digest}).encode())


def _digest(path: Path) -> str:
    with open_regular(path) as file:  # a pipe or a link is no entry
        return hashlib.file_digest(file, "sha256").hexdigest()


def new_array(path: Path, shape: tuple[int, ...], dtype: type) -> BinaryIO:
    """A new .npy file, open for its values in order.

    They are not written through a memory map, where a full disk ends the process: here it is an OSError.
    """
    file = open(path, "xb")  # noqa: SIM115
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file


def picture_entry(
    folder: Path, spans: Sequence[Span], names: Sequence[str], stamps: Sequence[str], settings: dict[str, Any]
) -> Entry:
    """The entry of the decoded images of one source at one working size."""
    key = hashlib.sha256(json.dumps([FORMAT, decoder(), settings, list(stamps)]).encode())
    for span, name in zip(spans, names, strict=True):
        key.update(f"{name}\0{span.offset}\0{span.size}\0".encode("utf-8", "surrogatepass"))
    return Entry.of(folder, key.hexdigest())


def load_pictures(entry: Entry) -> tuple[np.ndarray | NpyFile, list[str]] | None:
    """The images and a reason or "" per file; None if the entry is missing or damaged."""
    x, info = entry.load() or (np.empty(0), {})
    return (x, info["reasons"]) if list(x.shape) == info.get("shape") and "reasons" in info else None


def store_pictures(entry: Entry, chunks: Iterable[tuple[np.ndarray, list[str], bool]], channels: int | None) -> None:
    """Write the readable images of all chunks (pixels, reasons, grey), one chunk in memory at a time."""
    folder = entry.array.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with Scratch(".writing-", folder) as writing:
            raw, array = writing / "raw", writing / "array.npy"
            reasons: list[str] = []
            n, grey, size = 0, True, 0
            with raw.open("wb") as file:
                for pixels, chunk_reasons, chunk_grey in chunks:
                    file.write(pixels.tobytes())
                    reasons += chunk_reasons
                    n, grey, size = n + len(pixels), grey and chunk_grey, pixels.shape[2]
            shape = (n, channels or (1 if grey else 3), size, size)
            with raw.open("rb") as source, new_array(array, shape, np.uint8) as out:
                for i in range(0, n, BLOCK):
                    rows = np.frombuffer(source.read(min(BLOCK, n - i) * 3 * size * size), dtype=np.uint8)
                    out.write(rows.reshape(-1, 3, size, size)[:, : shape[1]].tobytes())
            entry.store(array, {"shape": shape, "reasons": reasons})
    except OSError as error:
        why = f"cannot be written ({error.strerror})"
        raise DataError(f"The cache {folder} {why}. Choose another folder or none.") from error


def stamp(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError:
        return "absent"
    return f"{status.st_size}:{status.st_mtime_ns}"
