"""list: the methods, datasets, encoders, recipes and experiments there are."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from c3clust.cli import complete
from c3clust.cli import options as opt
from c3clust.errors import InputError, suggest
from c3clust.files import catalog

__all__ = ["list_"]

Entry = dict[str, Any]  # name, about; of datasets also found, looked_in, get


def list_(
    what: Annotated[
        str,
        typer.Argument(help="methods, data, encoders, recipes or experiments", autocompletion=complete.listings),
    ],
    as_json: opt.AsJson = False,
) -> None:
    """List the methods, data sets, encoders, recipes or experiments.

    Example:  c3clust list data
    """
    if what not in LISTINGS:
        raise InputError(f"{what!r} cannot be listed. {suggest(what, LISTINGS)}")
    entries = list(LISTINGS[what]())
    if as_json:
        opt.json_out(entries)
        return
    width = max(len(entry["name"]) for entry in entries)
    for entry in entries:
        opt.out(f"{entry['name']:{width}}  {entry['about']}")
        for line in _lines(entry):
            opt.out(line, wrap=False)


def _lines(entry: Entry) -> Iterator[str]:
    """For a dataset: its path, or how to get it."""
    if "found" in entry:
        yield f"  {entry['found'] or 'not found'}"
        if not entry["found"]:
            yield f"  searched in {', '.join(entry['looked_in'])}"
            yield f"  get it: {entry['get']}"


def _methods() -> Iterator[Entry]:
    from importlib.metadata import entry_points

    yield from _titles(catalog.methods())
    for point in entry_points(group="c3clust.methods"):
        yield {"name": point.name, "about": f"{point.value} of the package {point.dist.name if point.dist else '?'}"}


def _titles(paths: dict[str, Path]) -> Iterator[Entry]:
    return ({"name": name, "about": catalog.title(path)} for name, path in paths.items())


def _data() -> Iterator[Entry]:
    from c3clust import data

    for entry in data.describe():
        where = {"found": entry.found, "looked_in": list(entry.looks_in), "get": entry.fetch or entry.address}
        yield {"name": entry.name, "about": entry.what, **where}


LISTINGS: dict[str, Callable[[], Iterator[Entry]]] = {
    "methods": _methods,
    "data": _data,
    "encoders": lambda: ({"name": spec, "about": what} for spec, what in catalog.encoders().items()),
    "recipes": lambda: _titles(catalog.recipes()),
    "experiments": lambda: _titles(catalog.experiments()),
}
