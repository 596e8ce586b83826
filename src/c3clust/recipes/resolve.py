"""What a recipe, settings and options mean together. The command line, bench/ and paper/ all use this module.

From lowest to highest precedence: the method's defaults, the recipe, the options, the settings ("name=value").
The number of clusters is the one given, or the recipe's; else it is found from the data. The method "auto" is known
when the data are loaded: `Resolved.on`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import data, methods, recipes
from c3clust.data.samples import Dataset
from c3clust.errors import InputError, suggest
from c3clust.methods._auto import METHODS, choose_method

AUTO = "auto"  # the method that suits the data
SHARED = ("backbone", "stem", "image_size", "augment", "projection_dim")  # what all networks of a recipe have in common
IF_KNOWN = ("image_size", "verbose")  # options that are ignored by methods without the parameter
OPTIONS = {"n_clusters": "-k", "random_state": "--seed"}  # parameters that are options, and no settings
PATHS = ("start", "encoder")  # parameters that may be the path of a run


@dataclass(frozen=True)
class Resolved:
    """One run: `params` are all parameters that differ from the method's defaults, `options` go to `data.load`."""

    source: str
    method: str
    params: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def load_options(self) -> dict[str, Any]:
        """All options for `data.load`: what the method's encoder needs, then `options`."""
        return load_options(self.method, self.params, self.options)

    def on(self, dataset: Dataset) -> tuple["Resolved", str | None]:
        """This run with the method that "auto" means for a data set, and a sentence that says so."""
        if self.method != AUTO:
            return self, None
        method, note = choose_method(dataset, self.params.get("encoder", "auto"))
        _check_known(method, self.params, f"{method}, which suits these data,")
        return replace(self, method=method), note


def resolve(
    method: str | None = None,
    recipe: str | None = None,
    settings: Sequence[str] = (),
    source: str | None = None,
    n_clusters: int | str | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    options: Mapping[str, Any] | None = None,
    count_classes: bool = False,
) -> Resolved:
    """Resolve a recipe, settings and options to one run.

    Parameters
    ----------
    method, source, n_clusters
        Default: those of the recipe; without one, the method "auto", which the data decide, and the number of clusters
        "auto", which finds it. With `count_classes`, a source without a recipe has as many clusters as classes.
    recipe : str, optional
        The name of a recipe; see `recipe_params` for what it means for another method than its own.
    settings : sequence of str
        "name=value", see `parse_settings`.
    params : mapping
        Parameters of the method that were given as options; None is the same as not given.
    options : mapping
        Options for `data.load`; None is the same as not given.
    """
    chosen = recipes.load(recipe) if recipe else {}
    source = source or chosen.get("data")
    method = method or chosen.get("method", AUTO)
    if source is None:
        raise InputError(
            "No source was given: give a folder of images, a file, or a data set (see: c3clust list data)."
        )
    given = _given(options)
    n_clusters = n_clusters or chosen.get("n_clusters")
    if n_clusters is None and not count_classes:
        if method != AUTO and not methods.find(method).chooses_k:
            raise InputError(f"The number of clusters was not given, which {method} needs: give it with -k.")
        n_clusters = "auto"
    known = parameters(method)
    accepted = {name: value for name, value in _given(params).items() if name in known or name not in IF_KNOWN}
    found = parse_settings(method, settings, recipe_params(method, chosen) | accepted)
    source = absolute(source)
    found["n_clusters"] = n_clusters or default_clusters(source, given.get("labels"))
    if given.get("labels") not in (None, "folders"):
        given["labels"] = absolute(str(given["labels"]))
    found |= {name: absolute(found[name]) for name in PATHS if isinstance(found.get(name), str)}
    if found.get("image_size") is not None:
        given.setdefault("image_size", found["image_size"])
    return Resolved(source, method, found, given)


def recipe_params(method: str, recipe: Mapping[str, Any]) -> dict[str, Any]:
    """What a recipe of C3 means for a method: all for C3, stage 1 for CC, network and views for other networks.

    C3Adaptive has the epochs of both stages too.
    """
    values = recipe.get("params", {})
    known = parameters(method)
    if method == recipe.get("method"):
        return dict(values)
    if "backbone" not in known:
        return {}
    names = (*SHARED, "cc_epochs", "epochs") if method == "c3_adaptive" else SHARED
    shared = {name: values[name] for name in names if name in values and name in known}
    if method != "cc":
        return shared
    stage = {name.removeprefix("cc_"): value for name, value in values.items() if name.startswith("cc_")}
    return shared | stage | {name: values[name] for name in ("tau_i", "tau_c") if name in values}


def load_options(method: str, params: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options for `data.load`: what the method with these parameters needs, then the given ones."""
    if method == AUTO:
        cls = METHODS["consensus"]  # those of all methods of "auto" are the same
        params = {name: value for name, value in params.items() if name in methods.parameters("consensus")}
    else:
        cls = methods.find(method)
    return _given(cls(**params)._input_options().load_options()) | dict(options)


def parse_settings(method: str, settings: Sequence[str], base: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of `method`: those of `base`, then each "name=value"; "augment.jitter=1" changes one entry of a dict.

    >>> parse_settings("c3", ["zeta=0.7", "augment.policy=photo"], {"epochs": 20})
    {'epochs': 20, 'zeta': 0.7, 'augment': {'policy': 'photo'}}
    """
    params = dict(base)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise InputError(f"--set {setting!r} is not of the form name=value, for example --set zeta=0.7.")
        name, _, key = name.strip().partition(".")
        if name in OPTIONS:
            raise InputError(f"--set {setting!r} is not possible: the option {OPTIONS[name]} sets it.")
        entries = params[name] if isinstance(params.get(name), dict) else {}
        params[name] = {**entries, key: _value(value)} if key else _value(value)
    _check_known(method, params, method)
    return params


def parameters(method: str) -> list[str]:
    """The names of the parameters of a method; of "auto", those that one of its methods has."""
    if method != AUTO:
        return methods.parameters(method)
    return list(dict.fromkeys(name for each in METHODS for name in methods.parameters(each)))


def _check_known(method: str, params: Mapping[str, Any], what: str) -> None:
    known = parameters(method)
    for name in params:
        if name not in known:
            raise InputError(f"{what} has no parameter {name!r}. {suggest(name, known)}")


def default_clusters(source: str, labels: str | None = None) -> int:
    """The number of clusters of a known dataset according to its recipe, else the number of classes of the source."""
    for recipe in map(recipes.load, recipes.names()):
        if recipe.get("data") == source:
            return int(recipe["n_clusters"])
    y = data.load(source, **_given({"labels": labels})).y
    if y is None:
        raise InputError(f"{source} has no classes to count: give the number of clusters with -k.")
    return len(np.unique(y))


def absolute(place: str) -> str:
    """The absolute path of what exists on disk; names of datasets, encoders and all else are returned unchanged."""
    return place if data.is_name(place) or not Path(place).exists() else str(Path(place).absolute())


def _given(values: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (values or {}).items() if value is not None}


def _value(text: str) -> Any:
    """A number, true, false, null or a list as in JSON; anything else is a string."""
    try:
        return json.loads(text)
    except ValueError:
        return {"True": True, "False": False, "None": None}.get(text.strip(), text.strip())
