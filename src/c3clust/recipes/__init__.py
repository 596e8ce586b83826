"""Recipes: a method, its dataset, and the values that differ from the method's defaults, one TOML file per recipe.

A recipe with a `base` has all values of that recipe, apart from those that it gives itself. The recipes of the paper's
datasets are based on c3-as-published, which has the paper's network, views and budget. Recipes for a CPU have a small
network and budgets of their own; the method is C3 as published in all of them.
"""

import tomllib
from pathlib import Path
from typing import Any

from c3clust.errors import InputError, suggest
from c3clust.files import catalog

__all__ = ["load", "names"]


def names() -> list[str]:
    """The names of all recipes: the TOML files of this folder."""
    return list(catalog.recipes())


def load(name: str) -> dict[str, Any]:
    """{"method", "params"} of a recipe, and "data" and "n_clusters" where it has them."""
    if name not in names():
        raise InputError(f"recipe {name!r} is unknown. {suggest(name, names())}")
    own = tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))
    base = load(own.pop("base")) if "base" in own else {}
    return base | own | {"params": base.get("params", {}) | own.get("params", {})}
