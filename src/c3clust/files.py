"""Writing files so that a reader sees the old one or the whole new one, never a part."""

import contextlib
import os
from pathlib import Path

__all__ = ["clear_partial", "write_atomically"]


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside, flush to disk, rename. Nothing is left behind if writing fails."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to raise
            partial.unlink(missing_ok=True)
        raise


def clear_partial(folder: Path) -> None:
    """Remove what processes that were killed while writing left in a folder and the folders in it."""
    for path in folder.rglob(".*.partial"):
        with contextlib.suppress(OSError):
            path.unlink()
