"""`load`, `names` and `describe`: the datasets of all sources."""

import importlib
import pkgutil
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import checks
from c3clust.data import sources
from c3clust.data.io.originals import Originals
from c3clust.data.io.pictures import drawn, sample_note, stratified
from c3clust.data.io.remote import is_url
from c3clust.data.io.stream import Stream
from c3clust.data.labels import with_label_file
from c3clust.data.places import DatasetInfo, find, require, searched
from c3clust.data.samples import Dataset, Samples, check_words
from c3clust.data.source import Claim, Options, PublicDataset
from c3clust.data.sources.arrays import from_array
from c3clust.data.sources.loose import are_pictures, from_pictures
from c3clust.data.sources.shards import read_url
from c3clust.data.sources.table import from_frame, from_masked, is_frame
from c3clust.data.sources.texts import are_texts, from_texts
from c3clust.errors import DataError, InputError, suggest
from c3clust.files.atomic import expanded
from c3clust.files.limits import set_limit

SUBSET = re.compile(r"(?P<name>.+)-(?P<thousands>[1-9][0-9]*)k")


def names() -> list[str]:
    """Names of the datasets that can be loaded by name.

    >>> "digits" in names()
    True
    """
    return sorted(public.name for _, public in _public())


def is_name(place: str) -> bool:
    """Whether `load` reads a string as the name of a dataset (or of a subset of one), and not as a path.

    >>> is_name("digits"), is_name("digits-1k"), is_name("./digits")
    (True, True, False)
    """
    subset = SUBSET.fullmatch(place)
    return any({place, subset["name"] if subset else place} & {each.name, *each.aliases} for _, each in _public())


def describe() -> list[DatasetInfo]:
    """For each named dataset: a description, the paths that are searched, the path found, and how to fetch it."""
    found = []
    for source, public in _public():
        looks_in = () if public.built_in else (*map(str, searched()), *public.system)
        path = "built in" if public.built_in else find(public, source)
        place = None if path is None else str(path)
        found.append(
            DatasetInfo(public.name, public.what, looks_in, place, public.address, public.layout, public.fetch)
        )
    return sorted(found, key=lambda info: info.name)


