"""Where the labels come from: a frozen head, a head that follows, or k-means in z."""

from c3clust.bench import Job
from c3clust.bench.statistics import METRICS
from c3clust.paper.findings import LIMIT, Finding, at_most, difference
from c3clust.paper.setting import OFF, Setting
from c3clust.paper.style import PAGE, colours, dots, footer, named_lines, panels
from c3clust.paper.values import Figure, Results, Rows, distinct, scores_of, select

ORDER = 13
FOLLOW = "C3, head follows"


def jobs(setting: Setting) -> list[Job]:
    found = []
    for seed in setting.seeds:
        found += [setting.start(seed), setting.c3(seed)]
        found.append(setting.adaptive(seed, FOLLOW, epochs=setting.c3_epochs, **OFF | {"head": "follow"}))
    return found


def rows(setting: Setting, results: Results) -> Rows:
    found = []
    for r in results:
        name = "CC" if r.job.method == "cc" else "C3"
        head = {"CC": "own head", FOLLOW: "head follow"}.get(r.job.name, "head frozen")
        readouts = [(head, r.scores)] + ([] if head == "head follow" else [("k-means in z", r.scores_z)])
        for readout, scores in readouts:
            if scores:
                found.append({"method": name, "read": readout, "seed": r.job.seed, **scores_of(scores)})
    return found


def findings(rows: Rows) -> list[Finding]:
    reads = ("head frozen", "head follow", "k-means in z")
    frozen, follow, in_z = (select(rows, method="C3", read=read) for read in reads)
    d, e = difference(follow, frozen), difference(in_z, frozen)
    return [
        Finding("the head may stay frozen",
                f"ACC, head that follows − frozen head {d} (limit {LIMIT})", at_most(d, LIMIT)),
        Finding("the head reads z as well as k-means",
                f"ACC, k-means in z − frozen head {e} (limit {LIMIT})", at_most(e, LIMIT)),
    ]  # fmt: skip


def draw(rows: Rows) -> Figure:
    figure, axes = panels(3, PAGE, 2.0, sharey=True)
    kinds = distinct([{"kind": (row["method"], row["read"])} for row in rows], "kind")
    kinds.sort(key=lambda kind: (kind[0] != "CC", kind[1] == "k-means in z"))
    shades = colours(["CC", "C3"])
    for axis, metric in zip(axes, METRICS, strict=True):
        for i, (method, read) in enumerate(kinds):
            dots(axis, i, [row[metric] for row in select(rows, method=method, read=read)], shades[method])
        named_lines(axis, metric.upper(), [f"{method}, {read}" for method, read in kinds])
    footer(figure, f"dots: seeds ({len(distinct(rows, 'seed'))}); tick: their mean")
    return figure
