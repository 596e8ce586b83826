"""The gain is not the extra epochs: CC trained on for as long as stage 2, against C3."""

from c3clust.bench import Job
from c3clust.paper.findings import LIMIT, Finding, at_most, change, difference, side
from c3clust.paper.setting import Setting
from c3clust.paper.style import score_curves
from c3clust.paper.values import (
    Figure,
    Results,
    Rows,
    distinct,
    epochs_from_start,
    epochs_trained_on,
    scores_of,
    select,
)

ORDER = 3


def jobs(setting: Setting) -> list[Job]:
    found = []
    for seed in setting.seeds:
        found += [setting.start(seed, setting.c3_epochs, "CC, trained on"), setting.c3(seed, "CC, then C3")]
    return found


def rows(setting: Setting, results: Results) -> Rows:
    before = int(setting.start(0).params["epochs"])
    found = []
    for r in results:
        entries = epochs_trained_on(r) if r.job.start is None else epochs_from_start(r)
        for epoch, entry in enumerate(entries, before):
            found.append({"name": r.job.name, "seed": r.job.seed, "epoch": epoch, **scores_of(entry)})
    return found


def findings(rows: Rows) -> list[Finding]:
    last = select(rows, epoch=max(row["epoch"] for row in rows))
    more = change(select(rows, name="CC, trained on"))
    against = difference(select(last, name="CC, then C3"), select(last, name="CC, trained on"))
    return [
        Finding("CC gains nothing from 20 more epochs", f"change of ACC {more} (limit {LIMIT})", at_most(more, LIMIT)),
        Finding("C3 gains more than CC trained on", f"ACC of C3 − CC trained on {against}", side(against)),
    ]


def draw(rows: Rows) -> Figure:
    return score_curves(rows, "epoch", min(distinct(rows, "epoch")))
