"""Recipes: a method, its dataset, and the values that differ from the method's defaults, one TOML file per recipe.

`AS_PUBLISHED` is C3 as Sadeghi et al. (BMVC 2023, sections 3 and 4) describe it. The recipes of the paper's datasets
contain it, apart from what the paper itself changes (zeta of Tiny-ImageNet) and from the guard, which they leave on:
it only acts on a run that collapses. Recipes for a CPU have budgets of their own, guidance by views, which the studies
of docs/REPRODUCTION.md are about, and the package's defaults otherwise.
"""

import tomllib
from importlib.resources import files
from typing import Any

from c3clust.errors import InputError, suggest

__all__ = ["AS_PUBLISHED", "load", "names"]

AS_PUBLISHED: dict[str, Any] = {
    "guidance": "views",
    # Stage 1: CC, with a cluster head that starts at random and a constant learning rate.
    "cc_warmup": 0,
    "cc_schedule": "constant",
    "cc_lr": 3e-4,
    "cc_epochs": 1000,
    "cc_batch_size": 256,
    # Stage 2: the C3 loss trains f and g_I; labels come from the frozen cluster head.
    "zeta": 0.6,
    "gamma": 0.1,
    "head": "frozen",
    "settle": 0,
    "readout": "head",
    "guard": False,
    "schedule": "constant",
    "lr": 1e-5,
    "epochs": 20,
    "batch_size": 128,
}


def names() -> list[str]:
    """The names of all recipes: the TOML files of this folder."""
    return sorted(f.name.removesuffix(".toml") for f in files(__name__).iterdir() if f.name.endswith(".toml"))


def load(name: str) -> dict[str, Any]:
    """{"method", "data", "n_clusters", "params"} of a recipe."""
    if name not in names():
        raise InputError(f"recipe {name!r} is unknown. {suggest(name, names())}")
    return tomllib.loads((files(__name__) / f"{name}.toml").read_text(encoding="utf-8"))
