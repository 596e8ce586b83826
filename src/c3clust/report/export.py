"""The images of a run into one folder a cluster, the doubtful ones into unsure/.

Originals are read, never moved or changed. The target must be new or empty and each file is created, so that nothing
is ever overwritten. Names that come from file names, clusters or archives cannot lead out of the target.
"""

import csv
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image

from c3clust.errors import InputError
from c3clust.records.assignments import Assignments
from c3clust.records.edits import Edits
from c3clust.report.sprites import as_pictures

__all__ = ["Exported", "export", "safe_name"]

UNSURE = "unsure"
INDEX = "index.csv"
LONGEST = 120  # characters of a name
_RESERVED = {"con", "prn", "aux", "nul", *(f"{port}{i}" for port in ("com", "lpt") for i in range(10))}


@dataclass
class Exported:
    """What was written: files in each folder, and the names of originals that could not be read."""

    to: Path
    folders: dict[str, int] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        return sum(self.folders.values())


def export(
    run_dir: Path,
    to: Path,
    *,
    files: Sequence[Path | None] | None = None,
    x: Any = None,
    min_confidence: float = 0.0,
    link: bool = False,
) -> Exported:
    """Copy (or link to) the images of a run, in the order of its assignments.csv, into folders of `to`.

    files: the original of each image, None where it is inside an archive or an array; those are written as PNG from
    x: [n, C, H, W], which is read one at a time. `to`/index.csv tells which image went where.
    """
    found = Assignments.read(run_dir)
    names, confidence = found.names, found.confidence
    edited, called = Edits.read(run_dir).apply(found.clusters)
    files = _checked(files, x, len(names), min_confidence)
    to = _fresh(to)
    digits = len(str(max(called, default=0)))
    folder = {
        i: f"{i:0{digits}d}" + (f"-{safe_name(name)}" if name != f"cluster {i}" else "") for i, name in called.items()
    }
    done, taken = Exported(to), set[str]()
    with open(to / INDEX, "x", encoding="utf-8", errors="surrogateescape", newline="") as file:
        index = csv.writer(file)
        index.writerow(["name", "file", "cluster", "cluster_name", "confidence"])
        for i, name in enumerate(names):
            doubtful = min_confidence > 0 and not confidence[i] >= min_confidence
            where = UNSURE if doubtful else folder[int(edited[i])]
            original = files[i]
            target = to / where / _free(where, safe_name(_base(name, original)), taken)
            target.parent.mkdir(exist_ok=True)
            if not _put(original, x, i, target, link):
                done.missing.append(name)
                continue
            done.folders[where] = done.folders.get(where, 0) + 1
            index.writerow([name, f"{where}/{target.name}", int(edited[i]), called[int(edited[i])], confidence[i]])
    return done


def safe_name(name: str) -> str:
    """A name that is one file name on every system, and stays readable.

    >>> safe_name("../a<b>.png"), safe_name("CON.txt"), safe_name("...")
    ('.._a_b_.png', '_CON.txt', '_')
    """
    clean = re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]', "_", name).strip(" ").rstrip(". ") or "_"
    stem, dot, suffix = clean.rpartition(".")
    if len(clean.encode("utf-8", "surrogateescape")) > LONGEST:
        keep = dot + suffix if dot and len(suffix) <= 10 else ""
        clean = _cut(stem if keep else clean, LONGEST - len(keep)) + keep
    return f"_{clean}" if clean.split(".")[0].lower() in _RESERVED or clean in (".", "..") else clean


def _cut(text: str, most: int) -> str:
    """The longest start of a text within so many bytes."""
    while len(text.encode("utf-8", "surrogateescape")) > most:
        text = text[:-1]
    return text


def _checked(files: Sequence[Path | None] | None, x: Any, n: int, min_confidence: float) -> Sequence[Path | None]:
    if not 0 <= min_confidence <= 1:
        raise InputError(f"min_confidence={min_confidence} is outside [0, 1]: it is compared with a probability.")
    files = [None] * n if files is None else files
    for what, length in (("files", len(files)), ("images", n if x is None else len(x))):
        if length != n:
            raise InputError(f"There are {length} {what} for a run of {n} images: give the source that was clustered.")
    if x is not None and len(x.shape) != 4 and None in files:
        raise InputError("The run clustered feature vectors: there is no picture to export.")
    if x is None and None in files:
        raise InputError("Some images have no file of their own: give the source that was clustered.")
    return files


def _fresh(to: Path) -> Path:
    to = Path(to)
    try:
        to.mkdir(parents=True, exist_ok=True)
        if any(to.iterdir()):
            raise InputError(f"{to} is not empty: an export never overwrites. Name a new folder.")
    except OSError as error:
        raise InputError(f"{to} cannot be written: {error.strerror}. Name another folder.") from None
    return to


def _base(name: str, original: Path | None) -> str:
    if original is not None:
        return Path(original).name
    base = PurePosixPath(name.replace("\\", "/")).name or "image"
    return (
        base
        if base.lower().endswith(".png")
        else re.sub(r"\.(jpe?g|webp|bmp|gif|tiff?|ppm)$", "", base, flags=re.I) + ".png"
    )


def _free(folder: str, name: str, taken: set[str]) -> str:
    """The name, or the name with a number if the folder has it, upper and lower case being the same."""
    stem, suffix = os.path.splitext(name)
    candidate, i = name, 1
    while f"{folder}/{candidate}".casefold() in taken:
        i += 1
        candidate = f"{stem}-{i}{suffix}"
    taken.add(f"{folder}/{candidate}".casefold())
    return candidate


def _put(original: Path | None, x: Any, i: int, target: Path, link: bool) -> bool:
    """Create target; False if the original cannot be read."""
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
        with open(original, "rb") as source, open(target, "xb") as out:
            shutil.copyfileobj(source, out)
    except PermissionError:
        return False
    shutil.copystat(original, target)
    return True


def _link(original: Path, target: Path) -> bool:
    """A symbolic link; False where the system has none."""
    try:
        target.symlink_to(original.resolve())
    except (OSError, NotImplementedError):
        return False
    return True
