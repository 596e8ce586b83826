"""Sources × methods × seeds -> jobs."""

from collections.abc import Sequence

from c3clust.bench.job import Job
from c3clust.bench.statistics import in_order
from c3clust.errors import InputError, suggest
from c3clust.recipes.resolve import resolve


def plan(
    sources: Sequence[str],
    names: Sequence[str],
    seeds: Sequence[int],
    clusters: int | str | None = None,
    settings: Sequence[str] = (),
    recipe: str | None = None,
    labels: str | None = None,
    encoder: str | None = None,
) -> list[Job]:
    """One job per source, method and seed, all on the features of `encoder` if it is given.

    A setting is "method.parameter=value".
    """
    known = in_order()
    for name in [*names, *(setting.partition(".")[0] for setting in settings)]:
        if name not in known:
            raise InputError(f"method {name!r} is unknown. {suggest(name, known)}")
    jobs = []
    for source in sources:
        k = clusters
        for name in names or known:
            own = [setting.partition(".")[2] for setting in settings if setting.partition(".")[0] == name]
            given = {"params": {"encoder": encoder}, "options": {"labels": labels}}
            run = resolve(name, recipe, own, source, k, count_classes=True, **given)
            k = run.params["n_clusters"]  # counted once per source
            jobs += [Job(run.source, name, run.params, seed, options=run.options) for seed in seeds]
    return jobs


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
