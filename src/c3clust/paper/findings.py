"""What the paper says, beside what was measured here, with a verdict that follows from the numbers alone.

A claim about a difference holds if the 95 % interval over seeds lies on its side of 0, does not hold if it lies on the
other, and is left open in between. Other claims come with the limit that decides them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from c3clust.bench.table import Difference, paired
from c3clust.paper.values import Rows, chosen

__all__ = ["Finding", "change", "difference", "markdown", "side"]

VERDICTS = {True: "holds", False: "does not hold", None: "open"}


@dataclass(frozen=True)
class Finding:
    """A claim, what was measured, and whether it holds (None: open)."""

    claim: str
    measured: str
    holds: bool | None


def side(d: Difference, positive: bool = True) -> bool | None:
    """Whether a difference is on the claimed side of 0, as far as the seeds tell; one seed tells nothing."""
    if d.n < 2 or d.low <= 0 <= d.high:
        return None
    return (d.low > 0) == positive


def difference(first: Rows, second: Rows, metric: str = "acc") -> Difference:
    """first − second over the seeds that both have."""
    one, two = ({row["seed"]: row[metric] for row in rows if row[metric] != ""} for rows in (first, second))
    seeds = sorted(one.keys() & two.keys())
    return paired([one[seed] for seed in seeds], [two[seed] for seed in seeds])


def change(rows: Rows, metric: str = "acc") -> Difference:
    """From the first epoch to the last."""
    epochs = [row["epoch"] for row in rows if row[metric] != ""]
    return difference(chosen(rows, epoch=max(epochs)), chosen(rows, epoch=min(epochs)), metric)


def markdown(findings: Sequence[Finding]) -> str:
    """A table of claims."""
    lines = ["| claim | here | verdict |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {f.claim} | {f.measured} | {VERDICTS[f.holds]} |" for f in findings)]) + "\n"
