"""The files that c3clust itself writes and reads again: regular files, written whole or not at all.

Reading and writing follow no symbolic link in the last part of a path, and never wait for a pipe or a device: such a
file in a run folder is an OSError, whose message says so. A file is written under a temporary name, flushed to disk
and renamed, and the folder is flushed too: after a power cut a reader sees the old file or the complete new one.
"""

import contextlib
import errno
import json
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any
from zipfile import ZipFile

from c3clust.errors import InputError
from c3clust.files.limits import limit, unpacked_limit

__all__ = [
    "append_to", "clear_partial", "expanded", "is_partial", "make_folder", "move", "open_regular", "open_zip",
    "read_bytes", "read_json", "remove", "sync", "write_atomically",
]  # fmt: skip

PARTIAL = re.compile(r"\..+\.[0-9a-f]+\.partial")  # a file that is being written
WINDOWS = os.name == "nt"
PAUSES = (0.01, 0.03, 0.1, 0.3, 0.6)  # seconds
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading; OSError for links, pipes, devices and folders."""
    return os.fdopen(_open(path, os.O_RDONLY), "rb")


def expanded(path: str | Path) -> Path:
    """The path with ~ replaced by the home folder; InputError if that is not known."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(f"{path}: the home folder (~) is unknown. Give the full path.") from None


def read_bytes(path: Path, most: int | None = None) -> bytes:
    """The content of a regular file; OSError if it has more than `most` bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if most is not None and size > most:
            raise OSError(
                errno.EFBIG, f"it has {size:,} bytes, and {most:,} are the limit (docs/SECURITY.md)", str(path)
            )
        return file.read()


def read_json(path: Path, most: int | None = None) -> Any:
    """The document in a regular file; OSError, ValueError or RecursionError."""
    content = read_bytes(path, limit("C3CLUST_MAX_JSON") if most is None else most)
    return json.loads(content, parse_constant=_refuse)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number of JSON")


def open_zip(path: Path) -> BufferedReader:
    """Open a regular file that is a zip archive; ValueError if it unpacks to more than one of its size may."""
    file = open_regular(path)
    try:
        size, packed = sum(part.file_size for part in ZipFile(file).infolist()), os.fstat(file.fileno()).st_size
        if size > unpacked_limit(packed):
            raise ValueError(f"it unpacks to {size:,} bytes, too many for a file of {packed:,} (docs/SECURITY.md)")
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def write_atomically(path: Path, content: bytes) -> None:
    """Write a temporary file, flush it to disk, rename it, flush the folder. If writing fails, it is removed."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_IFMT(os.lstat(path).st_mode) not in (stat.S_IFREG, stat.S_IFLNK):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    partial = path.with_name(f".{path.name[:200]}.{os.urandom(6).hex()}.partial")
    try:
        with os.fdopen(_open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        move(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to raise
            partial.unlink(missing_ok=True)
        raise


def move(source: Path, target: Path) -> None:
    """Rename a complete file or folder, whose content is on the disk, and flush the folder. A link is replaced.

    On Windows what somebody reads cannot be renamed or replaced: it is tried again, for about a second.
    """
    for pause in PAUSES if WINDOWS else ():
        try:
            os.replace(source, target)
            break
        except PermissionError:
            time.sleep(pause)
    else:
        os.replace(source, target)
    sync(target.parent)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk. On systems that cannot flush a folder, nothing is done."""
    try:
        number = os.open(path, os.O_RDONLY | _NO_FOLLOW)
    except OSError:
        if path.is_dir():  # Windows does not open folders
            return
        raise
    try:
        os.fsync(number)
    except OSError as error:
        read_only = WINDOWS and error.errno == errno.EBADF  # where only what is open for writing can be flushed
        if error.errno not in (errno.EINVAL, errno.ENOTSUP) and not read_only:
            raise
    finally:
        os.close(number)


def make_folder(path: Path) -> None:
    """Make a folder in an existing one; OSError if the name is taken by a link or a file."""
    try:
        path.mkdir()
        sync(path.parent)
    except FileExistsError:
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            raise OSError(errno.ENOTDIR, "it is not a folder, or a link to one", str(path)) from None


@contextmanager
def append_to(path: Path) -> Iterator[IO[bytes]]:
    """Open a regular file, made if it does not exist, to append to it."""
    with os.fdopen(_open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as file:
        yield file


def remove(path: Path) -> None:
    """Remove a file, or a link itself; a folder stays. What cannot be removed stays too."""
    with contextlib.suppress(OSError):
        path.unlink()


def is_partial(path: Path) -> bool:
    """Whether `write_atomically` makes such names."""
    return PARTIAL.fullmatch(path.name) is not None


def clear_partial(folder: Path) -> None:
    """Remove what processes that were killed while writing left in a folder."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(folder).st_mode):
            for path in folder.iterdir():
                if is_partial(path):
                    remove(path)


def _open(path: Path, flags: int) -> int:
    if WINDOWS and os.path.islink(path):  # there is no O_NOFOLLOW
        raise OSError(errno.ELOOP, "it is a symbolic link, which is not followed", str(path))
    try:
        number = os.open(path, flags | _NO_FOLLOW, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise OSError(errno.ELOOP, "it is a symbolic link, which is not followed", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return number
