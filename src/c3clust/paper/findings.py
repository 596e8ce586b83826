"""Claims of the paper, what was measured here, and a verdict that follows from the numbers alone.

A claim about a difference holds if the 95 % interval over seeds lies on the claimed side of 0, or within the limit that
is stated with the claim; it does not hold if the interval lies on the other side, and is open otherwise. With fewer
than ENOUGH seeds every claim is open. A property of a formula needs no seeds.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from c3clust.bench.statistics import ENOUGH, Difference, paired_by_seed
from c3clust.paper.values import Rows, select

LIMIT = 0.01  # of ACC: less is no difference
VERDICTS = {True: "holds", False: "does not hold", None: "open"}


@dataclass(frozen=True)
class Finding:
    """A claim, what was measured, and whether it holds (None: open)."""

    claim: str
    measured: str
    holds: bool | None


def side(d: Difference, positive: bool = True) -> bool | None:
    """Whether a difference is on the claimed side of 0; None if the interval contains 0, or for fewer than ENOUGH."""
    if d.n < ENOUGH or d.low <= 0 <= d.high:
        return None
    return (d.low > 0) == positive


def at_most(d: Difference, limit: float) -> bool | None:
    """Whether a difference is below the limit; None if the interval contains the limit, or for fewer than ENOUGH."""
    return None if d.n < ENOUGH or d.low <= limit <= d.high else d.high < limit


def within(d: Difference, limit: float) -> bool | None:
    """Whether a difference is between -limit and limit."""
    return both(at_most(d, limit), at_most(Difference(-d.mean, -d.high, -d.low, d.n), limit))


def enough(verdict: bool, n: int) -> bool | None:
    """The verdict, if it comes from ENOUGH seeds."""
    return verdict if n >= ENOUGH else None


def both(*verdicts: bool | None) -> bool | None:
    """Whether all of them hold; one that fails decides, one that is open leaves it open."""
    return False if False in verdicts else None if None in verdicts else True


def difference(first: Rows, second: Rows, metric: str = "acc") -> Difference:
    """first − second over the seeds that both have."""
    one, two = ({row["seed"]: row[metric] for row in rows if row[metric] != ""} for rows in (first, second))
    return paired_by_seed(one, two)


def change(rows: Rows, metric: str = "acc") -> Difference:
    """The last epoch − the first."""
    epochs = [row["epoch"] for row in rows if row[metric] != ""]
    return difference(select(rows, epoch=max(epochs)), select(rows, epoch=min(epochs)), metric)


def markdown(findings: Sequence[Finding]) -> str:
    lines = ["| claim | here | verdict |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {f.claim} | {f.measured} | {VERDICTS[f.holds]} |" for f in findings)]) + "\n"
