"""Decodes image files to Samples, for folders, archives, tables and the photographic datasets.

Working size S: `image_size` if given; else the longest side found among the files, at most `largest` (64). Every
picture is resized to S × S. Channels: 1 if every picture is grey (its three channels equal everywhere), else 3.

If the decoded pictures (counted at three channels) fit in the memory limit, they are decoded once, in worker processes,
to one uint8 array. Otherwise they are decoded once to find the unreadable files, so that indices stay stable, and then
on each access: see `stream.Stream`. With `cache`, the decoded pictures are stored in a memory map on disk instead.
"""

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from c3clust.data.io import cache
from c3clust.data.io.decode import decode, longest_side
from c3clust.data.io.spans import Span, Spool, Unreadable, read_span
from c3clust.data.io.stream import Stream
from c3clust.data.io.workers import map_chunks
from c3clust.data.samples import ArrayLike, Samples
from c3clust.data.source import Options
from c3clust.errors import DataError

__all__ = ["DEFAULT_SIZE", "EncodedFiles", "available_memory", "to_samples", "unique"]

DEFAULT_SIZE = 64
FIRST = 32  # files measured before worker processes are started


@dataclass(frozen=True)
class EncodedFiles:
    """Pictures that are still encoded in their files.

    spool: the temporary file of some of the spans; origin: the files from which the spool was written.
    """

    spans: Sequence[Span]
    names: Sequence[str]
    place: str
    y: np.ndarray | None = None
    classes: Sequence[str] | None = None
    spool: Spool | None = None
    origin: Sequence[Path] = ()


@dataclass(frozen=True)
class Decoded:
    """A decoded chunk: its readable pictures [k, 3, S, S], a reason or "" per file, and whether all are grey."""

    pixels: np.ndarray
    reasons: list[str]
    grey: bool


def to_samples(files: EncodedFiles, options: Options) -> Samples:
    """Decode the files, or prepare to stream them. Unreadable files are listed in `skipped`."""
    if not files.spans:
        raise DataError(f"{files.place} holds no images. JPEG, PNG, WebP, BMP, TIFF, GIF and PPM files are read.")
    size = _working_size(files, options)
    x, reasons = _decoded(files, size, options)
    _check_bad(files, reasons, options.max_bad)
    good = [i for i, reason in enumerate(reasons) if not reason]
    return Samples(
        x=x,
        names=[files.names[i] for i in good],
        y=None if files.y is None else files.y[good],
        classes=files.classes,
        skipped=tuple((files.names[i], reason) for i, reason in enumerate(reasons) if reason),
        place=files.place,
    )


def available_memory() -> int:
    """The default memory limit: half of the free memory, within the limit of a container."""
    free = 4 * 2**30
    if hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
        free = min(free, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError, StopIteration):
        pass  # not Linux, or no limit
    return free // 2


def _working_size(files: EncodedFiles, options: Options) -> int:
    """The working size S. Measuring stops at the first side that reaches the bound."""
    if options.image_size is not None:
        return options.image_size
    bound = options.largest or DEFAULT_SIZE
    longest = _longest(files.spans[:FIRST], bound)
    if longest < bound and len(files.spans) > FIRST:
        longest = max(map_chunks(partial(_longest, bound=bound), files.spans, options.workers))
    return min(longest, bound) or bound


def _longest(spans: Sequence[Span], bound: int) -> int:
    """The longest side among these files, or the first that reaches the bound; 0 if none can be read."""
    longest = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for span in spans:
            try:
                longest = max(longest, longest_side(read_span(span)))
            except Unreadable:
                continue
            if longest >= bound:
                break
    return longest


def _decoded(files: EncodedFiles, size: int, options: Options) -> tuple[ArrayLike, list[str]]:
    """The readable pictures, in memory, in the cache or as a stream; and a reason or "" per file."""
    if options.cache is not None:
        return _through_cache(files, size, options)
    memory = available_memory() if options.memory is None else options.memory
    if len(files.spans) * 3 * size * size <= memory:
        return _in_memory(files, size, options)
    return _streamed(files, size, options, memory)


