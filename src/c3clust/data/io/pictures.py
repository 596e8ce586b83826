"""Decodes image files to Samples, for folders, archives, tables and the photographic datasets.

Working size S: `image_size` if given; else the longest side found among the files, at most `largest` (64). Every
image is resized to S × S. Channels: 1 if every image is grey (its three channels equal everywhere), else 3.

If the decoded images (counted at three channels) fit in the memory limit, they are decoded once, in worker processes,
to one uint8 array. Otherwise they are decoded once to find the unreadable files, so that indices stay stable, and then
on each access: see `stream.Stream`. With `cache`, the decoded images are stored in a memory map on disk instead. With
`originals`, random crops are taken from the original files: see `originals.Originals`.
"""

import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.content import SMALL, find, looked_at
from c3clust.data.io import cache
from c3clust.data.io.decode import decode, longest_side
from c3clust.data.io.npy import NpyFile
from c3clust.data.io.originals import Originals
from c3clust.data.io.spans import Span, Spool, Unreadable, read_span
from c3clust.data.io.stream import Stream
from c3clust.data.io.workers import map_chunks
from c3clust.data.samples import ArrayLike, Samples
from c3clust.data.source import Options
from c3clust.errors import DataError

DEFAULT_SIZE = 64
FIRST = 32  # files measured before worker processes are started


@dataclass(frozen=True)
class EncodedFiles:
    """Images that are still encoded in their files.

    spool: the temporary file of some of the spans; origin: the files from which the spool was written; left: what the
    source contains besides images.
    """

    spans: Sequence[Span]
    names: Sequence[str]
    place: str
    y: np.ndarray | None = None
    classes: Sequence[str] | None = None
    spool: Spool | None = None
    origin: Sequence[Path] = ()
    left: Sequence[str] = ()

    @classmethod
    def of(cls, found: Sequence[tuple[str, Span]], place: str, **more: Any) -> "EncodedFiles":
        return cls([span for _, span in found], unique([name for name, _ in found]), place, **more)

    def some(self, index: np.ndarray) -> "EncodedFiles":
        spans, names = ([each[i] for i in index] for each in (self.spans, self.names))
        return replace(self, spans=spans, names=names, y=None if self.y is None else self.y[index])


Decoded = tuple[np.ndarray, list[str], bool]  # of a chunk: images [k, 3, S, S], a reason or "" per file, all grey?


def to_samples(files: EncodedFiles, options: Options) -> Samples:
    """Decode the files, or prepare to stream them. Unreadable files are listed in `skipped`."""
    if not files.spans:
        raise DataError(f"{files.place} contains no images. JPEG, PNG, WebP, BMP, TIFF, GIF and PPM files are read.")
    if options.listed:
        listed = Stream(files.spans, files.names, 3, DEFAULT_SIZE, 1, None, files.spool)
        return Samples(listed, files.names, place=files.place, content="photograph")  # not looked at
    if options.limit is not None:
        files = files.some(drawn(len(files.spans), options.limit))
    size = _working_size(files, options)
    x, reasons = _decoded(files, size, options)
    skipped = tuple((name, reason) for name, reason in zip(files.names, reasons, strict=True) if reason)
    _check_bad(files, skipped, options.max_bad)
    good = [i for i, reason in enumerate(reasons) if not reason]
    y, names = None if files.y is None else files.y[good], [files.names[i] for i in good]
    content = options.content or find(x, partial(_longest_looked_at, files, good))
    if options.originals:
        spans, (channels, size) = [files.spans[i] for i in good], x.shape[1:3]
        x = Originals(x, Stream(spans, names, channels, size, options.workers, options.memory, files.spool))
    reread = None
    if size == DEFAULT_SIZE and options.image_size is None and options.largest is None:
        reread = partial(_reread, files.some(np.array(good, dtype=int)), replace(options, channels=x.shape[1]))
    return Samples(x, names, y, files.classes, skipped, files.place, content, left=files.left, reread=reread)


