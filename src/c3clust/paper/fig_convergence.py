"""ACC and NMI during stage 2; epoch 0 is CC."""

from c3clust.bench import Job
from c3clust.paper.findings import Finding, both, change, side
from c3clust.paper.setting import Setting
from c3clust.paper.style import score_curves
from c3clust.paper.values import Figure, Results, Rows, distinct, epochs_from_start, scores_of, select

ORDER = 2


def jobs(setting: Setting) -> list[Job]:
    found = [setting.c3(seed, "C3 as published") for seed in setting.seeds]
    return found if setting.is_paper_size else [*found, *(setting.default_c3(seed) for seed in setting.seeds)]


def rows(setting: Setting, results: Results) -> Rows:
    return [
        {"name": r.job.name, "seed": r.job.seed, "epoch": epoch, **scores_of(entry)}
        for r in results
        for epoch, entry in enumerate(epochs_from_start(r))
    ]


def findings(rows: Rows) -> list[Finding]:
    found = []
    for name in distinct(rows, "name"):
        gains = [change(select(rows, name=name), metric) for metric in ("acc", "nmi")]
        measured = f"{name}: ACC {gains[0]}; NMI {gains[1]}"
        found.append(Finding("ACC and NMI rise during stage 2", measured, both(*map(side, gains))))
    return found


def draw(rows: Rows) -> Figure:
    return score_curves(rows, "epoch of stage 2 (0: after CC)", 0)
