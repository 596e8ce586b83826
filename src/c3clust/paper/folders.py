"""Folders as people have them: small, uneven, texts, tables, from scratch; Consensus beside other methods.

`--data DIR` names a folder of archives (cases.py); without it only the built-in cases are run. C3 starts from the CC of
its seed. CC, C3 and C3Adaptive are given the encoder that Consensus uses.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.bench import Job
from c3clust.bench.format import markdown_table
from c3clust.bench.statistics import Difference, paired
from c3clust.errors import InputError
from c3clust.files.atomic import write_atomically
from c3clust.paper import umap
from c3clust.paper.cases import DRAWS, Case, find_cases
from c3clust.paper.findings import Finding, difference, side
from c3clust.paper.setting import Setting
from c3clust.paper.style import BLACK, BLUE, ORANGE, PAGE, RED, footer, named_lines, panels
from c3clust.paper.values import Figure, Results, Rows, distinct, scores_of, select, write_rows
from c3clust.runs.run import FEATURES

ORDER = 21
PARTIAL = True
KMEANS = "k-means"
CC = "CC"
C3 = "C3"
ADAPTIVE = "C3Adaptive"
NOW = "Consensus"
SHORT: tuple[str, ...] = (KMEANS, NOW)  # run first, so that an interrupted study still compares them
COMPARED: tuple[str, ...] = (CC, C3, ADAPTIVE)  # the expensive ones; () leaves them out
PARTS: dict[str, dict[str, Any]] = {"prior even": {"prior": "even"}, "prior free": {"prior": "free"}}
COLUMNS = [
    "case",
    "n",
    "clusters",
    "method",
    "seed",
    "acc",
    "nmi",
    "ari",
    "estimated_accuracy",
    "low",
    "high",
    "doubtful",
    "seconds",
]
ENOUGH, CLOSE, WORSE = 12, 0.05, 0.03  # cases for a verdict; error of the estimate; ACC below k-means
LIMITS = {"digits": (0.97, 0.95, 10), "photos-10x50": (0.88, 0.0, 1)}  # mean ACC, worst seed, seeds
LIMITS |= {f"mnist-tail-{draw}": (0.75, 0.0, 1) for draw in range(DRAWS)}


def jobs(setting: Setting) -> list[Job]:
    places = [(case, case.place(setting.out / "cases")) for case in find_cases(setting.data)]
    wanted = [(group, seed) for group in (SHORT, tuple(PARTS), COMPARED) for seed in setting.seeds]
    return [job for group, seed in wanted for case, place in places for job in _ways(case, place, seed, group)]


def _ways(case: Case, place: str, seed: int, group: Sequence[str]) -> list[Job]:
    """The jobs of a case and a seed, of those names. From scratch there are no parts."""

    def job(name: str, method: str = "consensus", start: Job | None = None, **params: Any) -> Job:
        given = {"n_clusters": case.n_clusters, "encoder": "auto", **case.params, **params}
        return Job(place, method, given, seed, name, start, case.options)

    cc = job(CC, "cc")
    others = [job(C3, "c3", start=cc), job(ADAPTIVE, "c3_adaptive")]
    parts = [job(name, **change) for name, change in PARTS.items() if case.features]
    return [each for each in (job(KMEANS, "kmeans"), job(NOW), cc, *others, *parts) if each.name in group]


def rows(setting: Setting, results: Results) -> Rows:
    found = []
    for r in (each for each in results if each.scores):
        q, scores = r.record.quality or {}, scores_of(r.scores or {})
        low, high = q.get("interval", ("", ""))
        row = {"case": Path(r.job.data).stem, "n": r.record.data["n"], "clusters": r.record.n_clusters}
        row |= {"method": r.job.name, "seed": r.job.seed, **scores}
        row |= {"estimated_accuracy": q.get("estimated_accuracy", ""), "low": low, "high": high}
        doubtful = int(q["comparison"]["doubtful"]) if q else ""
        found.append(row | {"doubtful": doubtful, "seconds": r.total("processor_seconds") or ""})
    return found


def write(setting: Setting, results: Results, out: Path) -> list[Path]:
    """Write folders.csv, the table, the figure and the findings, from the runs that are finished."""
    from c3clust.paper import redraw

    found = rows(setting, results)
    if not found:
        raise InputError(f"folders cannot be drawn: {results[0].reason}")
    found += _umap_rows(setting)
    write_rows(out / "folders.csv", found)
    write_atomically(out / "folders-table.md", (table(found) + _unfinished(results)).encode())
    return [out / "folders.csv", out / "folders-table.md", *redraw("folders", out)]


def _umap_rows(setting: Setting) -> Rows:
    """UMAP + HDBSCAN in the columns of `rows`; it finds its own number of clusters."""
    features = setting.out / "runs" / FEATURES
    found = umap.run(find_cases(setting.data), setting.seeds, setting.out, features)
    blank = dict.fromkeys(("nmi", "ari", "estimated_accuracy", "low", "high", "doubtful", "seconds"), "")
    row = ({"case": r["case"], "n": r["n"], "clusters": r["found"], "method": umap.NAME, **r} for r in found)
    return [{name: (r | blank)[name] for name in COLUMNS} for r in row]


def _unfinished(results: Results) -> str:
    """What the table lacks: how many runs are missing, and why others failed."""
    missing, rest = sum(r.status == "missing" for r in results), [r for r in results if not r.scores]
    lines = [f"{missing} of {len(results)} runs are not finished."] if missing else []
    why = [f"{Path(r.job.data).stem}, {r.job.name}: {r.reason}" for r in rest if r.status != "missing"]
    return "".join(f"- {line}\n" for line in [*lines, *dict.fromkeys(why)])


def table(rows: Rows) -> str:
    """ACC of each case, mean (worst seed), with the estimate of Consensus; each part alone; and the sums of both."""
    main = [name for name in (KMEANS, umap.NAME, CC, C3, ADAPTIVE, NOW) if select(rows, method=name)]
    head = ["case", "n", "clusters", *main, f"{NOW} − k-means", "estimated − true", "doubtful"]
    gain, error, lines = gains(rows), errors(rows), []
    for case in distinct(rows, "case"):
        here = select(rows, case=case)
        cells = [case, f"{here[0]['n']:.0f}", f"{here[0]['clusters']:.0f}"]
        cells += [_score(select(here, method=name)) for name in main]
        cells += [f"{each[case]:+.3f}" if case in each else "–" for each in (gain, error)]
        lines.append([*cells, f"{len(select(here, method=NOW, doubtful=1))} of {len(select(here, method=NOW))}"])
    text = markdown_table(head, lines)
    if parts := [row for row in rows if row["method"] in PARTS]:
        seeds = set(distinct(parts, "seed"))
        same = [row for row in rows if row["seed"] in seeds]  # Consensus beside its parts: the seeds that these have
        scores = [
            [case, *(_score(select(same, case=case, method=p)) for p in (*PARTS, NOW))]
            for case in distinct(parts, "case")
        ]
        text += f"\nEach part of Consensus alone, {_seeds(parts)}:\n\n" + markdown_table(["case", *PARTS, NOW], scores)
    close, below = sum(abs(e) <= CLOSE for e in error.values()), sum(g < -0.01 for g in gain.values())
    summary = [
        "ACC, mean (worst seed). " + "; ".join(f"{name}: {_seeds(select(rows, method=name))}" for name in main) + ".",
        f"{NOW} − k-means, mean of {len(gain)} cases: {_over_cases(gain).mean:+.3f}; over 1 point below in {below}.",
        f"Estimated accuracy within {CLOSE} of ACC in {close} of {len(error)} cases.",
        f"Runs more than {WORSE} below k-means, not doubtful: {', '.join(silently_worse(rows)) or 'none'}.",
    ]
    if not select(rows, method=umap.NAME):
        summary.append(f"{umap.NAME} is run where umap-learn is installed; it was not here.")
    return text + "\n" + "".join(f"- {line}\n" for line in summary)


def gains(rows: Rows, other: str = KMEANS) -> dict[str, float]:
    """ACC of Consensus less that of another method, mean over the seeds that both have, of each case that has both."""
    one, two = select(rows, method=NOW), select(rows, method=other)
    found = {case: difference(select(one, case=case), select(two, case=case)) for case in distinct(one, "case")}
    return {case: d.mean for case, d in found.items() if d.n}


def errors(rows: Rows) -> dict[str, float]:
    """Estimated accuracy of Consensus less its ACC, mean over seeds, of each case."""
    known = [row for row in select(rows, method=NOW) if row["estimated_accuracy"] != ""]
    each = {case: select(known, case=case) for case in distinct(known, "case")}
    return {case: float(np.mean([r["estimated_accuracy"] - r["acc"] for r in here])) for case, here in each.items()}


def silently_worse(rows: Rows) -> list[str]:
    """The runs of Consensus that are WORSE than the k-means of their seed and not reported as doubtful."""
    simple = {(row["case"], row["seed"]): row["acc"] for row in select(rows, method=KMEANS)}
    pairs = [(row, simple.get((row["case"], row["seed"]), 0.0)) for row in select(rows, method=NOW)]
    return [f"{r['case']} seed {r['seed']:g}" for r, acc in pairs if r["acc"] < acc - WORSE and r["doubtful"] != 1]


def findings(rows: Rows) -> list[Finding]:
    gain, error, found = gains(rows), errors(rows), []
    if gain:
        worst, d, silent = min(gain.items(), key=lambda item: item[1]), _over_cases(gain), silently_worse(rows)
        claims = [
            ("no case more than 1 point below k-means", f"worst case: {worst[0]} {worst[1]:+.3f}", worst[1] >= -0.01),
            ("3 points above k-means, mean over cases", f"ACC {d}", d.mean >= 0.03),
            (f"no run {WORSE} below k-means without a warning", ", ".join(silent) or "none", not silent),
        ]
        found += [Finding(claim, what, _verdict(ok, len(gain) >= ENOUGH)) for claim, what, ok in claims]
    if error:
        close, n = sum(abs(each) <= CLOSE for each in error.values()), len(error)
        verdict = close >= n * 10 / 12 if n >= ENOUGH else None
        found.append(Finding(f"estimate within {CLOSE} of ACC in 10 of 12 cases", f"{close} of {n} cases", verdict))
    for case, (mean, least, seeds) in LIMITS.items():
        if acc := [row["acc"] for row in select(rows, case=case, method=NOW)]:
            claim = f"{case}: mean ACC at least {mean}" + (f", no seed of {seeds} below {least}" if least else "")
            ok = bool(np.mean(acc) >= mean and min(acc) >= least)
            measured = f"mean {np.mean(acc):.3f}, worst of {len(acc)} seeds {min(acc):.3f}"
            found.append(Finding(claim, measured, _verdict(ok, len(acc) >= seeds)))
    for other in (ADAPTIVE, C3, CC, *PARTS):
        if (d := _over_cases(gains(rows, other))).n:
            found.append(Finding(f"{NOW} is better than {other}, mean over cases", f"ACC {d}", side(d)))
    return found


def draw(rows: Rows) -> Figure:
    """ACC of each case (dot: mean, line: worst to best seed), and estimated against true accuracy (a dot per run)."""
    cases = distinct(rows, "case")
    figure, (left, right) = panels(2, PAGE, max(2.6, 0.24 * len(cases) + 1))
    for name, colour, shift in ((KMEANS, ORANGE, -0.22), (ADAPTIVE, BLUE, 0), (NOW, RED, 0.22)):
        for line, case in enumerate(cases):
            if acc := [row["acc"] for row in select(rows, case=case, method=name)]:
                left.plot([min(acc), max(acc)], [line + shift] * 2, color=colour)
                left.plot([np.mean(acc)], [line + shift], "o", color=colour, markersize=3.5)
        left.plot([], [], "o-", color=colour, markersize=3.5, label=name)
    named_lines(left, "ACC", cases)
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    points = [(r["acc"], r["estimated_accuracy"]) for r in select(rows, method=NOW) if r["estimated_accuracy"] != ""]
    low = min([0.4, *(value for point in points for value in point)])
    right.fill_between([low, 1], [low - CLOSE, 1 - CLOSE], [low + CLOSE, 1 + CLOSE], color="#f0f0f0", linewidth=0)
    right.plot([low, 1], [low, 1], color=BLACK, linewidth=0.8)
    right.plot(*np.reshape(points, (-1, 2)).T, "o", color=RED, markersize=3, alpha=0.7, markeredgewidth=0)
    right.set(xlabel=f"ACC of {NOW}", ylabel="estimated without labels", xlim=(low, 1.01), ylim=(low, 1.01))
    footer(figure, f"{_seeds(select(rows, method=NOW))} of {NOW}; lines: worst to best seed; grey: within {CLOSE}")
    return figure


def _over_cases(gain: dict[str, float]) -> Difference:
    """The mean over cases, with the interval over cases."""
    return paired(list(gain.values()), [0.0] * len(gain))


def _verdict(ok: bool, enough: bool) -> bool | None:
    """What fails, fails; what holds on too few cases or seeds is open."""
    return False if not ok else True if enough else None


def _seeds(rows: Rows) -> str:
    """How many seeds the cases have: all the same number, or from the least to the most."""
    counts = sorted(len(select(rows, case=case, method=rows[0]["method"])) for case in distinct(rows, "case"))
    least, most = counts[0], counts[-1]
    return f"{most} seed{'s' if most > 1 else ''}" if least == most else f"{least} to {most} seeds"


def _score(rows: Rows) -> str:
    acc = [row["acc"] for row in rows]
    return f"{np.mean(acc):.3f} ({min(acc):.3f})" if acc else "–"