def load(
    place: Any,
    *,
    labels: str | PathLike[str] | None = None,
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
    content: str | None = None,
    columns: Sequence[str] = (),
    words: Sequence[str] = (),
    pixel_max: float | str | None = None,
    outside: bool = False,
    originals: bool | None = None,
    limit: int | None = None,
    sample: int | None = None,
    shared: bool = False,
    max_pixels: int | None = None,
) -> Dataset:
    """Load a dataset.

    Parameters
    ----------
    place : str, path, array, list of str, data frame, images or Dataset
        The name of a dataset (see `names`); the path of a folder, an archive, a .npy or .npz file, a CSV or Parquet
        table (of images, texts or rows: see sources/table.py), a .txt file (one text, or one path of an image, per
        line), a Hugging Face `datasets` folder or an official dataset; a folder of tar shards, or a URL of them that
        fsspec reads (sources/shards.py); an array or a tensor, texts, a data frame; one image (its file, its bytes or a
        Pillow image), or a list or a column of images and their paths. A known name is the dataset even if a folder has
        the same name: write ./digits for the folder. A name with a size in thousands, such as "mnist-10k", is a fixed
        subset: the images at the first 10,000 positions of `numpy.random.default_rng(0).permutation(n)`, in their
        original order, drawn without regard to the classes.
    labels : "folders", path or None
        Use the sub-folders of a folder or archive as true classes, for metrics only; or the labels of a file: .npy with
        one for each sample, or .csv with the columns name and label. Named datasets, and tables with a label column,
        have their own labels.
    image_size : int, optional
        Side in pixels to which image files are decoded. Default: the longest side found, at most 64 (224 for the
        ImageNet sets); a method that uses an encoder decodes larger files again, at the size that it sees. Arrays and
        datasets that are stored as pixels keep their size; Tiny-ImageNet is never enlarged.
    channels : 1 or 3, optional
        Channels of decoded image files. Default: 1 if all images are grey, else 3.
    max_bad : float
        Largest fraction of unreadable files. Up to it, they are listed in `skipped`; above it, loading fails.
    memory : int, optional
        Largest size in bytes of the decoded files, above which they are streamed, and of all samples as float32, above
        which k-means is computed in mini-batches. Default: half of the free memory.
    workers : int, optional
        Number of processes (or threads, for a stream) that decode. Default: one per core.
    cache : path, optional
        A folder in which decoded files are stored for the next call.
    root : path, optional
        The folder or file that holds a named dataset. Default: $C3CLUST_DATA, ./data, ~/.cache/c3clust and the paths
        of Debian packages are searched.
    largest : int, optional
        Upper limit of the default `image_size`. Default: 64.
    embeddings : bool
        Read an array [n, V, F] as V views of n samples, the first of which is the sample itself, not as images.
    kind : "image", "text" or "table", optional
        The content of a table or of a .txt file. Default: detected from its cells or lines.
    content : "handwriting" or "photograph", optional
        What images show, which decides how they are augmented. Default: found from their pixels (data/content.py).
    columns : sequence of str
        The columns of a table to cluster; one column of words is clustered as texts. Default: all.
    words : sequence of str
        Columns of a table that are categories even if all their cells are numbers.
    pixel_max : 1, 255 or "type", optional
        The value of white in arrays of images that are not uint8. "type": 1 in floats, 255 in integers. Default: 1 if
        no value is larger, else 255. A fitted model reads new images with the value it was fitted with.
    outside : bool
        Let a table or list of images name files outside of its own folder.
    originals : bool, optional
        Take the random crops of training from the image files at their own size and aspect, decoded for each crop, and
        not from the image that was resized to `image_size`. Default: for ImageNet-10 and -Dogs only.
    limit : int, optional
        Keep at most this many samples, drawn as for a name with a size. Other image files are not read.
    sample : int, optional
        Keep at most this many samples of a large source: the source, in its order, is divided into as many parts of
        equal size, and one sample of each is drawn. Shards are so represented in proportion to their sizes. A note in
        the record says so.
    shared : bool
        All processes of a group (docs/SCALING.md) make this call: each decodes a part of the files, and gets all.
    max_pixels : int, optional
        Pixels that one image may have, from now on in this process. Default: 89,478,485, or the environment variable
        C3CLUST_MAX_PIXELS. Larger JPEGs are decoded at a reduced size; other images are skipped as too large.

    Returns
    -------
    Samples, Texts or Table
    """
    cache = Path(cache) if cache else None
    if max_pixels is not None:
        checks.whole("max_pixels", max_pixels, why="it is a number of pixels. A usual value is 200000000.")
        set_limit("C3CLUST_MAX_PIXELS", max_pixels)
    options = Options(
        None if labels is None else str(labels), image_size, channels, max_bad, memory, workers, cache, largest,
        embeddings, kind, content, tuple(columns), tuple(words), pixel_max, outside, originals, limit, sample,
        shared=shared,
    )  # fmt: skip
    whole = _load(place, options, Path(root) if root else None)
    if labels == "folders" and whole.y is None:
        raise InputError(f'{whole.place} has no sub-folders that could be classes: omit labels="folders".')
    whole = whole if labels in (None, "folders") else with_label_file(whole, str(labels))
    dataset = check_words(whole if limit is None or len(whole) <= limit else _some(whole, drawn(len(whole), limit)))
    if sample is not None and len(dataset) > sample:
        notes = [*dataset.notes, sample_note(sample, len(dataset))]
        dataset = replace(_some(dataset, stratified(len(dataset), sample)), notes=notes)
    dataset = dataset if content is None else _with_content(dataset, content)
    return dataset if memory is None else replace(dataset, memory=memory)


