"""How much answers help: ACC of the learner of `c3clust review` by the number of answers, beside simpler means.

People are simulated (people.py), with 0, 5 and 10 % wrong answers. starts.py has the cases. Each case, seed, way and
rate of wrong answers is run once and stored; after an interruption, the same command continues.
"""

import json
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from c3clust.bench import Job
from c3clust.bench.format import markdown_table
from c3clust.files.atomic import read_json, write_atomically
from c3clust.paper.findings import Finding
from c3clust.paper.people import WAYS, Person
from c3clust.paper.setting import Setting
from c3clust.paper.starts import File, files, read
from c3clust.paper.style import COLOURS, COLUMN, footer, panels
from c3clust.paper.values import Figure, Results, Rows, distinct, select, write_rows

ORDER = 22
BUDGETS = (0, 10, 25, 50, 100, 200, 500)
WRONG = (0.0, 0.1, 0.05)
LEARNER, ONLY = list(WAYS)[:2]
CLOSE = 0.01  # below correcting only
COST = 0.02  # of 10 % wrong answers


def jobs(setting: Setting) -> list[Job]:
    return []


def write(setting: Setting, results: Results, out: Path) -> list[Path]:
    """Run what is missing; then answers.csv, the table, the figure and the findings."""
    from c3clust.paper import redraw

    tasks = [
        (file, way, wrong)
        for wrong in WRONG
        for file in files(setting, out)
        for way in WAYS
        if not wrong or way == LEARNER
    ]
    Parallel(n_jobs=-1)(delayed(_run)(*task, out / "answers") for task in tasks)
    rows = [row for task in tasks for row in _read(*task, out / "answers")]
    write_rows(out / "answers.csv", rows)
    write_atomically(out / "answers-table.md", table(rows).encode())
    return [out / "answers.csv", out / "answers-table.md", *redraw("answers", out)]


def _run(file: File, way: str, wrong: float, folder: Path) -> None:
    path = _path(file, way, wrong, folder)
    if not path.exists():
        case = read(file[2])
        person = Person(case.y, wrong, file[1])
        scores = WAYS[way](case, person, BUDGETS, file[1])
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps({str(budget): score for budget, score in scores.items()}).encode())


def _path(file: File, way: str, wrong: float, folder: Path) -> Path:
    return folder / f"{file[0]}-{file[1]}-{way.replace(' ', '-')}-{wrong:g}.json"


def _read(file: File, way: str, wrong: float, folder: Path) -> Rows:
    found = read_json(_path(file, way, wrong, folder))
    about = {"case": file[0], "seed": file[1], "way": way, "wrong": wrong}
    return [about | {"answers": int(budget), "acc": float(score)} for budget, score in found.items()]


def table(rows: Rows) -> str:
    """The mean over cases of each way, and the learner in each case."""
    head = ["", *(str(budget) for budget in BUDGETS)]
    lines = [[_title(way, wrong), *_means(rows, way, wrong)] for wrong, way in _ways(rows)]
    cases = [[case, *_means(select(rows, case=case), LEARNER, 0.0)] for case in distinct(rows, "case")]
    return f"{markdown_table(head, lines)}\n{markdown_table(head, cases)}"


def _ways(rows: Rows) -> list[tuple[float, str]]:
    return sorted(
        dict.fromkeys((row["wrong"], row["way"]) for row in rows), key=lambda each: (each[0], each[1] != LEARNER)
    )


def _title(way: str, wrong: float) -> str:
    return f"{way}, {wrong:.0%} wrong" if wrong else way


def _means(rows: Rows, way: str, wrong: float) -> list[str]:
    return [f"{mean(rows, way, wrong, budget):.3f}" for budget in BUDGETS]


def mean(rows: Rows, way: str, wrong: float, budget: int) -> float:
    """The mean over cases of the means over seeds."""
    some = select(rows, way=way, wrong=wrong, answers=budget)
    return float(np.mean([np.mean([row["acc"] for row in select(some, case=case)]) for case in distinct(some, "case")]))


def findings(rows: Rows) -> list[Finding]:
    others = [way for way in distinct(rows, "way") if way != LEARNER]
    least = {way: min((mean(rows, LEARNER, 0.0, b) - mean(rows, way, 0.0, b), b) for b in BUDGETS) for way in others}
    found = [
        Finding(f"not below {way} at any budget", f"least difference {gain:+.3f}, at {budget:g} answers", gain >= 0)
        for way, (gain, budget) in least.items()
    ]
    below = _below(rows)
    found.append(Finding("never 1 point below correcting only, in any case", ", ".join(below) or "none", not below))
    if select(rows, wrong=0.1):
        cost, at = max((mean(rows, LEARNER, 0.0, b) - mean(rows, LEARNER, 0.1, b), b) for b in BUDGETS)
        found.append(Finding("10 % wrong answers cost at most 2 points", f"{cost:.3f}, at {at:g}", cost <= COST))
    return found


def _below(rows: Rows) -> list[str]:
    """The cases in which the learner is worse than correcting only, with the largest difference."""
    found = []
    for case in distinct(rows, "case"):
        here = select(rows, case=case)
        worst = min((mean(here, LEARNER, 0.0, b) - mean(here, ONLY, 0.0, b), b) for b in BUDGETS)
        found += [f"{case} {worst[0]:+.3f} at {worst[1]:g}"] if worst[0] < -CLOSE else []
    return found


def draw(rows: Rows) -> Figure:
    """The mean over cases by the number of answers, one line per way."""
    figure, (axis,) = panels(1, COLUMN * 1.4, 2.6)
    for colour, (wrong, way) in zip(COLOURS, _ways(rows), strict=False):
        at = [budget for budget in BUDGETS if select(rows, way=way, wrong=wrong, answers=budget)]
        line = [mean(rows, way, wrong, budget) for budget in at]
        axis.plot(range(len(at)), line, "--" if wrong else "-", color=colour, label=_title(way, wrong))
    axis.set(xlabel="answers", ylabel="ACC", xticks=range(len(BUDGETS)), ylim=(0.6, 1))
    axis.set_xticklabels([str(budget) for budget in BUDGETS])
    axis.legend(loc="lower right")
    footer(figure, f"mean of {len(distinct(rows, 'case'))} cases, {len(distinct(rows, 'seed'))} seeds")
    return figure
