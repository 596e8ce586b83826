"""Copy the images of a run into one folder per cluster, those below a confidence into unsure/, outliers into outliers/.

Image files are copied unchanged, also those inside archives and tables; images of arrays are written as PNG.
Originals are read, never moved or changed; only files that the reader of the source lists as images are copied. The
target must be new or empty and each file is created, so nothing is overwritten. An export that fails leaves nothing.
Names that come from file names, clusters or archives cannot point outside of the target.
"""

import csv
import io
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image

from c3clust import data
from c3clust.data.io.decode import extensions, formats
from c3clust.data.io.spans import Span, Unreadable, open_regular, read_span
from c3clust.data.io.stream import Stream
from c3clust.errors import InputError
from c3clust.files.atomic import sync
from c3clust.files.lock import MOMENT, NAME, locked
from c3clust.files.text import to_cell
from c3clust.records.assignments import Assignments
from c3clust.records.changes import clear_folders
from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.records.state import State
from c3clust.report.sprites import as_pictures

__all__ = [
    "INDEX", "NO_CLUSTER", "UNSURE", "Exported", "FreeNames", "Original", "base_name", "export", "export_run",
    "folder_names", "held", "safe_name", "whole_file", "write_image",
]  # fmt: skip

UNSURE = "unsure"
NO_CLUSTER = "outliers"
INDEX = "index.csv"
LONGEST = 120  # bytes of a name
ROWS = {"text": "texts", "table": "rows"}  # kinds of samples that have no image
SUFFIX = r"\.(jpe?g|webp|bmp|gif|tiff?|ppm)$"
Original = Path | Span | None
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))}


@dataclass
class Exported:
    """The number of files in each folder, and the names of originals that could not be read."""

    to: Path
    folders: dict[str, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        return sum(self.folders.values())


def export_run(
    run: Path,
    to: Path,
    source: str | None = None,
    *,
    min_confidence: float = 0.0,
    link: bool = False,
    outside: bool = False,
) -> Exported:
    """`export` with the images of the run's source, or of `source` if they have moved.

    outside: a list of images may name files outside of its folder.
    """
    record = RunRecord.read(run / "record.json")
    description = record.data
    if source is None and not record.is_own():
        raise InputError(
            f"{run} was not made by you on this computer: give the location of its images with --source "
            f"to read them. It names {description.get('place', '')[:200]!r}."
        )
    if (kind := description.get("kind")) in ROWS:
        raise InputError(f"{run} is of {ROWS[kind]}, not images: its clusters are in {run / 'assignments.csv'}.")
    place = source or description.get("place", "")
    if source is None and not data.is_name(place) and not Path(place).exists():
        raise InputError(f"{place!r} had the images of this run and does not exist: give their location with --source.")
    names = Assignments.read(run).names
    samples = data.load_listed(place, "image" if kind == "image" else None, outside)
    if not isinstance(samples.x, Stream):
        if list(samples.names) != list(names):
            raise InputError(_elsewhere(place))
        return export(run, to, x=samples.x, min_confidence=min_confidence)
    spans = dict(zip(samples.names, samples.x.spans, strict=True))  # with those that the run could not read
    if any(name not in spans for name in names):
        raise InputError(_elsewhere(place))
    if refused := next((spans[name].refused for name in names if spans[name].refused), None):
        raise InputError(f"{place!r} has images that cannot be exported: {refused}.")
    files: list[Original] = [whole_file(spans[name], samples.x) or spans[name] for name in names]
    return export(run, to, files=files, min_confidence=min_confidence, link=link)


def _elsewhere(place: str) -> str:
    return f"{place!r} does not contain the images of this run: give their location with --source."


def whole_file(span: Span, stream: Stream) -> Path | None:
    """The path of an image file; None if the image is part of an archive or a table."""
    temporary = stream.spool is not None and span.path == stream.spool.path
    own = not (temporary or span.refused or span.offset or span.chunk or span.stored >= 0 or span.deflated)
    return Path(span.path) if own else None


def export(
    run_dir: Path,
    to: Path,
    *,
    files: Sequence[Original] | None = None,
    x: Any = None,
    min_confidence: float = 0.0,
    link: bool = False,
) -> Exported:
    """Copy (or link to) the images of a run, in the order of its assignments.csv, into folders of `to`.

    files: the original of each image, a path or a span of an archive; None for one in an array, which is written as PNG
    from x: [n, C, H, W], one at a time. `to`/index.csv lists the file and the cluster of each image.
    """
    now = State.read(run_dir)
    names, clusters, confidence = now.assignments.names, now.assignments.clusters, now.assignments.confidence
    cluster_names = {i: now.edits.name(i) for i in now.edits.live} | {-1: "no cluster"}
    files, folders = _checked(files, x, len(names), min_confidence), folder_names(now.edits)
    exported, taken = Exported(Path(to)), FreeNames()
    with _all_or_nothing(Path(to)) as here, _index(here) as index:
        for i, name in enumerate(names):
            unsure, cluster = min_confidence > 0 and not confidence[i] >= min_confidence, int(clusters[i])
            folder = UNSURE if unsure else folders[cluster]
            target = here / folder / taken.free(folder, base_name(name, files[i]))
            target.parent.mkdir(exist_ok=True)
            if not write_image(files[i], x, i, target, link):
                exported.missing.append(name)
                continue
            exported.folders[folder] = exported.folders.get(folder, 0) + 1
            index((name, f"{folder}/{target.name}", cluster, cluster_names[cluster], confidence[i]))
    return exported


@contextmanager
def _index(folder: Path) -> Iterator[Callable[[Iterable[Any]], object]]:
    """Opens index.csv; gives a function that adds a row."""
    with open(folder / INDEX, "x", encoding="utf-8", errors="surrogateescape", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "file", "cluster", "cluster_name", "confidence"])
        yield lambda row: rows.writerow([to_cell(cell) for cell in row])


