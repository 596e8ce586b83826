"""list: the methods, datasets, encoders, recipes and experiments there are."""

from collections.abc import Iterator
from typing import Annotated

import typer

from c3clust import catalog
from c3clust.cli import complete
from c3clust.cli import options as opt
from c3clust.errors import InputError, suggest

__all__ = ["list_"]


def list_(
    what: Annotated[
        str, typer.Argument(help="methods, data, encoders, recipes or experiments", autocompletion=complete.listings)
    ],
) -> None:
    """List the methods, data sets, encoders, recipes or experiments.

    Example:  c3clust list data
    """
    if what not in LISTINGS:
        raise InputError(f"{what!r} cannot be listed. {suggest(what, LISTINGS)}")
    for line in LISTINGS[what]():
        opt.out(line)


def _methods() -> Iterator[str]:
    return (f"{name:12} {catalog.title(path)}" for name, path in catalog.methods().items())


def _encoders() -> Iterator[str]:
    return (f"{spec:20} {what}" for spec, what in catalog.encoders().items())


def _recipes() -> Iterator[str]:
    from c3clust import recipes

    for name in recipes.names():
        recipe = recipes.load(name)
        on = f"{recipe['data']}, {recipe['n_clusters']} clusters" if "data" in recipe else "pictures of your own"
        yield f"{name:24} {recipe['method']} on {on}"


def _experiments() -> Iterator[str]:
    return (f"{name:16} {catalog.title(path)}" for name, path in catalog.experiments().items())


def _data() -> Iterator[str]:
    from c3clust import data

    for entry in data.describe():
        yield f"{entry.name}: {entry.what}"
        yield f"  {entry.found or 'not found'}"
        if not entry.found:
            yield f"  looked in {', '.join(entry.looks_in)}"
            yield f"  get it: {entry.fetch or entry.address}"


LISTINGS = {
    "methods": _methods, "data": _data, "recipes": _recipes, "encoders": _encoders, "experiments": _experiments,
}  # fmt: skip
