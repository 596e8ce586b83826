"""Sources × methods × seeds -> jobs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from c3clust import checks, methods
from c3clust.bench.job import Job
from c3clust.bench.ranking import is_ranked
from c3clust.bench.statistics import in_order
from c3clust.errors import InputError, suggest
from c3clust.recipes.resolve import Resolved, absolute, resolve

STAGE = ("epochs", "batch_size", "lr", "schedule")  # parameters of CC that C3 has as cc_NAME


def plan(
    sources: Sequence[str],
    names: Sequence[str],
    seeds: Sequence[int],
    clusters: int | str | None = None,
    settings: Sequence[str] = (),
    recipe: str | None = None,
    labels: str | None = None,
    encoder: str | None = None,
    start: str | None = None,
    budget: float | None = None,
    share: float | None = None,
) -> list[Job]:
    """One job per source, method and seed, all on the features of `encoder` if it is given.

    Without names: all methods, except those that have no place in a ranking.
    A setting is "method.parameter=value". `start` is the network that C3 starts from, and CC is that network unchanged.
    `budget`: CPU seconds for each of them. `share`: the fraction of its own epochs that each trains.
    """
    if budget is not None and share is not None:
        raise InputError("--budget and --share both set the epochs: give one of them.")
    if share is not None:
        checks.number("share", share, 0.01, 1, why="it is a fraction of a method's own epochs. A usual value is 0.6.")
    if budget is not None:
        checks.number("budget", budget, 0.1, why="it is the CPU time per run in seconds. A usual value is 60.")
    known = in_order()
    for name in names:
        methods.find(name)
    split = [_split(setting, [*names, *known]) for setting in settings]
    jobs = []
    for source in sources:
        k = clusters
        for name in names or filter(is_ranked, known):
            own = [value for method, value in split if method == name]
            given = {"params": {"encoder": encoder}, "options": {"labels": labels}}
            run = resolve(name, recipe, own, source, k, count_classes=True, **given)
            k = run.params["n_clusters"]  # counted once per source
            jobs += [job_of(run, seed, start, budget, share) for seed in seeds]
    return jobs


def _split(setting: str, known: Sequence[str]) -> tuple[str, str]:
    """The method of "method.parameter=value", and the rest; the name of a method may have dots itself."""
    found = next((name for name in known if setting.startswith(f"{name}.")), None)
    if found is None:
        name = setting.partition(".")[0]
        raise InputError(f"method {name!r} is unknown. {suggest(name, known)}")
    return found, setting.removeprefix(f"{found}.")


def job_of(run: Resolved, seed: int, start: str | None, budget: float | None = None, share: float | None = None) -> Job:
    """The job of a resolved run. C3 starts from the CC of its seed, which is then trained only once.

    A budget holds for all stages of a method, so C3 trains its own CC then, unless a `start` is given.
    """
    shared: dict[str, Any] = {"options": run.options, "budget": budget, "share": share}
    if run.method == "cc" and start is not None:
        return Job(run.source, "cc", run.params | given_network(start, seed), seed, **shared)
    alone = run.params.get("start") is not None or (budget is not None and start is None)
    if run.method != "c3" or alone:
        return Job(run.source, run.method, run.params, seed, **shared)
    stage_2 = {name: value for name, value in run.params.items() if not name.startswith("cc_")}
    return Job(run.source, "c3", stage_2, seed, start=stage_1(run, seed, start, share), **shared)


def stage_1(run: Resolved, seed: int, start: str | None = None, share: float | None = None) -> Job:
    """The CC that a run of C3 starts from; with `start`, that network unchanged."""
    shared = set(methods.parameters("cc")) - {*STAGE, "start"}
    params = {name: value for name, value in run.params.items() if name in shared}
    params |= {name: run.params[f"cc_{name}"] for name in STAGE if f"cc_{name}" in run.params}
    params |= {} if start is None else given_network(start, seed)
    return Job(run.source, "cc", params, seed, options=run.options, share=None if start is not None else share)


def given_network(start: str, seed: int, epochs: int = 0) -> dict[str, Any]:
    """Parameters of CC that continue from a network, where "{seed}" in its path is the seed."""
    path = Path(start.replace("{seed}", str(seed)))
    if not path.exists():
        raise InputError(f"--start {path} does not exist: give a run folder or a checkpoint of CC's released code.")
    return {"start": absolute(str(path)), "epochs": epochs}


def parse_seeds(text: str) -> list[int]:
    """Seeds from numbers and ranges.

    >>> parse_seeds("0,1,5-7")
    [0, 1, 5, 6, 7]
    """
    seeds: list[int] = []
    for word in text.replace(",", " ").split():
        low, dash, high = word.partition("-")
        if not low.isdecimal() or (dash and not high.isdecimal()):
            raise InputError(f"{word!r} is not a seed: give numbers such as 0,1,2 or 0-4.")
        seeds += range(int(low), int(high if dash else low) + 1)
    return list(dict.fromkeys(seeds))
