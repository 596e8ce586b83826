"""Recipes: a method, its data, and only the values that differ from the method's defaults, as TOML files."""

import tomllib
from importlib.resources import files
from typing import Any

from c3clust.errors import InputError, suggest

__all__ = ["load", "names"]


def names() -> list[str]:
    """The names of all recipes: the files of this folder."""
    return sorted(f.name.removesuffix(".toml") for f in files(__name__).iterdir() if f.name.endswith(".toml"))


def load(name: str) -> dict[str, Any]:
    """{"method", "data", "n_clusters", "params"} of a recipe."""
    if name not in names():
        raise InputError(f"recipe {name!r} is unknown. {suggest(name, names())}")
    return tomllib.loads((files(__name__) / f"{name}.toml").read_text(encoding="utf-8"))
