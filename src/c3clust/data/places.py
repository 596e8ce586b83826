"""Where the public data sets are looked for."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from c3clust.data.source import Claim, Known, Source
from c3clust.errors import DataError

__all__ = ["Described", "find", "require", "searched"]

HOME = Path("~/.cache/c3clust")


@dataclass(frozen=True)
class Described:
    """What `c3clust list data` says of a set: `found` is None if it is absent, `fetch` if no command may be run."""

    name: str
    what: str
    looks_in: tuple[str, ...]
    found: str | None
    address: str
    layout: str
    fetch: str | None

    @property
    def present(self) -> bool:
        return self.found is not None


def searched(root: Path | None = None) -> list[Path]:
    """The folders that are searched, first to last: root, $C3CLUST_DATA, ./data, ~/.cache/c3clust."""
    given = os.environ.get("C3CLUST_DATA")
    folders = [root, Path(given) if given else None, Path("data"), HOME]
    return [folder.expanduser() for folder in folders if folder is not None]


def find(known: Known, source: Source, root: Path | None = None) -> Path | None:
    """The first place that holds the set; an explicit root must hold it itself, and nothing else is searched then."""
    return next((path for path in _candidates(known, root) if source.claims(path) is not Claim.NO), None)


def require(known: Known, source: Source, root: Path | None = None) -> Path:
    """As find, or an error that says how to get the set."""
    found = find(known, source, root)
    if found is not None:
        return found
    places = ", ".join(str(folder) for folder in ([root] if root else [*searched(), *map(Path, known.system)]))
    way = f"Get it with `{known.fetch}`" if known.fetch else f"Get it from {known.address}"
    raise DataError(f"{known.name} was not found in {places}. {way}; expected: {known.layout}.")


def _candidates(known: Known, root: Path | None) -> Iterator[Path]:
    folders = [root.expanduser()] if root else searched()
    for folder in folders:
        if root:
            yield folder
        for pattern in known.patterns:
            if folder.is_dir():
                yield from sorted(folder.glob(pattern))
    if not root:
        yield from (Path(path) for path in known.system)
