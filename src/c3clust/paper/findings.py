"""Claims of the paper, what was measured here, and a verdict that follows from the numbers alone.

A claim about a difference holds if the 95 % interval over seeds lies on the claimed side of 0, does not hold if it lies
on the other side, and is open otherwise. Other claims are decided by the limit that is stated with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from c3clust.bench.statistics import Difference, paired_by_seed
from c3clust.paper.values import Rows, select

VERDICTS = {True: "holds", False: "does not hold", None: "open"}


@dataclass(frozen=True)
class Finding:
    """A claim, what was measured, and whether it holds (None: open)."""

    claim: str
    measured: str
    holds: bool | None


def side(d: Difference, positive: bool = True) -> bool | None:
    """Whether a difference is on the claimed side of 0; None if the interval contains 0, or for a single seed."""
    if d.n < 2 or d.low <= 0 <= d.high:
        return None
    return (d.low > 0) == positive


def negate(verdict: bool | None) -> bool | None:
    """The opposite verdict; open stays open."""
    return None if verdict is None else not verdict


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
