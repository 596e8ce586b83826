"""Loss and positives per view during stage 2."""

import numpy as np

from c3clust.bench import Job
from c3clust.bench.statistics import paired_by_seed
from c3clust.paper.findings import Finding, both, side, within
from c3clust.paper.setting import Setting
from c3clust.paper.style import BLACK, BLUE, curves, footer, panels, seeds_note
from c3clust.paper.values import Figure, Results, Rows, distinct, select

ORDER = 4
SETTLED = 0.1  # largest change in the last quarter of the epochs, as a share
NEAR = 0.25  # of what a cluster holds


def jobs(setting: Setting) -> list[Job]:
    return [setting.c3(seed) for seed in setting.seeds]


def rows(setting: Setting, results: Results) -> Rows:
    settled = 2 * setting.batch_size / setting.n_clusters
    return [
        {"seed": r.job.seed, "epoch": epoch, "loss": loss, "positives_per_view": positives, "settled": settled}
        for r in results
        for epoch, (loss, positives) in enumerate(
            zip(r.curve("c3", "loss"), r.curve("c3", "positives_per_view"), strict=True), 1
        )
    ]


def findings(rows: Rows) -> list[Finding]:
    at = sorted(distinct(rows, "epoch"))
    first, before, last = (_by_seed(select(rows, epoch=at[i])) for i in (0, -1 - len(at) // 4, -1))
    mean = [np.mean(list(values.values())) for values in (first, last)]
    growth = paired_by_seed(last, first)
    late = paired_by_seed({seed: value / before[seed] for seed, value in last.items()}, dict.fromkeys(last, 1.0))
    near = paired_by_seed({seed: value / rows[0]["settled"] for seed, value in last.items()}, dict.fromkeys(last, 1.0))
    measured = (
        f"{mean[0]:.1f} in epoch 1, {mean[1]:.1f} in epoch {at[-1]:.0f}; relative change in the last quarter {late}"
    )
    return [
        Finding("positives grow, then settle", f"{measured} (limit {SETTLED})",
                both(side(growth), within(late, SETTLED))),
        Finding(f"near 2N / M = {rows[0]['settled']:.1f} (ours)", f"relative difference {near} (limit {NEAR})",
                within(near, NEAR)),
    ]  # fmt: skip


def _by_seed(rows: Rows) -> dict[int, float]:
    return {row["seed"]: row["positives_per_view"] for row in rows}


def draw(rows: Rows) -> Figure:
    figure, axes = panels(2)
    labels = {"loss": "C3 loss, mean over views (nats)", "positives_per_view": "positives per view (views)"}
    curves(axes, [("C3", BLUE, rows)], labels, "epoch of stage 2", 1)
    axes[1].set_ylim(0, None)
    settled = rows[0]["settled"]
    axes[1].axhline(settled, color=BLACK, linewidth=0.8, linestyle="--")
    note = {"xytext": (0, -9), "textcoords": "offset points", "ha": "right", "fontsize": 7, "color": BLACK}
    axes[1].annotate(f"2N / M = {settled:.1f}", (max(row["epoch"] for row in rows), settled), **note)
    footer(figure, seeds_note(rows))
    return figure
