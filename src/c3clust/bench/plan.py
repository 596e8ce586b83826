"""From words to jobs: sources × methods × seeds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import data, methods, recipes
from c3clust.bench.job import Job
from c3clust.bench.table import in_order
from c3clust.errors import InputError, suggest
from c3clust.recipes.settings import parse_settings

__all__ = ["clusters_of", "numbers", "plan", "recipe_params"]

SHARED = ("backbone", "stem", "image_size", "augment", "projection_dim")  # a network, and how views are made


def plan(
    sources: Sequence[str],
    names: Sequence[str],
    seeds: Sequence[int],
    clusters: int | None = None,
    settings: Sequence[str] = (),
    recipe: str | None = None,
    labels: str | None = None,
    encoder: str | None = None,
) -> list[Job]:
    """One job for each source, method and seed, all on the features of `encoder` if it is given.

    A setting is "method.parameter=value".
    """
    known, chosen = in_order(), recipes.load(recipe) if recipe else {}
    for name in [*names, *(setting.partition(".")[0] for setting in settings)]:
        if name not in known:
            raise InputError(f"method {name!r} is unknown. {suggest(name, known)}")
    jobs = []
    for source in sources:
        place = source if source in data.names() or not Path(source).exists() else str(Path(source).absolute())
        k = clusters or chosen.get("n_clusters") or clusters_of(place, labels)
        for name in names or known:
            own = [setting.partition(".")[2] for setting in settings if setting.partition(".")[0] == name]
            params = {**parse_settings(name, own, recipe_params(name, chosen)), "n_clusters": k}
            if encoder is not None:
                params["encoder"] = encoder if not Path(encoder).exists() else str(Path(encoder).absolute())
            wanted = {"labels": labels, "image_size": params.get("image_size")}
            options = {option: value for option, value in wanted.items() if value is not None}
            jobs += [Job(place, name, params, seed, options=options) for seed in seeds]
    return jobs


def recipe_params(name: str, recipe: dict[str, Any]) -> dict[str, Any]:
    """What a recipe of C3 means for a method: all for C3, stage 1 for CC, network and views for other networks."""
    given, known = recipe.get("params", {}), methods.parameters(name)
    if name == recipe.get("method"):
        return dict(given)
    if "backbone" not in known:
        return {}
    shared = {key: given[key] for key in SHARED if key in given and key in known}
    if name != "cc":
        return shared
    stage = {key.removeprefix("cc_"): value for key, value in given.items() if key.startswith("cc_")}
    return shared | stage | {key: given[key] for key in ("tau_i", "tau_c") if key in given}


def clusters_of(place: str, labels: str | None = None) -> int:
    """As many clusters as a known set has by its recipe, else as many as there are classes."""
    for name in recipes.names():
        recipe = recipes.load(name)
        if recipe["data"] == place:
            return int(recipe["n_clusters"])
    options: dict[str, Any] = {"labels": labels} if labels else {}
    y = data.load(place, **options).y
    if y is None:
        raise InputError(f"{place} has no classes to count: say how many clusters with -k.")
    return len(np.unique(y))


def numbers(text: str) -> list[int]:
    """Seeds from words.

    >>> numbers("0,1,5-7")
    [0, 1, 5, 6, 7]
    """
    found: list[int] = []
    for word in text.replace(",", " ").split():
        low, dash, high = word.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise InputError(f"{word!r} is not a seed: give numbers such as 0,1,2 or 0-4.")
        found += range(int(low), int(high if dash else low) + 1)
    return list(dict.fromkeys(found))
