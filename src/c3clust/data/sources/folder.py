"""A folder of images, with sub-folders of any depth and any mix of formats."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from c3clust.data.io.decode import extensions
from c3clust.data.io.not_read import LeftOut
from c3clust.data.io.pictures import EncodedFiles, to_samples
from c3clust.data.io.spans import Span
from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options
from c3clust.errors import DataError, InputError


def claims(path: Path) -> Claim:
    return Claim.KIND if path.is_dir() else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """All images below `path`, sorted by their path; sub-folders are used as labels only with `labels="folders"`."""
    left = LeftOut()
    files = EncodedFiles.of(list_files(path, left), str(path), left=left.sentences())
    if not files.spans:
        others = f" It has {'; '.join(left.sentences())}." if left.sentences() else ""
        raise DataError(
            f"{path} contains no images. Files that end in {', '.join(extensions())} are read, at any depth.{others}"
        )
    return to_samples(with_labels(files, options), options)


def with_labels(files: EncodedFiles, options: Options) -> EncodedFiles:
    """The files with their sub-folders as labels, if they are requested."""
    if options.labels != "folders" or not files.names:
        return files
    y, classes = folder_labels(files.names, files.place)
    return replace(files, y=y, classes=classes)


def list_files(path: Path, left: LeftOut | None = None) -> list[tuple[str, Span]]:
    """Name relative to `path` and span of each image below it, sorted by name; `left` counts what else there is."""
    base = path.absolute()  # worker processes may have started in another folder
    return [(name, Span(str(base / name), size)) for name, size in sorted(_walk(path, left or LeftOut()))]


def has_images(path: Path) -> bool:
    """Whether there is any image below `path`; the search stops at the first."""
    return next(_walk(path, LeftOut()), None) is not None


def folder_labels(names: Sequence[str], place: str) -> tuple[np.ndarray, list[str]]:
    """The class of each file: the first folder below the deepest common folder of all files.

    >>> folder_labels(["train/cat/1.png", "train/cat/old/2.png", "train/dog/3.png"], "pets")
    (array([0, 0, 1]), ['cat', 'dog'])
    """
    folders = [PurePosixPath(name).parent.parts for name in names]
    shared = len(os.path.commonprefix(folders))  # noqa: RUF071, of tuples: a number of leading parts
    labels = [parts[shared] if len(parts) > shared else "." for parts in folders]
    classes = sorted(set(labels))
    if len(classes) < 2:
        raise InputError(f'{place} has no class sub-folders, so labels="folders" has nothing to read. Omit labels.')
    return np.searchsorted(classes, labels).astype(np.int64), classes


def _walk(path: Path, left: LeftOut) -> Iterator[tuple[str, int]]:
    """(name, size) of each image file. Linked folders are visited once, so that cyclic links end."""
    entered: set[str] = set()
    for folder, below, files in os.walk(path, followlinks=True, onerror=_refuse):
        real = os.path.realpath(folder)
        if real in entered:
            below.clear()
            continue
        entered.add(real)
        below.sort()
        for file in files:
            full = Path(folder, file)
            name = full.relative_to(path).as_posix()
            if not left.wants(name):
                continue
            if full.is_file():
                yield name, full.stat().st_size
            elif full.is_symlink():  # a dangling link: reported as unreadable later
                yield name, 0


def _refuse(error: OSError) -> None:
    raise DataError(f"{error.filename} cannot be listed ({error.strerror}). Check the folder's permissions.")
