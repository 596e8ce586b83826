"""The threshold ζ: ACC, NMI, loss and positives per view during stage 2."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from c3clust.bench import Job
from c3clust.paper.findings import LIMIT, Finding, at_most, change, difference, enough, side, within
from c3clust.paper.setting import Setting
from c3clust.paper.style import PAGE, Line, curves, footer, panels, seeds_note
from c3clust.paper.values import Figure, Results, Rows, by_data, distinct, epochs_from_start, select

ORDER = 5
SEVERAL = True
ZETAS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
USUAL = 0.6
ZETAS_OF_MANY = (0.6, 0.85, 0.9, 0.95)  # for 100 clusters and more, as the paper does for Tiny-ImageNet
SHADES = {
    0.4: "#46166b", 0.5: "#3b528b", 0.6: "#21918c", 0.7: "#5ec962", 0.8: "#c8b500", 0.85: "#8c6d1f", 0.9: "#e07b39",
    0.95: "#a3122a",
}  # fmt: skip
LABELS = {"acc": "ACC", "nmi": "NMI", "loss": "C3 loss (nats)", "positives_per_view": "positives per view (views)"}


def jobs(setting: Setting) -> list[Job]:
    zetas = ZETAS_OF_MANY if setting.n_clusters >= 100 else ZETAS
    return [setting.c3(seed, f"C3, ζ = {zeta}", zeta=zeta) for zeta in zetas for seed in setting.seeds]


def rows(setting: Setting, results: Results) -> Rows:
    found = []
    for r in results:
        losses, positives = (["", *r.curve("c3", name)] for name in ("loss", "positives_per_view"))
        for epoch, (entry, loss, near) in enumerate(zip(epochs_from_start(r), losses, positives, strict=True)):
            row = {"zeta": r.record.params["zeta"], "seed": r.job.seed, "epoch": epoch}
            found.append(row | {"acc": entry["acc"], "nmi": entry["nmi"], "loss": loss, "positives_per_view": near})
    return found


def findings(rows: Rows) -> list[Finding]:
    return [
        replace(finding, claim=f"{data}: {finding.claim}") if data else finding
        for data, here in by_data(rows).items()
        for finding in _findings(here)
    ]


def _findings(rows: Rows) -> list[Finding]:
    zetas = distinct(rows, "zeta")
    last = select(rows, epoch=max(row["epoch"] for row in rows))
    low, high = (change(select(rows, zeta=zeta)) for zeta in (zetas[0], zetas[-1]))
    means = {zeta: float(np.mean([row["acc"] for row in select(last, zeta=zeta)])) for zeta in zetas}
    best = max(means, key=lambda zeta: means[zeta])
    usual = ZETAS_OF_MANY[-1] if ZETAS_OF_MANY[-1] in zetas else USUAL
    lead = difference(select(last, zeta=best), select(last, zeta=usual))
    scores = ", ".join(f"{zeta:g}: {mean:.3f}" for zeta, mean in means.items())
    balanced = enough(True, lead.n) if best == usual else at_most(lead, LIMIT)
    balance = Finding(f"ζ = {usual:g} is a good balance",
                      f"ACC at the end {scores}; best − {usual:g}: {lead} (limit {LIMIT})", balanced)  # fmt: skip
    if usual != USUAL:
        more = difference(select(last, zeta=usual), select(last, zeta=USUAL))
        measured = f"ACC at the end, ζ = {usual:g} − ζ = {USUAL:g}: {more}"
        return [Finding("more clusters need a larger ζ", measured, side(more)), balance]
    return [
        Finding(f"ζ = {zetas[0]:g} gets worse while training", f"change of ACC {low}", side(low, positive=False)),
        Finding(f"ζ = {zetas[-1]:g} hardly moves", f"change of ACC {high} (limit {LIMIT})", within(high, LIMIT)),
        balance,
    ]


def draw(rows: Rows) -> Figure:
    """Four panels; with several datasets, one line of four for each."""
    parts, what = by_data(rows), "epoch of stage 2 (0: after CC)"
    if len(parts) == 1:
        figure, axes = panels(2, PAGE, 1.9, lines=2)
        curves(axes, _lines(rows), LABELS, what, 0, opacity=0.06)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=6, columnspacing=1.2)
    else:
        figure, axes = panels(len(LABELS), 1.4 * PAGE, 2.0, lines=len(parts))
        for i, (data, here) in enumerate(parts.items()):
            own = axes[i * len(LABELS) : (i + 1) * len(LABELS)]
            curves(own, _lines(here), LABELS, "epoch of stage 2", 0, opacity=0.06)
            own[0].set_title(Path(data).name)
            own[0].legend(loc="best", fontsize=6, ncols=2)
    footer(figure, seeds_note(rows))
    return figure


def _lines(rows: Rows) -> list[Line]:
    return [(f"ζ = {zeta:g}", SHADES[zeta], select(rows, zeta=zeta)) for zeta in distinct(rows, "zeta")]
