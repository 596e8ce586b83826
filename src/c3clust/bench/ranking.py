"""Ranking: the rows of a dataset by their mean ACC over the seeds that all of them have.

A mean over other seeds is another mean, so further seeds of some rows do not enter the order; a column of its own has
them, with the 95 % interval. Methods that are marked `ranked = False` are left out. Rows whose runs are
incomplete are named below the table.
"""

from collections.abc import Sequence

from c3clust import methods
from c3clust.bench.format import markdown_table
from c3clust.bench.statistics import ENOUGH, METRICS, Row, mean_and_std, paired, title

HEAD = ("", "method", "ACC", "NMI", "ARI", "CPU time", "ACC over all its seeds")


def ranking(rows: Sequence[Row]) -> str:
    """One table per dataset, the best row first."""
    datasets = dict.fromkeys(row.data for row in rows if row.results)
    return "\n".join(_table(data, [row for row in rows if row.data == data and row.results]) for data in datasets)


def is_ranked(name: str) -> bool:
    """Whether a method has a place in a ranking: not a reconstruction that is not its authors' method."""
    return name not in methods.names() or getattr(methods.load(name), "ranked", True)


def common_seeds(rows: Sequence[Row]) -> set[int]:
    """The seeds that the most complete rows share: those that at least half of the rows have."""
    every = [{r.job.seed for r in row.results if r.scores} for row in rows]
    return {seed for seed in set().union(*every) if 2 * sum(seed in own for own in every) >= len(every)}


def _table(data: str, rows: Sequence[Row]) -> str:
    members = [row for row in rows if is_ranked(row.method)]
    seeds = common_seeds(members)
    complete = [row for row in members if seeds and seeds <= {r.job.seed for r in row.results if r.scores}]
    ordered = sorted(complete, key=lambda row: -sum(_values(row, "acc", seeds)))
    lines = [[str(place), *_cells(row, seeds)] for place, row in enumerate(ordered, 1)]
    heading = f"**{data}; order by the mean over seeds {', '.join(map(str, sorted(seeds)))}**"
    text = f"{heading}\n\n{markdown_table(HEAD, lines)}"
    left = [title(row) for row in rows if row not in complete]
    return text + (f"\nNot ranked, or without all of these seeds: {', '.join(left)}.\n" if left else "")


def _cells(row: Row, seeds: set[int]) -> list[str]:
    scores = [mean_and_std(_values(row, metric, seeds)) for metric in METRICS]
    seconds = row.seconds("processor_seconds")
    every = row.values("acc")
    more = paired(every, [0.0] * len(every))
    own = f"{more.mean:.3f} [{more.low:.3f}, {more.high:.3f}], n = {more.n}" if more.n >= ENOUGH else "–"
    return [title(row), *scores, "–" if seconds is None else f"{seconds:.1f} s", own]


def _values(row: Row, metric: str, seeds: set[int]) -> list[float]:
    return [r.scores[metric] for r in row.results if r.scores and r.job.seed in seeds]
