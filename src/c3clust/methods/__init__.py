"""The methods, one file each. The folder is the list: a new file is seen by the command line, the tests, the tables."""

from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from c3clust.encoders import register
from c3clust.encoders.run import Runs
from c3clust.errors import InputError, suggest
from c3clust.estimator import read_model, restore

__all__ = ["load", "load_model", "names", "parameters", "title"]


def names() -> list[str]:
    """The names of all methods: the files of this folder.

    >>> {"c3", "cc", "kmeans"} <= set(names())
    True
    """
    found = (module.name for module in iter_modules([str(Path(__file__).parent)]))
    return sorted(name for name in found if not name.startswith("_"))


def load(name: str) -> Any:
    """The estimator class of a method.

    >>> load("c3")
    <class 'c3clust.methods.c3.C3'>
    """
    if name not in names():
        raise InputError(f"method {name!r} is unknown. {suggest(name, names())}")
    module = import_module(f"{__name__}.{name}")
    return getattr(module, module.__all__[0])


def parameters(name: str) -> list[str]:
    """The names of a method's parameters."""
    return list(signature(load(name)).parameters)


def title(name: str) -> str:
    """What a method is: the first line of its file."""
    return (import_module(f"{__name__}.{name}").__doc__ or "").strip().splitlines()[0]


def load_model(folder: str | Path, **given: Any) -> Any:
    """The fitted estimator that was saved in `folder` (a run, or what `save` wrote). Executes nothing from it.

    `given` holds parameters that a file cannot hold: `backbone=` your own module; `device=` overrides the saved one.
    """
    meta, state = read_model(folder)
    return restore(load(meta["method"]), folder, given, meta, state)


register(Runs(load_model))
