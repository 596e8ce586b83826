"""Search paths of the public datasets."""

import os
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from c3clust.data.source import Claim, PublicDataset
from c3clust.errors import DataError
from c3clust.files.atomic import expanded

HOME = Path("~/.cache/c3clust")


@dataclass(frozen=True)
class DatasetInfo:
    """An entry of `c3clust list data`. `found` is None if the dataset is absent, `fetch` if no command gets it."""

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


def searched() -> list[Path]:
    """The folders that are searched, in order: $C3CLUST_DATA, ./data, ~/.cache/c3clust."""
    given = os.environ.get("C3CLUST_DATA")
    found = [*([Path(given)] if given else []), Path("data"), HOME]
    with suppress(RuntimeError):  # there is no home folder
        return [folder.expanduser() for folder in found]
    return [folder for folder in found if "~" not in str(folder)]


def find(public: PublicDataset, source: Any, root: Path | None = None) -> Path | None:
    """The first path that holds the dataset. With an explicit root, nothing else is searched."""
    folders = [expanded(root)] if root else searched()
    inside = (path for folder in folders for pattern in public.patterns for path in sorted(folder.glob(pattern)))
    candidates = chain(folders, inside) if root else chain(inside, map(Path, public.system))
    return next((path for path in candidates if source.claims(path) is not Claim.NO), None)


def require(public: PublicDataset, source: Any, root: Path | None = None) -> Path:
    """As `find`, or a DataError with the way to get the dataset."""
    found = find(public, source, root)
    if found is not None:
        return found
    places = ", ".join(str(folder) for folder in ([root] if root else [*searched(), *map(Path, public.system)]))
    way = f"Get it with `{public.fetch}`" if public.fetch else f"Get it from {public.address}"
    raise DataError(f"{public.name} was not found in {places}. {way}; expected: {public.layout}.")
