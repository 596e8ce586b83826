"""Temporary folders that are removed, by the next process if not by their own.

Each holds a locked file as long as its process lives. A process that was killed holds no lock, so the next one that
makes a folder in the same place removes what was left.
"""

import contextlib
import os
import shutil
import stat
import tempfile
import time
import weakref
from pathlib import Path

from filelock import FileLock, Timeout

__all__ = ["Scratch"]

LOCK = "lock"
YOUNG = 3600.0  # seconds in which a folder without a lock may be one that is being made


class Scratch:
    """A new folder `parent`/`prefix`..., deleted with the last reference to it, or by `remove`.

    parent: None for the folder of temporary files. OSError if it cannot be written.
    """

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        _sweep(parent, prefix)
        self.folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._lock = FileLock(self.folder / LOCK)
        try:
            self._lock.acquire(timeout=0)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.remove = weakref.finalize(self, _remove, self.folder, self._lock)

    def __enter__(self) -> Path:
        return self.folder

    def __exit__(self, *_: object) -> None:
        self.remove()


def _remove(folder: Path, lock: FileLock) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        lock.release()


def _sweep(parent: Path, prefix: str) -> None:
    """Remove folders whose process has ended. Nothing that belongs to another user, and no link, is touched."""
    for folder in parent.glob(f"{prefix}*"):
        with contextlib.suppress(OSError, Timeout):
            found = os.lstat(folder)
            if not stat.S_ISDIR(found.st_mode) or (hasattr(os, "getuid") and found.st_uid != os.getuid()):
                continue
            if not (folder / LOCK).exists():
                if time.time() - found.st_mtime > YOUNG:
                    shutil.rmtree(folder, ignore_errors=True)
                continue
            with FileLock(folder / LOCK, timeout=0):
                shutil.rmtree(folder, ignore_errors=True)
