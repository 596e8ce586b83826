"""Sort new images into the folders of an export, or into new ones: `c3clust predict RUN new/ --to sorted/`.

An existing file is never overwritten, moved or changed. Copies are complete and on the disk before they get their
names, and index.csv, which lists them with those of the export, is replaced last. An image that is already there under
the same name, byte for byte, is not copied again. new-1.html, new-2.html, ... show what was added each time.
"""

import csv
import filecmp
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c3clust import data
from c3clust.data.io.stream import Stream
from c3clust.errors import InputError
from c3clust.files.atomic import remove, sync, write_atomically
from c3clust.files.text import encoded, from_cell
from c3clust.records.assignments import Assignments
from c3clust.records.edits import Edits
from c3clust.records.tables import csv_text
from c3clust.report.export import (
    INDEX,
    NO_CLUSTER,
    UNSURE,
    FreeNames,
    Original,
    base_name,
    folder_names,
    held,
    whole_file,
    write_image,
)
from c3clust.report.sorted_page import sorted_page

__all__ = ["Sorted", "originals", "sort_into"]

COLUMNS = ["name", "file", "cluster", "cluster_name", "confidence"]
INSIDE = re.compile(r"(?!\.\.?/)[^/\\:\0]+/.+", re.DOTALL)  # FOLDER/FILE


@dataclass
class Sorted:
    """The number of new files in each folder, images that were there already, those not read, and the page."""

    to: Path
    folders: dict[str, int] = field(default_factory=dict)
    known: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    page: Path | None = None

    @property
    def n(self) -> int:
        return sum(self.folders.values())


def originals(source: str | Sequence[str], names: Sequence[str], outside: bool = False) -> list[Original]:
    """The file, or the part of an archive, of each image of a source."""
    if not isinstance(source, str):
        return [Path(name) for name in names]
    listed = data.load_listed(source, "image", outside)
    if not isinstance(listed.x, Stream):
        return [None] * len(names)
    stream = listed.x
    spans = dict(zip(listed.names, stream.spans, strict=True))
    return [whole_file(spans[name], stream) or spans[name] for name in names]


def sort_into(
    to: Path,
    found: Assignments,
    edits: Edits,
    files: Sequence[Original],
    x: Any = None,
    *,
    min_confidence: float = 0.5,
    link: bool = False,
) -> Sorted:
    """Copy (or link to) images into the folders of their clusters, those below `min_confidence` into unsure/.

    files: the original of each; None for one in an array, x [n, C, H, W], which is written as PNG.
    """
    if not 0 <= min_confidence <= 1:
        raise InputError(f"min_confidence={min_confidence} is outside [0, 1]: it is compared with a probability.")
    done = Sorted(to)
    with held(to) as present:
        _add(done, _read_index(to, present), found, edits, files, x, min_confidence, link)
    return done


def _add(
    done: Sorted,
    rows: Sequence[Mapping[str, str]],
    found: Assignments,
    edits: Edits,
    files: Sequence[Original],
    x: Any,
    min_confidence: float,
    link: bool,
) -> None:
    """rows: of the index so far."""
    to, folders, taken = done.to, _folders(edits, rows), FreeNames(done.to)
    there: dict[str, list[Path]] = {}
    for row in rows:
        there.setdefault(row["name"], []).append(to / row["file"])
    partial = to / f".{os.urandom(6).hex()}.partial"
    placed: list[tuple[Path, Path]] = []
    new: list[dict[str, Any]] = []
    try:
        partial.mkdir()
        for i, name in enumerate(found.names):
            cluster, sure = int(found.clusters[i]), bool(found.confidence[i] >= min_confidence)
            folder = folders[cluster] if sure or cluster < 0 else UNSURE
            copy = partial / str(i)
            if not write_image(files[i], x, i, copy, link):
                done.missing.append(name)
                continue
            if any(_same(path, copy) for path in there.get(name, [])):
                done.known.append(name)
                continue
            file = taken.free(folder, base_name(name, files[i]))
            placed.append((copy, to / folder / file))
            done.folders[folder] = done.folders.get(folder, 0) + 1
            named = "no cluster" if cluster < 0 else edits.name(cluster)
            new.append(dict(zip(COLUMNS, (name, f"{folder}/{file}", cluster, named, found.confidence[i]), strict=True)))
        with _taken_back(placed):
            _put(placed)
            if new or not rows:
                every = (row.values() for row in [*rows, *new])
                write_atomically(to / INDEX, encoded(csv_text(COLUMNS, every, end="\n")))
        if new:
            done.page = _free_page(to)
            write_atomically(done.page, encoded(sorted_page(new)))
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    sync(to)


def _read_index(to: Path, present: Sequence[Path]) -> list[dict[str, str]]:
    """The rows of the index of an earlier export; none of a folder that is new or empty. present: what is in it."""
    path = to / INDEX
    if not path.exists():
        if present:
            raise InputError(f"{to} exists and has no {INDEX}: it is no export of c3clust. Give a new folder, or one.")
        return []
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        rows = [{key: from_cell(value or "") for key, value in row.items() if key} for row in csv.DictReader(file)]
    if any(set(row) != set(COLUMNS) for row in rows):
        raise InputError(f"{path} is not the index of an export: it needs the columns {', '.join(COLUMNS)}.")
    for row in rows:
        if not INSIDE.fullmatch(row["file"]):
            raise InputError(
                f"{path} names {row['file'][:200]!r}, which is not in one of its folders: repair this row."
            )
    return [{name: row[name] for name in COLUMNS} for row in rows]


def _folders(edits: Edits, rows: Sequence[Mapping[str, str]]) -> dict[int, str]:
    """The folder of each cluster: the one that the export has for its name, else for its number, else a new one."""
    by_name: dict[str, Counter[str]] = {}
    for row in rows:
        folder = row["file"].partition("/")[0]
        if folder not in (UNSURE, NO_CLUSTER):
            by_name.setdefault(row["cluster_name"], Counter())[folder] += 1
    folders = folder_names(edits)
    for cluster in edits.live:
        if edits.name(cluster) in by_name:
            folders[cluster] = by_name[edits.name(cluster)].most_common(1)[0][0]
    return folders


@contextmanager
def _taken_back(placed: Sequence[tuple[Path, Path]]) -> Iterator[None]:
    """If the index cannot be written, what it would have listed is removed again."""
    folders = {target.parent for _, target in placed if not target.parent.exists()}
    try:
        yield
    except BaseException:
        for copy, target in placed:
            if not os.path.lexists(copy):  # it has its name
                remove(target)
        for folder in folders:
            with suppress(OSError):
                folder.rmdir()
        raise


def _put(placed: Sequence[tuple[Path, Path]]) -> None:
    """Give the copies their names. A file that somebody else made meanwhile is not overwritten."""
    if hasattr(os, "sync"):  # one flush of all files takes less time than one of each
        os.sync()
    for copy, target in placed:
        target.parent.mkdir(exist_ok=True)
        if target.exists() or target.is_symlink():
            raise InputError(f"{target} was made meanwhile: nothing is overwritten. Start again.")
        os.rename(copy, target)
    for folder in {target.parent for _, target in placed}:
        sync(folder)


def _same(there: Path, copy: Path) -> bool:
    try:
        return filecmp.cmp(there, copy, shallow=False)
    except OSError:
        return False


def _free_page(to: Path) -> Path:
    return next(path for i in range(1, 10**6) if not (path := to / f"new-{i}.html").exists())
