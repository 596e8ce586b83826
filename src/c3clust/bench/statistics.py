"""Results -> rows: mean and standard deviation over seeds, the paper's numbers, paired differences of two methods.

A run that collapsed or diverged counts with the labels it still produced, if any. Numbers that the paper reports for
the same dataset come from cited.csv.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
from scipy.special import stdtrit

from c3clust import methods
from c3clust.bench.job import Result

METRICS = ("acc", "nmi", "ari")
ENOUGH = 5  # pairs for an interval of confidence, and for a verdict
Scores = dict[str, float]


@dataclass(frozen=True)
class Row:
    """All runs of one name on one dataset, with the paper's scores where it reports any. No results: cited only."""

    data: str
    name: str
    method: str
    results: Sequence[Result] = ()
    cited: Scores | None = None
    note: str = ""

    def values(self, metric: str) -> list[float]:
        return [r.scores[metric] for r in self.results if r.scores]

    def seconds(self, clock: str = "seconds") -> float | None:
        """Mean wall-clock time (or "processor_seconds") of a run including its start; None if it is not known."""
        times = [total for r in self.results if (total := r.total(clock))]
        return float(np.mean(times)) if times else None

    @property
    def share(self) -> float | None:
        """The fraction of its own epochs that a method trains within the budget; None without a budget."""
        return next((r.share for r in self.results if r.share is not None), None)

    def not_ok(self) -> list[Result]:
        return [r for r in self.results if r.status != "ok"]


@dataclass(frozen=True)
class Difference:
    """Mean of n paired differences, and how far they spread.

    From ENOUGH pairs on, low and high are the 95 % interval of the mean (Student's t). With fewer they are the smallest
    and the largest difference, which is no interval of confidence; with one pair they are that pair.
    """

    mean: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        """An interval of confidence is in brackets; fewer differences are given as what they are."""
        if self.n < 2:
            return f"{self.mean:+.3f}, n = {self.n}"
        if self.n < ENOUGH:
            return f"{self.mean:+.3f} (min {self.low:+.3f}, max {self.high:+.3f}), n = {self.n}"
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}], n = {self.n}"


def paired(first: Sequence[float], second: Sequence[float]) -> Difference:
    """first − second, pair by pair (seed by seed).

    >>> print(paired([0.9, 0.8, 0.8], [0.8, 0.7, 0.6]))
    +0.133 (min +0.100, max +0.200), n = 3
    >>> print(paired([0.9, 0.8, 0.7, 0.6, 0.5], [0.8, 0.7, 0.6, 0.5, 0.3]))
    +0.120 [+0.064, +0.176], n = 5
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not len(d):
        return Difference(math.nan, math.nan, math.nan, 0)
    mean, low, high = float(d.mean()), float(d.min()), float(d.max())
    if len(d) >= ENOUGH:
        half = float(stdtrit(len(d) - 1, 0.975) * d.std(ddof=1) / math.sqrt(len(d)))
        low, high = mean - half, mean + half
    return Difference(mean, low, high, len(d))


def paired_by_seed(first: dict[int, float], second: dict[int, float]) -> Difference:
    """first − second over the seeds that both have."""
    seeds = sorted(first.keys() & second.keys())
    return paired([first[seed] for seed in seeds], [second[seed] for seed in seeds])


def compare(a: Row, b: Row, metric: str) -> Difference:
    one, two = ({r.job.seed: r.scores[metric] for r in row.results if r.scores} for row in (a, b))
    return paired_by_seed(one, two)


def rows(results: Iterable[Result]) -> list[Row]:
    """One row per name and dataset: methods with their default parameters in the paper's order, then other names.

    Runs on the features of an encoder, or with a budget, count as another dataset, so they share no table with others.
    Of two runs with the same seed, as those with encoder="auto" and with the encoder that it means, the last counts.
    The paper's numbers for a dataset are added to our rows; methods that this package lacks get their own rows.
    """
    known, grouped = in_order(), defaultdict[tuple[str, str], list[Result]](list)
    for result in sorted(results, key=lambda r: known.index(r.job.name) if r.job.name in known else len(known)):
        grouped[_place(result), result.job.name].append(result)
    known_scores, ours, used = cited(), [], set()
    for (data, name), found in grouped.items():
        members = list({result.job.seed: result for result in found}.values())
        method = members[0].job.method
        same = next((c for c in known_scores if (c.data, c.method) == (data, method) and name == method), None)
        used.add(id(same))
        ours.append(Row(data, name, method, members, same.cited if same else None, same.note if same else ""))
    datasets = {row.data for row in ours}
    return ours + [row for row in known_scores if row.data in datasets and id(row) not in used]


def _place(result: Result) -> str:
    """The dataset, as the title of its table."""
    encoder = f", features of {result.encoder}" if result.encoder else ""
    budget = "" if result.job.budget is None else f", {result.job.budget:g} s of CPU time per run"
    share = "" if result.job.share is None else f", {result.job.share:.0%} of the epochs of each method"
    return f"{result.job.data}{encoder}{budget}{share}"


def cited() -> list[Row]:
    """The paper's scores. A line without a method belongs to the method with its name, if there is one."""
    lines = csv.DictReader((files("c3clust.bench") / "cited.csv").read_text(encoding="utf-8").splitlines())
    known = methods.names()
    return [
        Row(c["data"], c["name"], method, (), {m: float(c[m]) for m in METRICS if c[m]}, c["note"])
        for c in lines
        for method in [c["method"] or (c["name"].lower() if c["name"].lower() in known else "")]
    ]


def in_order() -> list[str]:
    """All methods: those of the paper's table in its order, the others before CC and C3."""
    order = list(dict.fromkeys(row.method for row in cited() if row.method))
    return sorted(methods.names(), key=lambda name: order.index(name) if name in order else order.index("cc") - 0.5)


def title(row: Row) -> str:
    """The method's own name for a row of its default parameters, else the row's name."""
    own = row.name == row.method and row.method in methods.names()
    return methods.title(row.method).split(":")[0].split(" on ")[0] if own else row.name


def best(rows: Sequence[Row]) -> Scores:
    """The largest mean of each metric among our own runs, rounded as in the tables."""
    means = {m: [round(float(np.mean(row.values(m))), 3) for row in rows if row.values(m)] for m in METRICS}
    return {m: max(values) for m, values in means.items() if values}


def mean_and_std(values: Sequence[float]) -> str:
    """Mean ± standard deviation; of one value, the value.

    >>> mean_and_std([0.5, 0.75]), mean_and_std([0.5])
    ('0.625 ± 0.177', '0.500')
    """
    return f"{np.mean(values):.3f}" + (f" ± {np.std(values, ddof=1):.3f}" if len(values) > 1 else "")
