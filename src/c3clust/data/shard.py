"""Write images as tar shards in the layout of WebDataset, which `sources/shards.py` reads."""

import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import numpy as np

from c3clust.data.io.scratch import Scratch
from c3clust.data.io.spans import Unreadable, read_span
from c3clust.data.io.stream import Stream, in_blocks
from c3clust.data.loading import load_listed
from c3clust.data.sources.folder import folder_labels
from c3clust.errors import DataError, InputError
from c3clust.files.atomic import move

__all__ = ["write_shards"]

MEGABYTES = 256  # of a shard, about


def write_shards(
    place: str, out: str | Path, *, labels: str | None = None, megabytes: int = MEGABYTES, seed: int = 0
) -> tuple[list[Path], list[tuple[str, str]]]:
    """Copy the images of a place into .tar files in a new folder; the files, and (name, reason) of unreadable ones.

    labels: "folders" adds the class of each image, by its sub-folder, for metrics. Images are copied as they are,
    in random order, since training reads a shard sequentially: in the order of a folder, a batch would have one class.
    """
    if megabytes < 1:
        raise InputError(f"megabytes={megabytes} is below 1: it is the size of a shard. A usual value is {MEGABYTES}.")
    listed, out = load_listed(place), Path(out)
    if not isinstance(listed.x, Stream):
        raise DataError(f"{place} contains no image files to write as shards.")
    classes = folder_labels(listed.names, place) if labels == "folders" else None
    if out.exists() and any(out.iterdir()):
        raise DataError(f"{out} is not empty: nothing is overwritten. Choose another folder with -o.")
    out.mkdir(parents=True, exist_ok=True)
    order = _order(listed.x, np.random.default_rng(seed))
    written: list[Path] = []
    skipped: list[tuple[str, str]] = []
    with Scratch(".writing-", out) as writing:
        members = _members(listed.x, listed.names, order, classes, skipped)
        group = next(members, None)
        while group is not None:
            file, size = writing / f"{len(written):06}.tar", 0
            with tarfile.open(file, "w") as archive:
                while group is not None and (size == 0 or size < megabytes * 2**20):
                    size += _add(archive, group)
                    group = next(members, None)
            move(file, out / file.name)
            written.append(out / file.name)
    return written, skipped


def _order(x: Stream, random: np.random.Generator) -> np.ndarray:
    """All positions in random order; row groups of Parquet in random order, shuffled within blocks of them."""
    if x.together is None:
        return random.permutation(len(x))
    groups = x.shards
    groups = [groups[i] for i in random.permutation(len(groups))]
    return in_blocks(np.concatenate(groups), x.together, random)


def _members(
    x: Stream,
    names: Sequence[str],
    order: np.ndarray,
    classes: tuple[np.ndarray, list[str]] | None,
    skipped: list[tuple[str, str]],
) -> Iterator[dict[str, bytes]]:
    """The files of each sample, by name."""
    used: set[str] = set()
    for i in order:
        try:
            content = read_span(x.spans[i])
        except Unreadable as error:
            skipped.append((names[i], str(error)))
            continue
        path = PurePosixPath(names[i].partition("#")[0])
        key = free = str(path.with_suffix("")).replace(".", "_")
        while free in used:
            free = f"{key}-{len(used)}"
        used.add(free)
        about: dict[str, str] = {"name": names[i]}
        files = {f"{free}{path.suffix.lower()}": content}
        if classes is not None:
            number = int(classes[0][i])
            files[f"{free}.cls"], about["label"] = str(number).encode(), classes[1][number]
        yield files | {f"{free}.json": json.dumps(about).encode()}


def _add(archive: tarfile.TarFile, files: dict[str, bytes]) -> int:
    """Add the files of one sample; their size."""
    for name, content in files.items():
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return sum(map(len, files.values()))