def folder_names(edits: Edits) -> dict[int, str]:
    """The folder of each cluster in use: its number, and its name if it has one; of -1, samples in no cluster."""
    digits = len(str(max(edits.live, default=0)))
    named = {i: f"-{safe_name(edits.names[i])}" if i in edits.names else "" for i in edits.live}
    return {i: f"{i:0{digits}d}{name}" for i, name in named.items()} | {-1: NO_CLUSTER}


def safe_name(name: str) -> str:
    """A readable name that is a valid file name on every system.

    >>> safe_name("../a<b>.png"), safe_name("CON.txt"), safe_name("...")
    ('.._a_b_.png', '_CON.txt', '_')
    """
    clean = re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]', "_", _writable(name)).strip(" ").rstrip(". ") or "_"
    stem, dot, suffix = clean.rpartition(".")
    if len(clean.encode("utf-8", "surrogateescape")) > LONGEST:
        keep = dot + suffix if dot and len(suffix) <= 10 else ""
        clean = (_cut(stem if keep else clean, LONGEST - len(keep)) + keep).rstrip(". ")
    return f"_{clean}" if clean.split(".")[0].lower() in _RESERVED or clean in (".", "..") else clean


def _writable(name: str) -> str:
    """The name, with _ for letters that the encoding of file names does not have (it need not be UTF-8)."""
    while True:
        try:
            os.fsencode(name)
            return name
        except UnicodeEncodeError as error:
            name = name[: error.start] + "_" * (error.end - error.start) + name[error.end :]


def _cut(text: str, most: int) -> str:
    """The longest prefix of a text that fits into this many bytes."""
    while len(text.encode("utf-8", "surrogateescape")) > most:
        text = text[:-1]
    return text


def _checked(files: Sequence[Original] | None, x: Any, n: int, min_confidence: float) -> Sequence[Original]:
    if not 0 <= min_confidence <= 1:
        raise InputError(f"min_confidence={min_confidence} is outside [0, 1]: it is compared with a probability.")
    files = [None] * n if files is None else files
    for what, length in (("files", len(files)), ("images", n if x is None else len(x))):
        if length != n:
            raise InputError(f"There are {length} {what} for a run of {n} images: give the source that was clustered.")
    if x is not None and len(x.shape) != 4 and None in files:
        raise InputError("The run clustered feature vectors: there are no images to export.")
    if x is None and None in files:
        raise InputError("Some images have no file of their own: give the source that was clustered.")
    return files


