"""Tar shards in the layout of WebDataset: a folder of .tar files, or a URL that fsspec reads.

A sample is the files of a shard that share their path up to the first dot of the name: an image, perhaps `.cls` with
the number of its class, and `.json` with `label`, the name of that class. Other files are left out. Samples keep the
order of the shards and of the files within them, so that they are read sequentially. `.cls` is used for metrics only.

    000000.tar    cats/1.jpg  cats/1.cls  cats/1.json  dogs/7.jpg ...

Nothing is extracted: each image is read in place, after one pass over the headers of the shard. Of several
processes each makes that pass over some of the shards. Shards are not compressed.
"""

import json
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from c3clust.data.io import remote
from c3clust.data.io.decode import is_image_name
from c3clust.data.io.pictures import EncodedFiles, sample_note, stratified, to_samples
from c3clust.data.io.spans import Span, open_regular
from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options
from c3clust.data.sources.archive import open_tar, refused_member, tar_members
from c3clust.data.sources.folder import has_images
from c3clust.errors import DataError, first_line
from c3clust.files.limits import limit

__all__ = ["claims", "read", "read_url", "tar_files"]

SMALL = 64  # bytes of a .cls file


def claims(path: Path) -> Claim:
    """Whether a folder contains .tar files and no images."""
    return Claim.LAYOUT if path.is_dir() and tar_files(path) and not has_images(path) else Claim.NO


def tar_files(path: Path) -> list[Path]:
    """The shards of a folder, in order."""
    return sorted(each for each in path.glob("*.tar") if each.is_file())


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """The images of all shards of a folder."""
    return _read([str(each.absolute()) for each in tar_files(path)], str(path), options)


def read_url(url: str, options: Options) -> Samples:
    """The images of the shards that a URL names."""
    found = remote.list_tars(url)
    if not found:
        raise DataError(f"{url} contains no .tar file: give a folder of shards, one shard, or a pattern with *.")
    return _read(found, url, options)


@dataclass
class _Shard:
    """What a shard holds, by the order of the images in it."""

    names: list[str] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  # of the classes, by key
    labels: dict[str, str] = field(default_factory=dict)  # names of the classes, by key


def _read(shards: list[str], place: str, options: Options) -> Samples:
    if options.sample is None:
        listed = _map(_list, shards, options)
        return _samples(listed, place, options)
    counts = _map(_count, shards, options)  # a first pass over the headers, so that only the drawn images are held
    n, ends = sum(counts), np.cumsum([0, *counts])
    chosen = stratified(n, options.sample)
    rows = [chosen[(chosen >= a) & (chosen < b)] - a for a, b in pairwise(ends)]
    listed = _map(_list_some, list(zip(shards, rows, strict=True)), options)
    samples = _samples(listed, place, options)
    return samples if len(chosen) == n else replace(samples, notes=[*samples.notes, sample_note(len(chosen), n)])


def _map(function: Callable[[Any], Any], items: Sequence[Any], options: Options) -> list[Any]:
    """function(item) of all; of several processes, each computes some."""
    if not options.shared:
        return [function(item) for item in items]
    from c3clust import dist  # which needs torch

    return dist.shared_map(function, items)


def _count(shard: str) -> int:
    return len(_list(shard).names)


def _list_some(pair: tuple[str, np.ndarray]) -> _Shard:
    """The images at some positions of a shard, and all classes."""
    whole, rows = _list(pair[0]), pair[1]
    names, spans = [whole.names[i] for i in rows], [whole.spans[i] for i in rows]
    kept = {_key(name) for name in names}
    numbers = {key: number for key, number in whole.numbers.items() if key in kept}
    return _Shard(names, spans, numbers, {key: label for key, label in whole.labels.items() if key in kept})


def _samples(listed: list[_Shard], place: str, options: Options) -> Samples:
    pairs = [pair for shard in listed for pair in zip(shard.names, shard.spans, strict=True)]
    y, classes = _classes(listed)
    return to_samples(EncodedFiles.of(pairs, place, y=y, classes=classes), options)


def _list(shard: str) -> _Shard:
    """The images of one shard, and their classes."""
    found = _Shard()
    try:
        with _open(shard) as file, open_tar(file, "r:") as archive:
            size = remote.size_of(shard) if remote.is_url(shard) else Path(shard).stat().st_size
            for member in tar_members(archive):
                if member.isreg() or is_image_name(member.name):
                    _add(found, member, archive, shard, size)
    except DataError:
        raise
    except Exception as error:  # tarfile and the file systems raise almost anything
        raise DataError(f"{shard} is damaged or not a plain .tar ({first_line(error)}). Make it again.") from error
    return found


def _open(shard: str) -> Any:
    return remote.open_url(shard) if remote.is_url(shard) else open_regular(shard)


def _add(found: _Shard, member: tarfile.TarInfo, archive: tarfile.TarFile, shard: str, size: int) -> None:
    name = member.name.removeprefix("./")
    ending = PurePosixPath(name).suffix.lower()
    if is_image_name(name):
        refused = refused_member(name, member) or ("" if member.offset_data + member.size <= size else "cut off")
        found.names.append(name)
        found.spans.append(Span(shard, member.size, member.offset_data, refused=refused))
    elif ending == ".cls" and member.size <= SMALL:
        text = _content(archive, member).decode("ascii", "replace").strip()
        if not text.isdecimal() or int(text) >= 2**31:
            raise DataError(f"{shard} has {name} with {text!r}, which is not a class number. Write it again.")
        found.numbers[_key(name)] = int(text)
    elif ending == ".json" and member.size <= limit("C3CLUST_MAX_JSON"):
        about = json.loads(_content(archive, member))
        if isinstance(about, dict) and isinstance(about.get("label"), str):
            found.labels[_key(name)] = about["label"]


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    return b"" if stream is None else stream.read()


def _key(name: str) -> str:
    """What the files of a sample share.

    >>> _key("a.b/cat.seg.png")
    'a.b/cat'
    """
    folder, _, file = name.rpartition("/")
    return f"{folder}/{file.partition('.')[0]}" if folder else file.partition(".")[0]


def _classes(listed: list[_Shard]) -> tuple[np.ndarray | None, list[str] | None]:
    """The class of each image and the names of the classes, where every image has one."""
    found = [shard.numbers.get(_key(name)) for shard in listed for name in shard.names]
    if not found or any(number is None for number in found):
        return None, None
    known, y = np.unique(np.array(found, dtype=np.int64), return_inverse=True)
    pairs = [(shard.numbers.get(key), label) for shard in listed for key, label in shard.labels.items()]
    named = dict(pairs)
    return y, [named.get(int(number), str(number)) for number in known]
