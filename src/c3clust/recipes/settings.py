"""Parameters from words: `--set name=value` on top of a recipe, checked against the method's own signature."""

import json
from collections.abc import Sequence
from typing import Any

from c3clust import methods
from c3clust.errors import InputError, suggest

__all__ = ["parse_settings"]


def parse_settings(method: str, settings: Sequence[str], base: dict[str, Any]) -> dict[str, Any]:
    """Parameters of `method`: those of `base`, then each "name=value"; "augment.jitter=1" reaches into a table.

    >>> parse_settings("c3", ["zeta=0.7", "augment.policy=photo"], {"epochs": 20})
    {'epochs': 20, 'zeta': 0.7, 'augment': {'policy': 'photo'}}
    """
    known = methods.parameters(method)
    params = dict(base)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting!r} is not name=value, for example --set zeta=0.7.")
        name, _, key = name.strip().partition(".")
        if key:
            table = params.get(name)
            params[name] = {**(table if isinstance(table, dict) else {}), key: _value(value)}
        else:
            params[name] = _value(value)
    for name in params:
        if name not in known:
            raise InputError(f"{method} has no parameter {name!r}. {suggest(name, known)}")
    return params


def _value(text: str) -> Any:
    """A number, true, false, null or a list as JSON writes them; anything else is a word."""
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text.strip(), text.strip())