def _reread(files: EncodedFiles, options: Options, largest: int) -> ArrayLike:
    """The images of readable files at their own size, at most `largest`."""
    options = replace(options, largest=largest)
    return _decoded(files, _working_size(files, options), options)[0]


def drawn(n: int, most: int) -> np.ndarray:
    """At most `most` of n positions: the first of a fixed permutation, in order."""
    return np.sort(np.random.default_rng(0).permutation(n)[:most])


def stratified(n: int, most: int) -> np.ndarray:
    """At most `most` of n positions: one, at random, of each of `most` parts of equal size, in order.

    So shards, and whatever else follows each other in the source, are represented in proportion to their sizes.

    >>> stratified(5, 8).tolist(), len(stratified(1000, 10)), (stratified(1000, 10) // 100).tolist()
    ([0, 1, 2, 3, 4], 10, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    if n <= most:
        return np.arange(n)
    edges = np.arange(most + 1) * n // most
    return edges[:-1] + np.random.default_rng(0).integers(np.diff(edges))


def sample_note(drawn: int, n: int) -> str:
    """What a record says about a sample."""
    return (
        f"A stratified sample of {drawn:,} of {n:,} samples was used: the source, in its order, was divided into "
        f"{drawn:,} parts of equal size, and one sample of each was drawn (seed 0). `c3clust predict` assigns the rest."
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


def _longest_looked_at(files: EncodedFiles, good: Sequence[int]) -> int:
    """The longest side, as stored, among the readable files that decide on the content."""
    return _longest([files.spans[good[i]] for i in looked_at(len(good))], SMALL + 1)


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
    """The readable images, in memory, in the cache or as a stream; and a reason or "" per file."""
    if options.cache is not None:
        return _through_cache(files, size, options)
    memory = available_memory() if options.memory is None else options.memory
    if options.shared:
        return _decoded_together(files, size, memory, options)
    n, reasons, filled, grey = len(files.spans), [], 0, True
    fits = n * 3 * size * size <= memory
    pixels = np.empty((n if fits else 0, 3, size, size), dtype=np.uint8)
    for chunk, chunk_reasons, chunk_grey in _chunks(files.spans, size, options):
        if fits:
            pixels[filled : filled + len(chunk)] = chunk
        filled, grey = filled + len(chunk), grey and chunk_grey
        reasons += chunk_reasons
    channels = options.channels or (1 if grey else 3)
    if fits:
        return np.ascontiguousarray(pixels[:filled, :channels]), reasons
    good = [i for i, reason in enumerate(reasons) if not reason]
    spans, names = [files.spans[i] for i in good], [files.names[i] for i in good]
    return Stream(spans, names, channels, size, options.workers, memory, files.spool), reasons


def _decoded_together(files: EncodedFiles, size: int, memory: int, options: Options) -> tuple[ArrayLike, list[str]]:
    """`_decoded`, where each process decodes a part of the files; all of them get all images."""
    from c3clust import dist  # which needs torch

    n, part = len(files.spans), dist.part(len(files.spans))
    fits, own = n * 3 * size * size <= memory, files.spans[part.start : part.stop]
    pixels = np.zeros((len(part) if fits else 0, 3, size, size), dtype=np.uint8)
    reasons: list[str] = []
    grey = True
    for chunk, chunk_reasons, chunk_grey in _chunks(own, size, options) if part else ():
        if fits:
            good = [len(reasons) + i for i, reason in enumerate(chunk_reasons) if not reason]
            pixels[good] = chunk
        reasons, grey = reasons + chunk_reasons, grey and chunk_grey
    of_all = dist.gather_objects((reasons, grey, fits))
    reasons, grey = [reason for each in of_all for reason in each[0]], all(each[1] for each in of_all)
    channels = options.channels or (1 if grey else 3)
    good = [i for i, reason in enumerate(reasons) if not reason]
    if all(each[2] for each in of_all):
        return dist.gather_arrays(np.ascontiguousarray(pixels[:, :channels]), n)[good], reasons
    spans, names = [files.spans[i] for i in good], [files.names[i] for i in good]
    return Stream(spans, names, channels, size, options.workers, memory, files.spool), reasons


def _through_cache(files: EncodedFiles, size: int, options: Options) -> tuple[np.ndarray | NpyFile, list[str]]:
    """From the cache, which the first of several processes fills."""
    if not options.shared:
        return _cached(files, size, options)
    from c3clust import dist

    if dist.rank() > 0:
        dist.wait()
    found = _cached(files, size, options)
    if dist.rank() == 0:
        dist.wait()
    return found


def _cached(files: EncodedFiles, size: int, options: Options) -> tuple[np.ndarray | NpyFile, list[str]]:
    assert options.cache is not None
    spooled = {files.spool.path} if files.spool and files.spool.path else set()  # a spool is new each time
    paths = (*map(str, files.origin), *sorted({span.path for span in files.spans} - spooled))
    settings = {"size": size, "channels": options.channels}
    entry = cache.picture_entry(options.cache, files.spans, files.names, [cache.stamp(p) for p in paths], settings)
    found = cache.load_pictures(entry)
    if found is None:
        cache.store_pictures(entry, _chunks(files.spans, size, options), options.channels)
        found = cache.load_pictures(entry)
    if found is None:
        raise DataError(f"The cache {options.cache} cannot be read. Delete the folder or choose another.")
    return found


def _chunks(spans: Sequence[Span], size: int, options: Options) -> Iterator[Decoded]:
    return map_chunks(partial(_decode_chunk, size=size, look_for_grey=options.channels is None), spans, options.workers)


def _decode_chunk(spans: Sequence[Span], size: int, look_for_grey: bool) -> Decoded:
    pixels, reasons = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about odd metadata; only the pixels matter
        for span in spans:
            try:
                pixels.append(decode(read_span(span), size))
                reasons.append("")
            except Unreadable as error:
                reasons.append(str(error) or "unreadable")
    stack = np.stack(pixels) if pixels else np.empty((0, 3, size, size), np.uint8)
    return stack, reasons, look_for_grey and bool((stack == stack[:, :1]).all())


def _check_bad(files: EncodedFiles, bad: Sequence[tuple[str, str]], max_bad: float) -> None:
    """DataError if no file could be read, or if the fraction of unreadable ones exceeds `max_bad`."""
    n, first = len(files.spans), _by_reason(bad)
    if len(bad) == n:
        what = "cannot be read" if n == 1 else f"has no readable image among its {n:,} files"
        raise DataError(f"{files.place} {what} ({first}).")
    if len(bad) > max_bad * n:
        raise DataError(
            f"{files.place}: {len(bad):,} of {n:,} files cannot be read ({first}), more than the fraction "
            f"{max_bad:g} that is allowed. Remove them, or allow more with --max-bad (max_bad in Python)."
        )


def _by_reason(bad: Sequence[tuple[str, str]]) -> str:
    """The three most frequent reasons, each with the first of its files.

    >>> _by_reason([("a", "an empty file"), ("b", "an empty file"), ("c", "damaged")])
    'a and 1 more: an empty file; c: damaged'
    """
    first, counts = {reason: name for name, reason in reversed(bad)}, Counter(reason for _, reason in bad)
    listed = [
        f"{first[reason]}{f' and {count - 1:,} more' if count > 1 else ''}: {reason}"
        for reason, count in counts.most_common(3)
    ]
    return "; ".join([*listed, *(["…"] if len(counts) > 3 else [])])


def unique(names: Sequence[str]) -> list[str]:
    """The names, with #2, #3 … appended to repeated ones.

    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a#2']
    """
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return result
