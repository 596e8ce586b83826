"""The interface of a source, a module of data/sources:

    DATASETS                            (optional) the public datasets that this module reads by name
    claims(path) -> Claim               whether this module can read `path`
    read(path, options, name) -> Dataset

A new source is one new file in data/sources; it is discovered automatically.
"""

import logging
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from c3clust.data.content import IMAGES
from c3clust.errors import InputError, suggest

KINDS = ("image", "text", "table")
log = logging.getLogger("c3clust")


class Claim(IntEnum):
    """How specific the claim of a source to a path is. The source with the highest claim reads the path."""

    NO = 0
    NAMED = 1  # holds a dataset of this source, which is read only if requested by name
    KIND = 2  # a generic type, such as any folder of images
    LAYOUT = 3  # the layout of one public dataset


@dataclass(frozen=True)
class PublicDataset:
    """A public dataset that can be loaded by name.

    patterns: glob patterns below each folder that is searched, in order of preference.
    system: absolute paths outside these folders, such as those of Debian packages.
    """

    name: str
    what: str
    patterns: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    layout: str = ""
    address: str = ""
    fetch: str | None = None
    aliases: tuple[str, ...] = ()
    built_in: bool = False


@dataclass(frozen=True)
class Options:
    """The options of `data.load`, checked."""

    labels: str | None = None
    image_size: int | None = None
    channels: int | None = None
    max_bad: float = 0.05
    memory: int | None = None
    workers: int | None = None
    cache: Path | None = None
    largest: int | None = None
    embeddings: bool = False
    kind: str | None = None
    content: str | None = None
    columns: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    pixel_max: float | str | None = None
    outside: bool = False
    originals: bool | None = None
    limit: int | None = None
    sample: int | None = None
    listed: bool = False  # image files are listed and not decoded
    shared: bool = False  # all processes read the same place, and share the decoding

    def __post_init__(self) -> None:
        if self.kind not in (None, *KINDS):
            raise InputError(f"kind={self.kind!r} is unknown. {suggest(str(self.kind), KINDS)}")
        if self.content not in (None, *IMAGES):
            raise InputError(f"content={self.content!r} is unknown. {suggest(str(self.content), IMAGES)}")
        if self.pixel_max not in (None, 1, 255, "type"):
            raise InputError(f'pixel_max={self.pixel_max!r} is unknown: use 1, 255 or "type", or omit it.')
        if self.image_size is not None and not 4 <= self.image_size <= 4096:
            raise InputError(f"image_size={self.image_size} is outside [4, 4096] pixels. A usual value is 64 or 224.")
        if self.channels not in (None, 1, 3):
            way = "Omit it to use those of the images."
            raise InputError(f"channels={self.channels} is neither 1 (grey) nor 3 (colour). {way}")
        if not 0 <= self.max_bad <= 1:
            why = "it is a fraction of the files. A usual value is 0.05."
            raise InputError(f"max_bad={self.max_bad} is outside [0, 1]: {why}")
        if self.limit is not None and self.limit < 1:
            raise InputError(f"limit={self.limit} is below 1: it is the number of samples to keep.")
        if self.sample is not None and self.sample < 1:
            raise InputError(f"sample={self.sample} is below 1: it is the number of samples to draw.")
        if self.memory is not None and self.memory < 0:
            raise InputError(f"memory={self.memory} is negative: give a number of bytes, or omit it.")
        if self.workers is not None and self.workers < 1:
            raise InputError(f"workers={self.workers} is below 1. Omit it for one per core.")


def note_count(place: str, title: str, n: int, official: int) -> tuple[str, ...]:
    """The note for a dataset in an official layout whose number of images is not the official one."""
    if n == official:
        return ()
    note = f"{place} contains {n:,} images; the official {title} has {official:,}. It is used unchanged."
    log.warning(note)
    return (note,)
