"""The sharpness Γ of the pair weights: ACC, NMI and ARI after stage 2."""

from typing import Any

import numpy as np

from c3clust.bench import Job
from c3clust.bench.statistics import METRICS
from c3clust.paper.findings import LIMIT, Finding, difference, within
from c3clust.paper.setting import Setting
from c3clust.paper.style import COLUMN, band, colours, footer, panels, seeds_note
from c3clust.paper.values import Figure, Results, Rows, distinct, epochs_from_start, select

ORDER = 6
GAMMAS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)


def jobs(setting: Setting) -> list[Job]:
    return [setting.c3(seed, f"C3, Γ = {gamma:g}", gamma=gamma) for gamma in GAMMAS for seed in setting.seeds]


def rows(setting: Setting, results: Results) -> Rows:
    found = []
    for r in results:
        before = epochs_from_start(r)[0]
        row: dict[str, Any] = {"gamma": r.record.params["gamma"], "seed": r.job.seed}
        row |= {m: (r.scores or {}).get(m, "") for m in METRICS}
        found.append(row | {f"{m}_before": before[m] for m in METRICS})
    return found


def findings(rows: Rows) -> list[Finding]:
    d = difference(select(rows, gamma=0.1), select(rows, gamma=GAMMAS[0]))
    known = [row for row in rows if row["acc"] != ""]
    means = {g: np.mean([row["acc"] for row in select(known, gamma=g)]) for g in distinct(rows, "gamma")}
    scores = ", ".join(f"{gamma:g}: {mean:.3f}" for gamma, mean in means.items())
    claim = "weights hardly matter at Γ = 0.1 (ours, from the formula)"
    return [Finding(claim, f"ACC {scores}; at 0.1 − at {GAMMAS[0]}: {d} (limit {LIMIT})", within(d, LIMIT))]


def draw(rows: Rows) -> Figure:
    figure, (axis,) = panels(1, COLUMN, 2.4)
    for metric, colour in colours(METRICS).items():
        band(axis, rows, "gamma", metric, metric.upper(), colour)
        band(axis, rows, "gamma", f"{metric}_before", "", colour, style=":", opacity=0)
    axis.set(xscale="log", xlabel="Γ (log scale)", ylabel="score after stage 2")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    footer(figure, f"dotted: mean of CC, before stage 2; {seeds_note(rows)}")
    return figure
