"""RUN/changes/1, 2, ...: what a run was after each split or regrouping. The last one is what it is now.

A change is a folder that is renamed into place when it is complete: change.json, assignments.csv, record.json, view.npz
and edits.json, with the heads of a split (split.*) or the model of a regrouping (model.*). `undo` removes the folder.
edits.json of a change begins with the operations that still hold (`carried`). What RUN itself contains stays, but for
the files that describe the current clusters (report/editing.py).

Writers hold the lock of RUN. Readers need none: `at_rest` reads again if a writer was at work.
"""

import json
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from c3clust.errors import RunError
from c3clust.files.atomic import make_folder, move, read_json, write_atomically
from c3clust.files.schema import Clusters, Count, build

__all__ = [
    "FOLDER", "Change", "at_rest", "clear_changes", "clear_folders", "current", "drop_last", "is_folder", "new_change",
    "stamp", "states",
]  # fmt: skip

FOLDER = "changes"
FILE = "change.json"
FORMAT = 1
PARTIAL = re.compile(r"\.[0-9a-f]+\.partial")  # a folder that is being written or removed
TRIES = 100
Found = TypeVar("Found")


@dataclass(frozen=True)
class Change:
    """n_clusters: the numbers of clusters there are, in use or not. Of a split: the cluster, and the numbers of its
    parts, in the order of the heads. carried: operations of edits.json that are not to be undone alone.
    """

    op: Literal["split", "regroup"]
    n_clusters: Clusters
    carried: Count = 0
    cluster: Count | None = None
    numbers: list[Count] = field(default_factory=list)
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        write_atomically(folder / FILE, (json.dumps(asdict(self), indent=1) + "\n").encode())

    @classmethod
    def read(cls, folder: Path) -> "Change":
        """Read and check the change of a folder."""
        path = folder / FILE
        try:
            found = build(cls, read_json(path), str(path))
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{path} cannot be read: {str(error).rstrip('.')}.") from None
        parts = found.op == "split" and (found.cluster is None or len(found.numbers) < 2)
        if found.format != FORMAT or parts or any(i >= found.n_clusters for i in found.numbers):
            raise RunError(f"{path} is not a change of format {FORMAT}.")
        return found


def states(run: str | Path) -> list[Path]:
    """The run folder, and the folder of each change, in order."""
    found = [Path(run)]
    while is_folder(Path(run) / FOLDER) and is_folder(path := Path(run) / FOLDER / str(len(found))):
        found.append(path)
    return found


def current(run: str | Path) -> Path:
    """The folder with the assignments, record, view and edits that hold now."""
    return states(run)[-1]


def at_rest(run: str | Path, read: Callable[[], Found]) -> Found:
    """What `read` returns of a run that no other process changes at the same time."""
    for _ in range(TRIES):
        before = stamp(run)
        try:
            found = read()
        except (RunError, OSError):
            if stamp(run) == before:
                raise
        else:
            if stamp(run) == before:
                return found
        time.sleep(0.02)
    raise RunError(f"{run} is being changed by another process all the time: try again later.")


def stamp(run: str | Path) -> list[tuple[int, int] | None]:
    """Identifies the state of a run: its files are replaced, never changed."""
    return [_identity(state / name) for state in states(run) for name in (FILE, "edits.json")]


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


@contextmanager
def new_change(run: Path) -> Iterator[Path]:
    """A new folder for the files of the next change; it takes its place when the block ends without an error."""
    make_folder(run / FOLDER)
    partial = run / FOLDER / f".{os.urandom(6).hex()}.partial"
    partial.mkdir()
    try:
        yield partial
        move(partial, run / FOLDER / str(len(states(run))))
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def drop_last(run: Path) -> None:
    """Remove the last change."""
    last, gone = current(run), run / FOLDER / f".{os.urandom(6).hex()}.partial"
    move(last, gone)
    shutil.rmtree(gone, ignore_errors=True)


def clear_changes(run: Path) -> None:
    """Remove what processes that were killed left in RUN/changes. The caller holds the lock."""
    clear_folders(run / FOLDER)


def clear_folders(folder: Path) -> None:
    """Remove the folders in a folder that were being written when their process was killed."""
    if is_folder(folder):
        for path in folder.iterdir():
            if PARTIAL.fullmatch(path.name) and is_folder(path):
                shutil.rmtree(path, ignore_errors=True)


def is_folder(path: Path) -> bool:
    """Whether it is a folder, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