def _load(place: Any, options: Options, root: Path | None) -> Dataset:
    if isinstance(place, Dataset):
        return place
    if isinstance(place, str) and not place:
        raise InputError(f"The source is empty: give a path or one of {', '.join(names())}.")
    if options.kind != "text" and are_pictures(place):
        return from_pictures(place, options)
    if are_texts(place):
        return from_texts(place)
    if is_frame(place):
        return from_frame(place, options)
    if isinstance(place, np.ma.MaskedArray) and place.ndim == 2 and (np.ma.is_masked(place) or options.kind == "table"):
        return from_masked(place)
    if not isinstance(place, str | PathLike):
        return from_array(place, embeddings=options.embeddings, pixel_max=options.pixel_max)
    if isinstance(place, str) and is_url(place):
        return read_url(place, options)
    named = _load_name(place, options, root) if isinstance(place, str) else None
    return _load_path(Path(place), options) if named is None else named


def _with_content(dataset: Dataset, content: str) -> Dataset:
    if dataset.kind != "image":
        raise InputError(f"content={content!r} describes images, and {dataset.place} has none: omit it.")
    return replace(dataset, content=content)


def load_listed(place: str, kind: str | None = None, outside: bool = False) -> Dataset:
    """As `load`, but image files are listed only, the unreadable ones too: x is a `Stream` with their spans."""
    options = Options(kind=kind, listed=True, outside=outside)
    if is_url(place):
        return read_url(place, options)
    return _load_name(place, options, None) or _load_path(Path(place), options)


def _load_name(name: str, options: Options, root: Path | None) -> Dataset | None:
    """A named dataset or a subset of one; None if no dataset has this name."""
    subset = SUBSET.fullmatch(name)
    for source, public in _public():
        names = (public.name, *public.aliases)
        if name in names or (subset and subset["name"] in names):
            path = Path() if public.built_in else require(public, source, root)
            whole = source.read(path, options, public.name)
            if subset is None or name in names:
                return whole
            return _first_thousands(whole, int(subset["thousands"]), public.name)
    return None


def _load_path(path: Path, options: Options) -> Dataset:
    path = expanded(path)
    if not path.exists():
        raise DataError(f"{path} is neither a path that exists nor a known data set. {suggest(str(path), names())}")
    claims = [(source.claims(path), source) for source in _sources()]
    claim, source = max(claims, key=lambda pair: pair[0])
    if claim < Claim.KIND:
        raise DataError(
            f"{path} cannot be read as data: give a folder of images, a .tar, .tar.gz or .zip of images, "
            "a .npy or .npz file, a .txt file of texts or of image paths, or a .csv, .tsv or .parquet table."
        )
    return source.read(path, options)


def _first_thousands(whole: Dataset, thousands: int, name: str) -> Dataset:
    """The fixed subset that `load` describes."""
    n = thousands * 1000
    if n > len(whole):
        held = f"{whole.place} contains {len(whole):,}"
        raise DataError(f"{name}-{thousands}k requests {n:,} images and {held}. Request fewer.")
    return _some(whole, drawn(len(whole), n))


def _some(whole: Dataset, chosen: np.ndarray) -> Dataset:
    y = None if whole.y is None else whole.y[chosen]
    x = whole.x.subset(chosen) if isinstance(whole.x, Stream | Originals) else whole.x[chosen]
    some = replace(whole, x=x, names=[whole.names[i] for i in chosen], y=y)
    return replace(some, reread=None) if isinstance(some, Samples) else some


def _public() -> Iterator[tuple[Any, PublicDataset]]:
    """(source, dataset) for every public dataset of every source."""
    for source in _sources():
        for public in getattr(source, "DATASETS", ()):
            yield source, public


def _sources() -> Iterator[Any]:
    """The modules of data/sources that have `claims` and `read`."""
    for module in pkgutil.iter_modules(sources.__path__):
        source = importlib.import_module(f"{sources.__name__}.{module.name}")
        if hasattr(source, "claims") and hasattr(source, "read"):
            yield source
