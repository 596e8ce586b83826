"""One writer per run folder: an operating-system lock that ends with the process that holds it.

Everything that writes into a run folder holds its lock: fit and resume for as long as they run, edits and reports for a
moment. Who finds it held waits for `wait` seconds, and is then refused.
"""

import contextlib
import errno
import json
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from c3clust.errors import RunError
from c3clust.files.atomic import append_to, read_json, remove

__all__ = ["MOMENT", "locked"]

NAME = "lock"
MOMENT = 10.0  # seconds that a short command waits for another one
MOST = 10_000  # bytes of the file
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextmanager
def locked(folder: Path, wait: float = 0.0, required: bool = True) -> Iterator[None]:
    """Hold the lock of `folder`; RunError if another process holds it. The file names the owner, for the message.

    required: False goes on without a lock on a file system that has none, as of some servers.
    """
    path = folder.absolute() / NAME
    if not folder.is_dir():
        raise RunError(f"{folder} does not exist, or is not a folder.")
    lock = FileLock(path, timeout=wait)
    try:
        _check(path)
        lock.acquire()
    except Timeout:
        raise RunError(
            f"{path.parent} is in use by {_owner(path)}: wait for it to end, or choose another folder."
        ) from None
    except OSError as error:
        if required or error.errno not in NO_LOCKS:
            raise RunError(f"{path.parent} cannot be written: {error.strerror}.") from None
        remove(path)
        yield
        return
    try:
        with contextlib.suppress(OSError), append_to(path) as file:
            file.truncate(0)
            file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        yield
    finally:
        remove(path)  # who waits for the lock of a removed file tries again: filelock compares
        lock.release()


def _check(path: Path) -> None:
    """RunError unless the file of the lock is one that `locked` makes, or none: it is written to in place."""
    with contextlib.suppress(FileNotFoundError):
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise RunError(f"{path} is a link or no regular file, so it is not a lock of c3clust: remove it.")


def _owner(path: Path) -> str:
    try:
        owner = read_json(path, MOST)
        return f"process {int(owner['pid'])} on {owner['host']}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another process"
