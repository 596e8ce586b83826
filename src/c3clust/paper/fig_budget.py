"""The gain is not the extra epochs: CC trained on for as long as stage 2, against C3."""

from collections.abc import Sequence
from typing import Any

from c3clust.bench import Job, Result
from c3clust.paper.findings import Finding, change, difference, side
from c3clust.paper.setting import PAPER, Setting
from c3clust.paper.style import score_curves
from c3clust.paper.values import Rows, chosen, distinct, epochs_from_start

ORDER = 3


def jobs(setting: Setting) -> list[Job]:
    extra = PAPER["epochs"]
    return [
        job
        for seed in setting.seeds
        for job in (setting.start(seed, extra, "CC, trained on"), setting.c3(seed, "CC, then C3"))
    ]


def rows(setting: Setting, results: Sequence[Result]) -> Rows:
    before = int(setting.start(0).params["epochs"])
    found = []
    for r in results:
        seen = r.epochs("cc")[before - 1 :] if r.job.start is None else epochs_from_start(r)
        for i, scores in enumerate(seen):
            row = {"name": r.job.name, "seed": r.job.seed, "epoch": before + i}
            found.append(row | {m: scores[m] for m in ("acc", "nmi", "ari")})
    return found


def findings(rows: Rows) -> list[Finding]:
    last = chosen(rows, epoch=max(row["epoch"] for row in rows))
    more = change(chosen(rows, name="CC, trained on"))
    against = difference(chosen(last, name="CC, then C3"), chosen(last, name="CC, trained on"))
    gained = side(more)
    return [
        Finding(
            "CC gains nothing from 20 more epochs", f"change of ACC {more}", None if gained is None else not gained
        ),
        Finding("C3 gains more than CC trained on", f"ACC of C3 − CC trained on {against}", side(against)),
    ]


def draw(rows: Rows) -> Any:
    return score_curves(rows, "epoch", min(distinct(rows, "epoch")))