def _in_memory(files: EncodedFiles, size: int, options: Options) -> tuple[np.ndarray, list[str]]:
    pixels = np.empty((len(files.spans), 3, size, size), dtype=np.uint8)
    reasons: list[str] = []
    filled, grey = 0, True
    for chunk in _chunks(files.spans, size, options):
        pixels[filled : filled + len(chunk.pixels)] = chunk.pixels
        filled += len(chunk.pixels)
        reasons += chunk.reasons
        grey = grey and chunk.grey
    channels = _channels(grey, options)
    return np.ascontiguousarray(pixels[:filled, :channels]), reasons


def _streamed(files: EncodedFiles, size: int, options: Options, memory: int) -> tuple[Stream, list[str]]:
    reasons: list[str] = []
    grey = True
    for chunk in _chunks(files.spans, size, options):
        reasons += chunk.reasons
        grey = grey and chunk.grey
    good = [i for i, reason in enumerate(reasons) if not reason]
    spans, names = [files.spans[i] for i in good], [files.names[i] for i in good]
    stream = Stream(spans, names, _channels(grey, options), size, workers=options.workers, memory=memory)
    stream.spool = files.spool
    return stream, reasons


def _through_cache(files: EncodedFiles, size: int, options: Options) -> tuple[np.ndarray, list[str]]:
    assert options.cache is not None
    settings = {"size": size, "channels": options.channels}
    entry = cache.picture_entry(options.cache, files.spans, files.names, _stamps(files), settings)
    found = cache.load_pictures(entry)
    if found is None:
        chunks = ((c.pixels, c.reasons, c.grey) for c in _chunks(files.spans, size, options))
        cache.store_pictures(entry, chunks, options.channels)
        found = cache.load_pictures(entry)
    if found is None:
        raise DataError(f"The cache {options.cache} cannot be read back. Delete the folder or choose another.")
    return found


def _stamps(files: EncodedFiles) -> list[str]:
    """Size and modification time of every file that the images come from. A spool is new each time."""
    spooled = files.spool.path if files.spool else None
    paths = {span.path for span in files.spans} - {spooled}
    return [cache.stamp(path) for path in (*map(str, files.origin), *sorted(paths))]


def _chunks(spans: Sequence[Span], size: int, options: Options) -> Iterator[Decoded]:
    return map_chunks(_DecodeChunk(size, options.channels is None), spans, options.workers)


@dataclass(frozen=True)
class _DecodeChunk:
    """Decodes a chunk of spans. A class, so that it can be pickled for a worker process."""

    size: int
    look_for_grey: bool

    def __call__(self, spans: Sequence[Span]) -> Decoded:
        pixels, reasons = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd metadata; only the pixels matter
            for span in spans:
                try:
                    pixels.append(decode(read_span(span), self.size))
                    reasons.append("")
                except Unreadable as error:
                    reasons.append(str(error) or "unreadable")
        stack = np.stack(pixels) if pixels else np.empty((0, 3, self.size, self.size), np.uint8)
        return Decoded(stack, reasons, self.look_for_grey and bool((stack == stack[:, :1]).all()))


def _channels(grey: bool, options: Options) -> int:
    return options.channels or (1 if grey else 3)


def _check_bad(files: EncodedFiles, reasons: Sequence[str], max_bad: float) -> None:
    """DataError if no file could be read, or if the share of unreadable ones exceeds `max_bad`."""
    bad = [(name, reason) for name, reason in zip(files.names, reasons, strict=True) if reason]
    first = "; ".join(f"{name}: {reason}" for name, reason in bad[:3]) + ("; …" if len(bad) > 3 else "")
    if len(bad) == len(reasons):
        raise DataError(f"{files.place} has no readable image among its {len(reasons):,} files ({first}).")
    if len(bad) > max_bad * len(reasons):
        raise DataError(
            f"{files.place} has {len(bad):,} unreadable files of {len(reasons):,}, more than the share "
            f"max_bad={max_bad:g} ({first}). Remove them, or allow more with a larger max_bad."
        )


def unique(names: Sequence[str]) -> list[str]:
    """The names, with #2, #3 … appended to repeated ones.

    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a#2']
    """
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return result
