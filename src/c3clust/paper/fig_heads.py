"""Where the labels are read: a frozen head, a head that follows, or k-means in z."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from c3clust.bench import Job, Result
from c3clust.bench.table import METRICS
from c3clust.paper.findings import Finding, difference, side
from c3clust.paper.setting import Setting
from c3clust.paper.style import BLACK, PAGE, colours, footer, panels
from c3clust.paper.values import Rows, chosen, distinct

ORDER = 13


def jobs(setting: Setting) -> list[Job]:
    found = []
    for seed in setting.seeds:
        found += [setting.start(seed), setting.c3(seed, "C3, frozen"), setting.c3(seed, "C3, follow", head="follow")]
    return found


def rows(setting: Setting, results: Sequence[Result]) -> Rows:
    found = []
    for r in results:
        name = "CC" if r.job.method == "cc" else "C3"
        head = "own head" if name == "CC" else f"head {r.job.params['head']}"
        read = [(head, r.scores)] + ([] if head == "head follow" else [("k-means in z", r.scores_z)])
        for how, scores in read:
            if scores:
                found.append({"method": name, "read": how, "seed": r.job.seed, **{m: scores[m] for m in METRICS}})
    return found


def findings(rows: Rows) -> list[Finding]:
    frozen, follow, in_z = (
        chosen(rows, method="C3", read=read) for read in ("head frozen", "head follow", "k-means in z")
    )
    d, e = difference(follow, frozen), difference(in_z, frozen)
    return [
        Finding("the head may stay frozen", f"ACC, head that follows − frozen head {d}", _not(side(d))),
        Finding("the head reads z as well as k-means", f"ACC, k-means in z − frozen head {e}", _not(side(e))),
    ]


def _not(verdict: bool | None) -> bool | None:
    return None if verdict is None else not verdict


def draw(rows: Rows) -> Any:
    figure, axes = panels(3, PAGE, 2.0, sharey=True)
    kinds = distinct([{"kind": (row["method"], row["read"])} for row in rows], "kind")
    kinds.sort(key=lambda kind: (kind[0] != "CC", kind[1] == "k-means in z"))
    shades = colours(["CC", "C3"])
    for axis, metric in zip(axes, METRICS, strict=True):
        for i, (method, read) in enumerate(kinds):
            values = [row[metric] for row in chosen(rows, method=method, read=read)]
            axis.plot(values, [i] * len(values), "o", color=shades[method], markersize=3, alpha=0.8, markeredgewidth=0)
            axis.plot([np.mean(values)], [i], "|", color=BLACK, markersize=10, markeredgewidth=1.4)
        axis.set(xlabel=metric.upper(), yticks=range(len(kinds)), ylim=(len(kinds) - 0.5, -0.5))
        axis.set_yticklabels([f"{method}, {read}" for method, read in kinds])
        axis.grid(axis="y", visible=False)
    footer(figure, f"dots: seeds ({len(distinct(rows, 'seed'))}); tick: their mean")
    return figure
