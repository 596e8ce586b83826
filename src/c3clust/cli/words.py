"""Words of the command line to texts, paths and integers, without pydantic.

Typer converts every value with pydantic, also a default, and importing it takes longer than most commands run. Values
that need no more than `str`, `Path` or `int` are converted here; all others, and those that are wrong, by Typer itself.
Versions of Typer that do not have the attribute `_runtime_param` ignore it.
"""

from pathlib import Path
from typing import Any, get_args, get_origin

import typer

__all__ = ["convert_simply"]


class _Simple:
    """Takes the place of what Typer converts the values of one parameter with."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        kind = param.type_descriptor.annotation
        several = get_origin(kind) is list
        kind, limited = get_args(kind)[0] if several else kind, param.type_descriptor.is_ranged
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        words = value if several and isinstance(value, list | tuple) else [value]
        if not limited and all(_is_simple(word, kind) for word in words):
            found = [word if isinstance(word, kind) else kind(word) for word in words]
            return found if several else found[0]
        if several or isinstance(value, str) or not isinstance(value, kind):
            param._runtime_param = None
            return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
        return value  # a default


def _is_simple(word: Any, kind: Any) -> bool:
    if kind is int:
        return isinstance(word, str) and word.isascii() and word.isdecimal()
    return kind in (str, Path) and isinstance(word, str | Path)


def convert_simply(group: Any) -> Any:
    """The same group of commands, whose simple values are converted without pydantic."""
    for command in (group, *group.commands.values()):
        for param in command.get_params(typer.Context(command)):
            param._runtime_param = _Simple()
    return group
