"""Pairs of samples by their true classes: are more positives true, and fewer negatives false, with C3 than with CC?

A pair is positive where its cosine in z reaches ζ. True positives and false negatives are shares of all pairs of one
class, so they add up to 1; precision is the share of positives that are of one class; the last panel is the share of
negatives that are of one class. True labels are used for this figure only (bench/epoch_scores.py).
"""

from c3clust.methods.c3 import C3
from c3clust.paper.fig_budget import jobs as jobs
from c3clust.paper.findings import Finding, difference, side
from c3clust.paper.setting import Setting
from c3clust.paper.style import PAGE, by_name, curves, footer, panels, seeds_note
from c3clust.paper.values import Figure, Results, Rows, epochs_from_start, select

ORDER = 10
LABELS = {
    "true_positives": "true positives\n(share of same-class pairs)",
    "precision": "precision\n(same-class share of positives)",
    "false_negatives": "false negatives\n(same-class share of negatives)",
}


def rows(setting: Setting, results: Results) -> Rows:
    zeta = setting.c3(0).params.get("zeta", C3.zeta)
    before = int(setting.start(0).params["epochs"])
    found = []
    for r in results:
        cc = r.job.start is None
        for epoch, entry in enumerate(r.epochs("cc") if cc else epochs_from_start(r), 1 if cc else before):
            tp, fp, fn, tn = (entry["pairs"][str(zeta)][kind] for kind in ("tp", "fp", "fn", "tn"))
            row = {"name": r.job.name, "seed": r.job.seed, "zeta": zeta, "stage_1": before, "epoch": epoch}
            row |= {"true_positives": tp / (tp + fn), "precision": tp / max(tp + fp, 1)}
            found.append(row | {"false_negatives": fn / max(fn + tn, 1), "tp": tp, "fp": fp, "fn": fn, "tn": tn})
    return found


def findings(rows: Rows) -> list[Finding]:
    last = select(rows, epoch=max(row["epoch"] for row in rows))
    c3, cc = (select(last, name=name) for name in ("CC, then C3", "CC, trained on"))
    before = select(rows, name="CC, then C3", epoch=rows[0]["stage_1"])
    found = []
    for what, claim, up in (
        ("true_positives", "C3 has more true-positive pairs", True),
        ("false_negatives", "C3 has fewer false-negative pairs", False),
        ("precision", "and its positives stay true", True),
    ):
        d, own = difference(c3, cc, what), difference(c3, before, what)
        measured = f"{what.replace('_', ' ')}, C3 − CC trained on {d}; C3 − its start {own}"
        found.append(Finding(claim, measured, side(d, up)))
    return found


def draw(rows: Rows) -> Figure:
    figure, axes = panels(3, PAGE, 2.2)
    curves(axes, by_name(rows), LABELS, "epoch", 1)
    for axis in axes:
        axis.axvline(rows[0]["stage_1"], color="#bbbbbb", linewidth=0.8, linestyle="--")
        axis.set_ylim(0, None)
    axes[0].legend(loc="best")
    footer(figure, f"positive: cosine ≥ {rows[0]['zeta']:g}; dashed: stage 2 begins; {seeds_note(rows)}")
    return figure
