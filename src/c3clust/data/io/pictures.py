"""Many encoded images -> Samples: the one way of folders, archives, tables and the photographic data sets.

Working size S: `image_size` if given; else the longest side found among the files, at most `largest` (64). Every
picture is squashed to S × S. Channels: 1 if every picture is grey (its three channels equal everywhere), else 3.

What fits in the memory bound (counted at three channels) is decoded once, in worker processes, to one uint8 array.
What does not is decoded once to find the unreadable files, so that indices stay stable, and then again whenever it
is asked for: see `stream.Stream`. With `cache` the decoded pictures lie in a memory map on disk instead.
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

__all__ = ["DEFAULT_SIZE", "Encoded", "available_memory", "to_images", "unique"]

DEFAULT_SIZE = 64
FIRST = 32  # files that are measured before worker processes are started


@dataclass(frozen=True)
class Encoded:
    """Samples still in their files.

    spool: the temporary file that some spans lie in; origin: the files it was made from.
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
    """One chunk: its readable pictures [k, 3, S, S] in order, a reason or "" for each file, and if all are grey."""

    pixels: np.ndarray
    reasons: list[str]
    grey: bool


def to_images(encoded: Encoded, options: Options, *, policy: str = "photo") -> Samples:
    """Decode, or prepare to stream, and account for what cannot be read."""
    if not encoded.spans:
        raise DataError(f"{encoded.place} holds no images. JPEG, PNG, WebP, BMP, TIFF, GIF and PPM files are read.")
    size = _working_size(encoded, options)
    x, reasons = _decoded(encoded, size, options)
    _check_bad(encoded, reasons, options.max_bad)
    good = [i for i, reason in enumerate(reasons) if not reason]
    return Samples(
        x=x,
        names=[encoded.names[i] for i in good],
        y=None if encoded.y is None else encoded.y[good],
        classes=encoded.classes,
        skipped=tuple((encoded.names[i], reason) for i, reason in enumerate(reasons) if reason),
        place=encoded.place,
        policy=policy,
    )


def available_memory() -> int:
    """Half of the memory that is free now, within the limit of a container: the default bound."""
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


def _working_size(encoded: Encoded, options: Options) -> int:
    """S, see the top of this file. Stops measuring at the first side that reaches the bound."""
    if options.image_size is not None:
        return options.image_size
    bound = options.largest or DEFAULT_SIZE
    longest = _longest(encoded.spans[:FIRST], bound)
    if longest < bound and len(encoded.spans) > FIRST:
        longest = max(map_chunks(partial(_longest, bound=bound), encoded.spans, options.workers))
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


def _decoded(encoded: Encoded, size: int, options: Options) -> tuple[ArrayLike, list[str]]:
    """The readable pictures, in memory, in the cache or as a stream; and a reason or "" for each file."""
    if options.cache is not None:
        return _through_cache(encoded, size, options)
    needed = len(encoded.spans) * 3 * size * size
    memory = available_memory() if options.memory is None else options.memory
    if needed <= memory:
        return _in_memory(encoded, size, options)
    return _streamed(encoded, size, options, memory)


def _in_memory(encoded: Encoded, size: int, options: Options) -> tuple[np.ndarray, list[str]]:
    pixels = np.empty((len(encoded.spans), 3, size, size), dtype=np.uint8)
    reasons: list[str] = []
    filled, grey = 0, True
    for chunk in _chunks(encoded.spans, size, options):
        pixels[filled : filled + len(chunk.pixels)] = chunk.pixels
        filled += len(chunk.pixels)
        reasons += chunk.reasons
        grey = grey and chunk.grey
    channels = _channels(grey, options)
    return np.ascontiguousarray(pixels[:filled, :channels]), reasons


def _streamed(encoded: Encoded, size: int, options: Options, memory: int) -> tuple[Stream, list[str]]:
    reasons: list[str] = []
    grey = True
    for chunk in _chunks(encoded.spans, size, options):
        reasons += chunk.reasons
        grey = grey and chunk.grey
    good = [i for i, reason in enumerate(reasons) if not reason]
    spans, names = [encoded.spans[i] for i in good], [encoded.names[i] for i in good]
    stream = Stream(spans, names, _channels(grey, options), size, workers=options.workers, memory=memory)
    stream.spool = encoded.spool
    return stream, reasons


def _through_cache(encoded: Encoded, size: int, options: Options) -> tuple[np.ndarray, list[str]]:
    assert options.cache is not None
    settings = {"size": size, "channels": options.channels}
    entry = cache.Entry.of(options.cache, encoded.spans, encoded.names, _stamps(encoded), settings)
    found = entry.load()
    if found is None:
        entry.store(((c.pixels, c.reasons, c.grey) for c in _chunks(encoded.spans, size, options)), options.channels)
        found = entry.load()
    if found is None:
        raise DataError(f"The cache {options.cache} cannot be read back. Delete the folder or choose another.")
    return found


def _stamps(encoded: Encoded) -> list[str]:
    """What shows that a file changed, for every file that the images come from. A spool is new each time."""
    spooled = encoded.spool.path if encoded.spool else None
    paths = {span.path for span in encoded.spans} - {spooled}
    return [cache.stamp(path) for path in (*map(str, encoded.origin), *sorted(paths))]


def _chunks(spans: Sequence[Span], size: int, options: Options) -> Iterator[Decoded]:
    return map_chunks(_DecodeChunk(size, options.channels is None), spans, options.workers)


@dataclass(frozen=True)
class _DecodeChunk:
    """decode(spans) with the size filled in; a plain class, so that it can be sent to a worker process."""

    size: int
    look_for_grey: bool

    def __call__(self, spans: Sequence[Span]) -> Decoded:
        pixels, reasons = [], []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd metadata: the picture itself decides
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


def _check_bad(encoded: Encoded, reasons: Sequence[str], max_bad: float) -> None:
    """Stop if nothing, or less than wanted, could be read."""
    bad = [(name, reason) for name, reason in zip(encoded.names, reasons, strict=True) if reason]
    first = "; ".join(f"{name}: {reason}" for name, reason in bad[:3]) + ("; …" if len(bad) > 3 else "")
    if len(bad) == len(reasons):
        raise DataError(f"{encoded.place} has no readable image among its {len(reasons):,} files ({first}).")
    if len(bad) > max_bad * len(reasons):
        raise DataError(
            f"{encoded.place} has {len(bad):,} unreadable files of {len(reasons):,}, more than the share "
            f"max_bad={max_bad:g} ({first}). Remove them, or allow more with a larger max_bad."
        )


def unique(names: Sequence[str]) -> list[str]:
    """The names, with #2, #3 … behind those that came before.

    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a#2']
    """
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return result
