"""Did C3 help? Differences seed by seed, with their mean and how far they spread."""

from c3clust.bench import Job
from c3clust.bench.statistics import ENOUGH, METRICS, paired
from c3clust.paper.findings import Finding, side
from c3clust.paper.setting import Setting
from c3clust.paper.style import COLOURS, PAGE, dots, footer, named_lines, panels
from c3clust.paper.values import Figure, Results, Rows, distinct, select

ORDER = 12
LONGER = "CC, trained on"
PAIRS = {"C3 − CC": ("C3", "CC"), f"C3 − {LONGER}": ("C3", LONGER)}


def jobs(setting: Setting) -> list[Job]:
    found = []
    for seed in setting.seeds:
        found += [setting.start(seed), setting.c3(seed), setting.start(seed, setting.c3_epochs, LONGER)]
    return found


def rows(setting: Setting, results: Results) -> Rows:
    scores = {(r.job.name, r.job.seed): r.scores for r in results if r.scores}
    found = []
    for label, (first, second) in PAIRS.items():
        for seed in setting.seeds:
            one, two = scores.get((first, seed)), scores.get((second, seed))
            if one and two:
                found.append({"pair": label, "seed": seed, **{m: one[m] - two[m] for m in METRICS}})
    return found


def findings(rows: Rows) -> list[Finding]:
    found = []
    for name in distinct(rows, "pair"):
        gains = [row["acc"] for row in select(rows, pair=name)]
        d = paired(gains, [0.0] * len(gains))
        found.append(Finding("C3 is better", f"{name}: ACC {d}", side(d)))
    return found


def draw(rows: Rows) -> Figure:
    names = distinct(rows, "pair")
    figure, axes = panels(len(METRICS), PAGE, 0.5 + 0.42 * len(names), sharey=True)
    for axis, metric, colour in zip(axes, METRICS, COLOURS, strict=False):
        for i, name in enumerate(names):
            gains = [row[metric] for row in select(rows, pair=name)]
            d = paired(gains, [0.0] * len(gains))
            axis.plot([d.low, d.high], [i, i], color=colour, linewidth=4, alpha=0.3, solid_capstyle="butt")
            dots(axis, i, gains, colour)
        axis.axvline(0, color="#888888", linewidth=0.8)
        named_lines(axis, f"difference in {metric.upper()}", names)
    n = len(distinct(rows, "seed"))
    bar = "95 % t interval of the mean" if n >= ENOUGH else "smallest to largest"
    footer(figure, f"dots: {n} seed{'s' if n > 1 else ''}; tick: mean; bar: {bar}")
    return figure
