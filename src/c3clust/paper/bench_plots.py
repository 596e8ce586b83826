"""The plots of `c3clust bench`: accuracy of each method with its interval, and accuracy against CPU time.

They are drawn from the rows of the tables (bench/statistics.py), one pair of plots per dataset: bars.png, times.png.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.bench.ranking import is_ranked
from c3clust.bench.statistics import ENOUGH, Row, paired, title
from c3clust.paper.style import BLUE, PAGE, SKY, footer, look, named_lines, panels, save
from c3clust.paper.values import Figure

BARS = f"bar: mean; line: 95 % t interval of the mean, from {ENOUGH} seeds on; pale: fewer seeds, smallest to largest"
TIMES = "means over seeds; CPU time of a whole fit, with all its stages"


def write(out: Path, rows: Sequence[Row]) -> list[Path]:
    """OUT/bars.png, .pdf and OUT/times.png, .pdf; none if no row has scores, an error if matplotlib is missing."""
    scored = [row for row in rows if row.values("acc") and is_ranked(row.method)]
    if not scored:
        return []
    with look():
        return [*save(bars(scored), out / "bars"), *save(times(scored), out / "times")]


def bars(rows: Sequence[Row]) -> Figure:
    """Mean ACC of each row, the best at the top, one panel per dataset."""
    datasets = _by_dataset(rows)
    figure, axes = panels(len(datasets), PAGE, 0.9 + 0.14 * max(map(len, datasets.values())))
    for axis, (data, members) in zip(axes, datasets.items(), strict=True):
        ordered = sorted(members, key=lambda row: -_mean(row))
        for i, row in enumerate(ordered):
            spread = paired(values := row.values("acc"), [0.0] * len(values))
            colour = BLUE if spread.n >= ENOUGH else SKY
            axis.barh(i, spread.mean, color=colour, height=0.7)
            axis.plot([spread.low, spread.high], [i, i], color="#222222", linewidth=1.0)
        named_lines(axis, "ACC", [f"{title(row)} ({len(row.values('acc'))})" for row in ordered])
        axis.set_title(data)
        axis.set_xlim(0, 1)
    footer(figure, f"{BARS}; in brackets: seeds")
    return figure


def times(rows: Sequence[Row]) -> Figure:
    """Mean ACC against mean CPU time on a logarithmic axis, one panel per dataset; rows without a time are left out."""
    datasets = _by_dataset(rows)
    figure, axes = panels(len(datasets), PAGE, 3.6)
    for axis, (data, members) in zip(axes, datasets.items(), strict=True):
        for row in members:
            if seconds := row.seconds("processor_seconds"):
                _point(axis, seconds, _mean(row), title(row))
        axis.set(xlabel="CPU seconds", ylabel="ACC", xscale="log", title=data)
    footer(figure, TIMES)
    return figure


def _point(axis: Any, x: float, y: float, name: str) -> None:
    axis.plot([x], [y], "o", color=BLUE, markersize=3.5)
    axis.annotate(name, (x, y), xytext=(3, 2), textcoords="offset points", fontsize=5.5, color="#333333")


def _mean(row: Row) -> float:
    return float(np.mean(row.values("acc")))


def _by_dataset(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {data: [row for row in rows if row.data == data] for data in dict.fromkeys(row.data for row in rows)}
