"""Data: a place goes in, Samples come out.

>>> from c3clust import data
>>> data.load("digits").x.shape
(1797, 1, 8, 8)
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from c3clust.data import sources
from c3clust.data.fingerprint import fingerprint
from c3clust.data.io.batches import batches
from c3clust.data.io.stream import Stream
from c3clust.data.places import Described, find, require, searched
from c3clust.data.samples import ArrayLike, Samples
from c3clust.data.source import Claim, Known, Options
from c3clust.data.sources.table import from_frame, has_gaps_or_words, is_frame
from c3clust.data.sources.texts import are_texts, from_texts
from c3clust.errors import DataError, InputError, suggest

__all__ = [
    "ArrayLike",
    "Described",
    "Samples",
    "are_texts",
    "batches",
    "describe",
    "fingerprint",
    "has_gaps_or_words",
    "is_frame",
    "is_name",
    "load",
    "names",
]

KINDS = ("image", "text", "table")
SUBSET = re.compile(r"(?P<name>.+)-(?P<thousands>[1-9][0-9]*)k")


def names() -> list[str]:
    """The data sets that can be loaded by name.

    >>> "digits" in names()
    True
    """
    return sorted(known.name for _, known in _sets())


def is_name(place: str) -> bool:
    """Whether `load` takes a string for the name of a dataset (or of a subset of one), and not for a path.

    >>> is_name("digits"), is_name("digits-1k"), is_name("./digits")
    (True, True, False)
    """
    subset = SUBSET.fullmatch(place)
    return any({place, subset["name"] if subset else place} & {known.name, *known.aliases} for _, known in _sets())


def describe() -> list[Described]:
    """For each named set: what it is, where it is looked for, where it was found, and how to fetch it."""
    return sorted((_describe(source, known) for source, known in _sets()), key=lambda described: described.name)


def load(
    place: Any,
    *,
    labels: Literal["folders"] | None = None,
    image_size: int | None = None,
    channels: int | None = None,
    max_bad: float = 0.05,
    memory: int | None = None,
    workers: int | None = None,
    cache: str | PathLike[str] | None = None,
    root: str | PathLike[str] | None = None,
    largest: int | None = None,
    embeddings: bool = False,
    kind: str | None = None,
    columns: Sequence[str] = (),
) -> Samples:
    """Turn a place into Samples.

    Parameters
    ----------
    place : str, path, array, list of str, data frame or Samples
        The name of a data set (see `names`); the path of a folder, an archive, a .npy or .npz file, a CSV or Parquet
        table (of images, texts or rows: see table.py), a .txt file (a text a line), a Hugging Face `datasets` folder or
        an official data set; an array or a tensor, texts, a data frame. A bare known name is the
        data set even where a folder has the same name: write ./digits for the folder. A name with a size in thousands,
        such as "mnist-10k", is a fixed subset: the images at the first 10,000 places of
        `numpy.random.default_rng(0).permutation(n)`, in their own order, drawn without a look at the classes.
    labels : "folders" or None
        Take the sub-folders of a folder or archive for true classes, used by metrics only. Named sets, and tables with
        a label column, bring their labels along.
    image_size : int, optional
        The side to which image files are decoded. Default: the longest side found, at most 64 (224 for the ImageNet
        sets). Arrays and the sets that are stored as pixels keep their own size; Tiny-ImageNet is never enlarged.
    channels : 1 or 3, optional
        Of image files. Default: 1 if all pictures are grey, else 3.
    max_bad : float
        The share of unreadable files from which on loading stops. Below, they are listed in `Samples.skipped`.
    memory : int, optional
        Bytes that decoded files may take; what needs more is streamed. Default: half of the memory that is free.
    workers : int, optional
        Processes (or threads, for a stream) that decode. Default: one per core.
    cache : path, optional
        A folder that keeps decoded files for the next time.
    root : path, optional
        The folder or file that holds a named set. Default: $C3CLUST_DATA, ./data, ~/.cache/c3clust and the places of
        Debian's packages are searched.
    largest : int, optional
        The bound of a side that is not given. Default: 64.
    embeddings : bool
        Take an array [n, V, F] for V views of n samples, the first of which is the sample itself, not for pictures.
    kind : "image", "text" or "table", optional
        What a table holds. Default: its cells decide.
    columns : sequence of str
        The columns of a table to cluster; one column of words is clustered as texts. Default: all.
    """
    reading = (labels, image_size, channels, max_bad, memory, workers, Path(cache) if cache else None, largest)
    options = Options(*reading, embeddings, kind, tuple(columns))
    _check(options)
    if isinstance(place, Samples):
        return place
    if isinstance(place, str) and not place:
        raise InputError(f"The place is empty: give a path or one of {', '.join(names())}.")
    if not isinstance(place, str | PathLike):
        return _from_python(place, options)
    named = _load_name(place, options, Path(root) if root else None) if isinstance(place, str) else None
    return _load_path(Path(place), options) if named is None else named


def _from_python(value: Any, options: Options) -> Samples:
    """Texts, a data frame, or an array."""
    from c3clust.data.sources.arrays import from_array

    if are_texts(value):
        return from_texts(value)
    return from_frame(value, options) if is_frame(value) else from_array(value, embeddings=options.embeddings)


def _load_name(name: str, options: Options, root: Path | None) -> Samples | None:
    """A named set or a subset of one; None if no set has this name."""
    subset = SUBSET.fullmatch(name)
    for source, known in _sets():
        called = (known.name, *known.aliases)
        if name in called:
            return _read_known(source, known, options, root)
        if subset and subset["name"] in called:
            whole = _read_known(source, known, options, root)
            return _first_thousands(whole, int(subset["thousands"]), f"{known.name}-{subset['thousands']}k")
    return None


def _read_known(source: Any, known: Known, options: Options, root: Path | None) -> Samples:
    path = Path() if known.built_in else require(known, source, root)
    return source.read(path, options, known.name)


def _load_path(path: Path, options: Options) -> Samples:
    path = path.expanduser()
    if not path.exists():
        raise DataError(f"{path} is neither a path that exists nor a known data set. {suggest(str(path), names())}")
    claims = [(source.claims(path), source) for source in _sources()]
    claim, source = max(claims, key=lambda pair: pair[0])
    if claim < Claim.KIND:
        raise DataError(
            f"{path} is of no kind that can be read: give a folder of images, a .tar, .tar.gz or .zip of images, "
            "a .npy or .npz file, a .txt file of texts, or a .csv, .tsv or .parquet table."
        )
    return source.read(path, options)


def _first_thousands(whole: Samples, thousands: int, name: str) -> Samples:
    """The fixed subset that `load` describes."""
    n = thousands * 1000
    if n > len(whole):
        raise DataError(f"{name} asks for {n:,} images and {whole.place} holds {len(whole):,}. Ask for fewer.")
    chosen = np.sort(np.random.default_rng(0).permutation(len(whole))[:n])
    y = None if whole.y is None else whole.y[chosen]
    x = whole.x.subset(chosen) if isinstance(whole.x, Stream) else whole.x[chosen]
    return replace(whole, x=x, names=[whole.names[i] for i in chosen], y=y)


def _check(options: Options) -> None:
    if options.labels not in (None, "folders"):
        raise InputError(f'labels={options.labels!r} is unknown: use "folders", or leave it out.')
    if options.kind not in (None, *KINDS):
        raise InputError(f"kind={options.kind!r} is unknown. {suggest(str(options.kind), KINDS)}")
    if options.image_size is not None and not 4 <= options.image_size <= 4096:
        raise InputError(f"image_size={options.image_size} is outside [4, 4096] pixels. A usual value is 64 or 224.")
    if options.channels not in (None, 1, 3):
        raise InputError(
            f"channels={options.channels} is neither 1 (grey) nor 3 (colour). Leave it out to let the images decide."
        )
    if not 0 <= options.max_bad <= 1:
        raise InputError(
            f"max_bad={options.max_bad} is outside [0, 1]: it is a share of the files. A usual value is 0.05."
        )
    if options.memory is not None and options.memory < 0:
        raise InputError(f"memory={options.memory} is negative: give a number of bytes, or leave it out.")
    if options.workers is not None and options.workers < 1:
        raise InputError(f"workers={options.workers} is below 1. Leave it out for one per core.")


def _describe(source: Any, known: Known) -> Described:
    looks_in = () if known.built_in else (*map(str, searched()), *known.system)
    found = None if known.built_in else find(known, source)
    there = "built in" if known.built_in else str(found) if found else None
    return Described(known.name, known.what, looks_in, there, known.address, known.layout, known.fetch)


def _sets() -> Iterator[tuple[Any, Known]]:
    """(source, set) for every named set of every source."""
    for source in _sources():
        for known in getattr(source, "SETS", ()):
            yield source, known


def _sources() -> Iterator[Any]:
    """The modules of this folder that are sources: they have `claims` and `read`."""
    for module in pkgutil.iter_modules(sources.__path__):
        source = importlib.import_module(f"{sources.__name__}.{module.name}")
        if hasattr(source, "claims") and hasattr(source, "read"):
            yield source
