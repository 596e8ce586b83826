"""Loss and positives per view during stage 2."""

import numpy as np

from c3clust.bench import Job
from c3clust.paper.findings import Finding, enough
from c3clust.paper.setting import Setting
from c3clust.paper.style import BLACK, BLUE, curves, footer, panels, seeds_note
from c3clust.paper.values import Figure, Results, Rows, distinct, select

ORDER = 4


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
    at, n = sorted(distinct(rows, "epoch")), len(distinct(rows, "seed"))
    mean = [float(np.mean([row["positives_per_view"] for row in select(rows, epoch=e)])) for e in at]
    settled, late = rows[0]["settled"], mean[-1] / mean[-1 - len(mean) // 4] - 1
    growth = f"{mean[0]:.1f} in epoch 1, {mean[-1]:.1f} in epoch {at[-1]:.0f}"
    measured, near = f"{growth}; {late:+.0%} in the last quarter (limit 10 %), n = {n}", mean[-1] / settled
    return [
        Finding("positives grow, then settle", measured, enough(mean[-1] > mean[0] and abs(late) < 0.1, n)),
        Finding(f"near 2N / M = {settled:.1f} (ours)", f"{near:.2f} times that (limit 0.75–1.25)",
                enough(abs(near - 1) < 0.25, n)),
    ]  # fmt: skip


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
