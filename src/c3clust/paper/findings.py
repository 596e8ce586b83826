"""Claims of the paper, what was measured here, and a verdict that follows from the numbers alone.

A claim about a difference holds if the 95 % interval over seeds lies on the claimed side of 0, or within the limit that
is stated with the claim; it does not hold if the interval lies on the other side, and is open otherwise. With fewer
than ENOUGH seeds every claim is open. A property of a formula needs no seeds. There are many claims, so that some
intervals would miss 0 by chance: for a verdict, intervals are widened to 1 - 0.05 / CLAIMS (Bonferroni), so that with
95 % confidence no verdict of all the pages is wrong. The intervals that are printed are those of one claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

from c3clust.bench.statistics import ENOUGH, Difference, paired_by_seed
from c3clust.paper.values import Rows, select

CLAIMS = 28  # with a verdict from seeds, in docs/REPRODUCTION.md and its appendix
LIMIT = 0.01  # of ACC: less is no difference
VERDICTS = {True: "holds", False: "does not hold", None: "open"}


@dataclass(frozen=True)
class Finding:
    """A claim, what was measured, and whether it holds (None: open)."""

    claim: str
    measured: str
    holds: bool | None


def corrected(d: Difference) -> Difference:
    """The difference with an interval for one of CLAIMS claims, instead of for this one alone."""
    if d.n < ENOUGH:
        return d
    alone, among = (float(stdtrit(d.n - 1, 1 - 0.025 / claims)) for claims in (1, CLAIMS))
    half = (d.high - d.low) / 2 * among / alone
    return Difference(d.mean, d.mean - half, d.mean + half, d.n)


def side(d: Difference, positive: bool = True) -> bool | None:
    """Whether a difference is on the claimed side of 0; None if the interval contains 0, or for fewer than ENOUGH."""
    d = corrected(d)
    if d.n < ENOUGH or d.low <= 0 <= d.high:
        return None
    return (d.low > 0) == positive


def at_most(d: Difference, limit: float) -> bool | None:
    """Whether a difference is below the limit; None if the interval contains the limit, or for fewer than ENOUGH."""
    d = corrected(d)
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
