"""One process per run folder: an operating-system lock that ends with the process that holds it."""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from c3clust.errors import RunError

__all__ = ["locked"]

NAME = "lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder`; refused while another process holds it. The file names the owner, for the message."""
    path = folder.absolute() / NAME
    if not folder.is_dir():
        raise RunError(f"{folder} cannot be written: there is no such folder.")
    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise RunError(
            f"{path.parent} is in use by {_owner(path)}: wait for it to end, or choose another folder."
        ) from None
    except OSError as error:
        raise RunError(f"{path.parent} cannot be written: {error.strerror}.") from None
    try:
        with contextlib.suppress(OSError):
            path.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}), encoding="utf-8")
        yield
    finally:
        with contextlib.suppress(OSError):  # the folder may be gone, or read-only by now
            path.unlink()
        lock.release()


def _owner(path: Path) -> str:
    try:
        owner = json.loads(path.read_text(encoding="utf-8"))
        return f"process {int(owner['pid'])} on {owner['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