@contextmanager
def held(to: Path) -> Iterator[list[Path]]:
    """Hold the lock of a folder that images are copied into, made if there is none; gives what is in it already."""
    made = not to.exists()
    try:
        to.mkdir(parents=True, exist_ok=True)
        with locked(to, MOMENT, required=False):
            clear_folders(to)
            yield [path for path in to.iterdir() if path.name != NAME]
    except BaseException as error:
        if made:
            with suppress(OSError):
                to.rmdir()
        if isinstance(error, OSError):
            raise InputError(f"{to} cannot be written: {error.strerror or error}. Give another folder.") from None
        raise


@contextmanager
def _all_or_nothing(to: Path) -> Iterator[Path]:
    """A folder in `to`, whose files are moved to `to` when they are complete and on the disk; none if that fails."""
    with held(to) as there:
        if there:
            raise InputError(f"{to} is not empty: an export never overwrites files. Give a new folder.")
        partial = to / f".{os.urandom(6).hex()}.partial"
        try:
            partial.mkdir()
            yield partial
            if hasattr(os, "sync"):  # one flush of all files takes less time than one of each
                os.sync()
            for path in sorted(partial.iterdir(), key=lambda path: path.name == INDEX):  # the index is the last
                os.rename(path, to / path.name)
            partial.rmdir()
            sync(to)
        except BaseException as error:
            shutil.rmtree(partial, ignore_errors=True)
            if isinstance(error, OSError):
                why = error.strerror or error
                raise InputError(f"{to} cannot be written: {why}. Nothing was exported: give another folder.") from None
            raise


def base_name(name: str, original: Original) -> str:
    """The name of the copy of an image."""
    return safe_name(_base(name, original))


def _base(name: str, original: Original) -> str:
    if isinstance(original, Path):
        return original.name
    base = PurePosixPath(name.replace("\\", "/")).name or "image"
    if original is not None:
        return base if base.lower().endswith(extensions()) else base + _extension(original)
    return base if base.lower().endswith(".png") else re.sub(SUFFIX, "", base, flags=re.I) + ".png"


def _extension(span: Span) -> str:
    """The extension of an image by its content; none if it cannot be read."""
    try:
        return f".{Image.open(io.BytesIO(read_span(span)), formats=formats()).format}".lower()
    except Exception:  # Pillow raises almost anything on hostile bytes
        return ""


class FreeNames:
    """The names of files in the folders of an export, which may exist already. The case of letters is ignored."""

    def __init__(self, to: Path | None = None) -> None:
        self.to, self.taken, self.count, self.listed = to, set[str](), dict[str, int](), set[str]()

    def _list(self, folder: str) -> None:
        if self.to is not None and folder not in self.listed and (self.to / folder).is_dir():
            self.taken |= {f"{folder}/{path.name}".casefold() for path in (self.to / folder).iterdir()}
        self.listed.add(folder)

    def free(self, folder: str, name: str) -> str:
        """The name, with a number appended if the folder contains it already."""
        self._list(folder)
        stem, suffix = os.path.splitext(name)
        key, candidate = f"{folder}/{name}".casefold(), name
        i = self.count.get(key, 1)
        while f"{folder}/{candidate}".casefold() in self.taken:
            i += 1
            candidate = f"{stem}-{i}{suffix}"
        self.count[key] = i
        self.taken.add(f"{folder}/{candidate}".casefold())
        return candidate


def write_image(original: Original, x: Any, i: int, target: Path, link: bool) -> bool:
    """Create the target; False if the original cannot be read."""
    if isinstance(original, Span):
        try:
            content = read_span(original)
        except Unreadable:
            return False
        with open(target, "xb") as out:
            out.write(content)
        return True
    if original is None:
        picture = as_pictures(x[np.array([i])])[0]
        with open(target, "xb") as out:
            Image.fromarray(picture).save(out, "png")
        return True
    if not original.is_file():
        return False
    if link and _link(original, target):
        return True
    try:
        source = open_regular(original)
    except OSError:
        return False
    with source, open(target, "xb") as out:
        shutil.copyfileobj(source, out)
    shutil.copystat(original, target)
    return True


def _link(original: Path, target: Path) -> bool:
    """Create a symbolic link; False if the system does not support them."""
    try:
        target.symlink_to(original.resolve())
    except (OSError, NotImplementedError):
        return False
    return True
