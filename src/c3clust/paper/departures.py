"""C3Adaptive: each of its changes of stage 2 alone, all together, and a rejected idea, beside C3.

All variants start from the same CC of their seed, as published, and train for as many epochs after it. If several
datasets are run into one OUT, the table and the figure show them all.
"""

from pathlib import Path
from typing import Any

import numpy as np

from c3clust.bench import Job
from c3clust.bench.statistics import METRICS, mean_and_std
from c3clust.files.atomic import write_atomically
from c3clust.paper.findings import Finding, difference, enough, side
from c3clust.paper.setting import OFF, Setting
from c3clust.paper.style import BLACK, PAGE, colours, footer, panels
from c3clust.paper.values import Figure, Results, Rows, distinct, read_rows, scores_of, select, write_rows

ORDER = 20
START = "CC"
LONGER = "CC, trained on"
PUBLISHED = "C3"
ADAPTIVE = "C3Adaptive"
CHANGES: dict[str, dict[str, Any]] = {"head follows": {"head": "follow"}, "ζ auto": {"zeta": "auto"}}
REJECTED: dict[str, dict[str, Any]] = {"joint from the start": {"head": "joint"}}  # two seeds are enough
IN_Z = {PUBLISHED: "C3, k-means in z", ADAPTIVE: "C3Adaptive, k-means in z"}  # other labels of the same runs
FALL = 0.02  # of ACC, below its own start: too far
HEAD = (
    "| variant | ACC | NMI | ARI | ACC − its CC | worst seed | ζ | positives / (2N/M) | "
    f"CPU time | runs |\n|{'---|' * 10}"
)


def jobs(setting: Setting) -> list[Job]:
    found = []
    for seed in setting.seeds:
        found += [setting.start(seed), setting.start(seed, setting.c3_epochs, LONGER), setting.c3(seed, PUBLISHED)]
        for name, change in (CHANGES | (REJECTED if seed in setting.seeds[:2] else {})).items():
            found.append(setting.adaptive(seed, name, epochs=setting.c3_epochs, **OFF | change))
        found.append(setting.adaptive(seed, ADAPTIVE))
    return found


def rows(setting: Setting, results: Results) -> Rows:
    expected, found = 2 * setting.batch_size / setting.n_clusters, []
    for r in results:
        for name, scores in ((r.job.name, r.scores), (IN_Z.get(r.job.name), r.scores_z)):
            if name is None or scores is None:
                continue
            positives = [p for stage in ("c3", "settle") for p in r.curve(stage, "positives_per_view")]
            chosen_zeta = next((s["zeta"]["chosen"] for s in r.record.stages if "zeta" in s), "")
            row = {"data": setting.data, "variant": name, "seed": r.job.seed, **scores_of(scores), "zeta": chosen_zeta}
            row |= {"filling": positives[-1] / expected if positives else ""}
            found.append(row | {"seconds": r.processor_seconds, "status": r.status})
    return found


def write(setting: Setting, results: Results, out: Path) -> list[Path]:
    """Write departures.csv, in which other datasets are kept; the table; the figure and the findings."""
    from c3clust.paper import redraw

    path = out / "departures.csv"
    others = [row for row in read_rows(path) if row["data"] != setting.data] if path.exists() else []
    found = others + rows(setting, results)
    write_rows(path, found)
    write_atomically(out / "departures-table.md", table(found).encode())
    return [path, out / "departures-table.md", *redraw("departures", out)]


def table(rows: Rows) -> str:
    """Mean ± standard deviation of ACC, and the difference to each seed's own CC, one table per dataset."""
    parts = []
    for data in distinct(rows, "data"):
        here = select(rows, data=data)
        start, variants = select(here, variant=START), distinct(here, "variant")
        lines = (" | ".join(_cells(select(here, variant=name), start)) for name in variants)
        parts.append("\n".join([f"**{data}**", "", HEAD, *(f"| {line} |" for line in lines)]))
    return "\n\n".join(parts) + "\n"


def _cells(rows: Rows, start: Rows) -> list[str]:
    cells = [rows[0]["variant"], *(mean_and_std([row[metric] for row in rows]) for metric in METRICS)]
    d, worst = difference(rows, start), min(_gains(rows, start), default=0)
    gained = [str(d).rpartition(",")[0], f"{worst:+.3f}"]  # n is a column of its own
    cells += ["–", "–"] if cells[0] == START else gained
    zetas, filling = ([row[key] for row in rows if row[key] != ""] for key in ("zeta", "filling"))
    low_high = "–".join(f"{zeta:g}" for zeta in sorted({min(zetas), max(zetas)})) if zetas else "–"
    wrong = [row["status"] for row in rows if row["status"] != "ok"]
    statuses = f" ({', '.join(sorted(set(wrong)))}: {len(wrong)})" if wrong else ""
    cells += [low_high, f"{np.mean(filling):.2f}" if filling else "–"]
    seconds = [row["seconds"] for row in rows if row["seconds"]]  # 0 for a run that was interrupted
    return [*cells, f"{np.mean(seconds):.0f} s" if seconds else "–", f"{len(rows)}{statuses}"]


def _gains(rows: Rows, start: Rows) -> list[float]:
    """ACC above each seed's own CC."""
    before = {row["seed"]: row["acc"] for row in start}
    return [row["acc"] - before[row["seed"]] for row in rows if row["seed"] in before]


def findings(rows: Rows) -> list[Finding]:
    found = []
    for data in distinct(rows, "data"):
        here = select(rows, data=data)
        start, adaptive = select(here, variant=START), select(here, variant=ADAPTIVE)
        for name in (PUBLISHED, "head follows", "C3, k-means in z", "ζ auto", ADAPTIVE):
            d = difference(select(here, variant=name), start)
            if d.n:
                found.append(Finding(f"{data}: {name} beats its CC", f"ACC {d}", side(d)))
        if worst := _gains(adaptive, start):
            ok = enough(min(worst) >= -FALL, len(worst))
            claim = f"{data}: no seed of C3Adaptive more than {FALL * 100:.0f} points below its CC"
            found.append(Finding(claim, f"worst of {len(worst)} seeds {min(worst):+.3f}", ok))
        d = difference(adaptive, select(here, variant=LONGER))
        if d.n:
            found.append(Finding(f"{data}: the gain is not the epochs", f"ACC, C3Adaptive − {LONGER} {d}", side(d)))
    return found


def draw(rows: Rows) -> Figure:
    """ACC gained over the seed's own CC against positives per view, one panel per dataset."""
    sets = distinct(rows, "data")
    names = [name for name in distinct(rows, "variant") if any(r["filling"] != "" for r in select(rows, variant=name))]
    figure, axes = panels(len(sets), PAGE, 2.4)
    shades = colours(names)
    for axis, data in zip(axes, sets, strict=True):
        here = select(rows, data=data)
        before = {row["seed"]: row["acc"] for row in select(here, variant=START)}
        axis.axvspan(0.8, 1.15, color="#f0f0f0", linewidth=0)
        axis.axhline(0, color=BLACK, linewidth=0.8)
        for name in names:
            points = [(r["filling"], r["acc"] - before[r["seed"]]) for r in select(here, variant=name)]
            if points:
                x, y = zip(*points, strict=True)
                axis.plot(x, y, "o", color=shades[name], markersize=3.5, alpha=0.85, markeredgewidth=0, label=name)
        axis.set(title=data, xlabel="positives per view / (2N/M)")
    axes[0].set_ylabel("ACC above its own CC")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    footer(figure, f"dots: seeds ({len(distinct(rows, 'seed'))}); grey: 0.8 to 1.15, where positives fill the clusters")
    return figure
