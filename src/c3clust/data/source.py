"""What a source of data is: a module of this folder with `claims` and `read`, and perhaps `SETS`.

    SETS                                the public data sets that this module reads by name
    claims(path) -> Claim               whether `path` is this module's kind of place
    read(path, options, name) -> Samples

A new source is one new file with these; nothing else is edited.
"""

import logging
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Literal, Protocol

from c3clust.data.samples import Samples

__all__ = ["Claim", "Known", "Options", "Source", "note_count"]

log = logging.getLogger("c3clust")


class Claim(IntEnum):
    """How surely a source takes a path for its own; the surest source reads it."""

    NO = 0
    NAMED = 1  # holds a set of this source, but only if it is asked for by name
    KIND = 2  # any folder of images, any archive
    LAYOUT = 3  # the layout of one public data set


@dataclass(frozen=True)
class Known:
    """A public data set that can be asked for by name.

    patterns: where it may lie below each folder that is searched, best first.
    system: absolute places outside these folders, such as those of Debian's packages.
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
    """How a source is to be read; `data.load` explains each."""

    labels: Literal["folders"] | None = None
    image_size: int | None = None
    channels: int | None = None
    max_bad: float = 0.05
    memory: int | None = None
    workers: int | None = None
    cache: Path | None = None
    largest: int | None = None
    embeddings: bool = False
    kind: str | None = None
    columns: tuple[str, ...] = ()


class Source(Protocol):
    """The shape of a source module."""

    @staticmethod
    def claims(path: Path) -> Claim: ...

    @staticmethod
    def read(path: Path, options: Options, name: str | None = None) -> Samples: ...


def note_count(place: str, title: str, n: int, official: int) -> tuple[str, ...]:
    """Say that a set in an official layout is not the official set, as notes for `Samples`. It is read all the same."""
    if n == official:
        return ()
    note = f"{place} holds {n:,} images; the official {title} has {official:,}. It is read as it is."
    log.warning(note)
    return (note,)
