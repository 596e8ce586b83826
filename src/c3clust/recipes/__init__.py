"""Recipes: a method, its dataset, and the values that differ from the method's defaults, one TOML file per recipe.

A recipe with a `base` has all values of that recipe, apart from those that it gives itself. "As published" has one
definition, the recipe c3-as-published. The recipes of the paper's datasets are based on it, and `AS_PUBLISHED` is its
method: all of its parameters but the network and the views, which depend on the data. Recipes for a CPU have budgets of
their own, guidance by views, which the studies of docs/REPRODUCTION.md are about, and the package's defaults otherwise.
"""

import tomllib
from pathlib import Path
from typing import Any

from c3clust.errors import InputError, suggest
from c3clust.files import catalog

__all__ = ["AS_PUBLISHED", "load", "names"]

NETWORK = ("backbone", "stem", "image_size", "projection_dim", "augment", "tau_i", "tau_c")


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


AS_PUBLISHED = {name: value for name, value in load("c3-as-published")["params"].items() if name not in NETWORK}
