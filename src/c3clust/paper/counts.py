"""Whether the number of clusters is right after 20 answers about it: it is estimated first, then people are asked.

People are simulated (people.py). The cases are those of the study `answers`, clustered by Consensus with
n_clusters="auto"; with `--data DIR` also the files DIR/NAME-SEED.npz of clusterings whose number was estimated.
"""

from pathlib import Path

from c3clust.bench import Job
from c3clust.paper.findings import Finding
from c3clust.paper.people import Person, counted
from c3clust.paper.setting import Setting
from c3clust.paper.starts import files, read
from c3clust.paper.style import BLUE, COLUMN, RED, footer, panels
from c3clust.paper.values import Figure, Results, Rows, select, write_rows

ORDER = 24
ANSWERS = (0, 20)
SHARE = 13 / 16  # of the cases


def jobs(setting: Setting) -> list[Job]:
    return []


def write(setting: Setting, results: Results, out: Path) -> list[Path]:
    """Ask about each case; then counts.csv, the figure and the finding."""
    from c3clust.paper import redraw

    rows = []
    for name, seed, path in files(setting, out, estimated=True):
        case = read(path)
        classes = len(set(case.y.tolist()))
        for n in ANSWERS:
            number = counted(case, Person(case.y, 0.0, seed), n, seed)
            rows.append({"case": name, "seed": seed, "classes": classes, "answers": n, "clusters": number})
    write_rows(out / "counts.csv", rows)
    return [out / "counts.csv", *redraw("counts", out)]


def findings(rows: Rows) -> list[Finding]:
    found = [select(rows, answers=n) for n in ANSWERS]
    right = [sum(row["clusters"] == row["classes"] for row in some) for some in found]
    measured = f"{right[1]} of {len(found[1])} with {ANSWERS[1]} answers, {right[0]} without"
    return [Finding("The number of classes is found in 13 of 16", measured, right[1] >= SHARE * len(found[1]))]


def draw(rows: Rows) -> Figure:
    """The number of clusters by the number of classes, before and after the answers."""
    figure, (axis,) = panels(1, COLUMN, 2.4)
    for n, colour, marker in zip(ANSWERS, (RED, BLUE), "x+", strict=True):
        some = select(rows, answers=n)
        label = f"{n} answers"
        axis.plot(
            [row["classes"] for row in some], [row["clusters"] for row in some], marker, color=colour, label=label
        )
    ends = [1, max(row["classes"] for row in rows)]
    axis.plot(ends, ends, color="#888888", linewidth=0.8)
    axis.set(xlabel="classes", ylabel="clusters")
    axis.legend(loc="upper left")
    footer(figure, "K estimated; a point on the line is exactly right")
    return figure
