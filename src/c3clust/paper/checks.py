"""Whether the intervals of "Check 30" contain the true ACC: simulated people judge random samples of each case.

A person judges a sample right if its class is the one that the best matching gives to its cluster. The cases, and their
features, are those of the study `answers`.
"""

from functools import cache
from pathlib import Path

import numpy as np

from c3clust.bench import Job
from c3clust.paper.findings import Finding
from c3clust.paper.people import named
from c3clust.paper.setting import Setting
from c3clust.paper.starts import files, read
from c3clust.paper.style import BLUE, COLUMN, RED, footer, panels
from c3clust.paper.values import Figure, Results, Rows, write_rows
from c3clust.review.check import CHECKS, LEVEL, Accuracy, accuracy
from c3clust.review.check import draw as drawn

ORDER = 23
SIMULATED = 1000
LEAST = 0.9  # share of intervals that contain ACC


def jobs(setting: Setting) -> list[Job]:
    return []


def write(setting: Setting, results: Results, out: Path) -> list[Path]:
    """Simulate the checks; then checks.csv, the figure and the finding."""
    from c3clust.paper import redraw

    rows = []
    for name, seed, path in files(setting, out):
        case = read(path)
        share, length = covered(case.c.argmax(1), named(case) == case.y, seed, SIMULATED)
        acc = float((named(case) == case.y).mean())
        rows.append({"case": name, "seed": seed, "acc": acc, "covered": share, "length": length})
    write_rows(out / "checks.csv", rows)
    return [out / "checks.csv", *redraw("checks", out)]


def covered(labels: np.ndarray, right: np.ndarray, seed: int, times: int) -> tuple[float, float]:
    """The share of the intervals that contain the share of all samples that are right, and their mean length."""

    @cache
    def interval(k: int, m: int) -> Accuracy:
        return accuracy(np.arange(m) < k, len(right))

    found = []
    for check in range(times):
        judged = right[drawn(labels, CHECKS, seed * times + check)]
        found.append(interval(int(judged.sum()), len(judged)))
    inside = [each.low <= right.mean() <= each.high for each in found]
    return float(np.mean(inside)), float(np.mean([each.high - each.low for each in found]))


def findings(rows: Rows) -> list[Finding]:
    least = min(rows, key=lambda row: row["covered"])
    measured = f"least {least['covered']:.3f}, in {least['case']}"
    return [Finding(f"At least {LEAST:.0%} of the intervals contain ACC", measured, least["covered"] >= LEAST)]


def draw(rows: Rows) -> Figure:
    """The share of the intervals that contain ACC, by ACC; one point per case and seed."""
    figure, (axis,) = panels(1, COLUMN, 2.2)
    axis.plot([row["acc"] for row in rows], [row["covered"] for row in rows], "o", color=BLUE, markersize=3)
    axis.axhline(LEVEL, color=RED, linewidth=0.8)
    axis.set(xlabel="ACC", ylabel="intervals that contain it", ylim=(0.85, 1.005))
    footer(figure, f"{SIMULATED:,} simulated checks of {CHECKS} samples each; {LEVEL:.0%} intervals")
    return figure
