"""One process a run folder: a lock file with the owner's pid, which is void once its owner is gone."""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from c3clust.errors import RunError

try:
    import fcntl
except ImportError:  # Windows: two processes that find a stale lock in the same millisecond may both take it
    fcntl = None  # type: ignore[assignment]

__all__ = ["locked"]

NAME = "lock"
_held: set[Path] = set()  # by this process; a lock of ours that is not among them could not be removed at the time


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Own `folder` for a while; refused if another living process owns it."""
    path = folder.absolute() / NAME
    _take(path)
    _held.add(path)
    try:
        yield
    finally:
        _held.discard(path)
        with contextlib.suppress(OSError):  # the folder may be gone, or read-only by now
            if _owner(path.read_bytes()) == _self():
                path.unlink()


def _take(path: Path) -> None:
    """Write our name into the lock, unless its owner lives. The file itself is locked meanwhile."""
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise RunError(f"{path.parent} cannot be written: {error.strerror}.") from None
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            if not _same_file(file, path):  # removed between open and lock: begin again
                continue
            owner = _owner(os.read(file, 4096))
            if owner is not None and _lives(owner) and (owner != _self() or path in _held):
                raise RunError(
                    f"{path.parent} is in use by process {owner['pid']} on {owner['host']}: wait for it to end, or "
                    f"choose another folder. If there is no such process, remove {path}."
                )
            os.lseek(file, 0, os.SEEK_SET)
            os.ftruncate(file, 0)
            os.write(file, json.dumps(_self()).encode())
            return
        finally:
            os.close(file)


def _self() -> dict[str, Any]:
    return {"pid": os.getpid(), "started": _start_time(os.getpid()), "host": socket.gethostname()}


def _owner(content: bytes) -> dict[str, Any] | None:
    """Who a lock names; None if it names nobody, as after a crash while it was written."""
    try:
        owner = json.loads(content)
    except (ValueError, RecursionError):
        return None
    whole = isinstance(owner, dict) and isinstance(owner.get("pid"), int) and isinstance(owner.get("host"), str)
    return owner if whole and owner["pid"] > 0 else None


def _lives(owner: dict[str, Any]) -> bool:
    """Whether the owner still runs. A process on another machine cannot be seen from here and counts as alive."""
    if owner["host"] != socket.gethostname():
        return True
    try:
        os.kill(owner["pid"], 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is there, and somebody else's
    started = _start_time(owner["pid"])
    return started is None or owner.get("started") is None or started == owner["started"]


def _start_time(pid: int) -> int | None:
    """When a process began, in clock ticks since boot: a pid that was given out again differs here. Linux only."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def _same_file(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False
