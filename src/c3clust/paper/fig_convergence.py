"""ACC and NMI during stage 2; epoch 0 is CC.

With several datasets, one column of panels for each, as in the paper. On CIFAR-10 the log that was released with the
paper's code is shown too (released.csv, from Armanfard-Lab/C3, CIFAR_10_log.out: ACC .770 to .841, lines 0 to 19).
"""

from importlib.resources import files
from pathlib import Path

from c3clust.bench import Job
from c3clust.paper.findings import Finding, both, change, side
from c3clust.paper.setting import Setting
from c3clust.paper.style import PAGE, colours, curves, footer, panels, score_curves, seeds_note
from c3clust.paper.values import (
    Figure,
    Results,
    Rows,
    by_data,
    distinct,
    epochs_from_start,
    read_rows,
    scores_of,
    select,
)  # fmt: skip

ORDER = 2
SEVERAL = True
RELEASED = "released log (cited)"


def jobs(setting: Setting) -> list[Job]:
    return [setting.c3(seed, "C3") for seed in setting.seeds]


def rows(setting: Setting, results: Results) -> Rows:
    found = [
        {"name": r.job.name, "seed": r.job.seed, "epoch": epoch, **scores_of(entry)}
        for r in results
        for epoch, entry in enumerate(epochs_from_start(r))
    ]
    return found + (released() if setting.data == "cifar10" else [])


def released() -> Rows:
    """The log that was released with the paper's code, as rows of another name."""
    return [
        {"name": RELEASED, "seed": 0, **row} for row in read_rows(Path(str(files("c3clust.paper") / "released.csv")))
    ]


def findings(rows: Rows) -> list[Finding]:
    found = []
    for data, here in by_data(rows).items():
        for name in (name for name in distinct(here, "name") if name != RELEASED):
            gains = [change(select(here, name=name), metric) for metric in ("acc", "nmi")]
            measured = f"{data}{': ' if data else ''}{name}: ACC {gains[0]}; NMI {gains[1]}"
            found.append(Finding("ACC and NMI rise during stage 2", measured, both(*map(side, gains))))
    return found


def draw(rows: Rows) -> Figure:
    what, parts = "epoch of stage 2 (0: after CC)", by_data(rows)
    if len(parts) == 1:
        return score_curves(rows, what, 0)
    figure, axes = panels(len(parts), PAGE, 1.7, lines=2)
    shades = colours(distinct(rows, "name"))
    for column, (data, here) in enumerate(parts.items()):
        lines = [(name, shades[name], select(here, name=name)) for name in distinct(here, "name")]
        curves(axes[column :: len(parts)], lines, {"acc": "ACC", "nmi": "NMI"}, "epoch of stage 2", 0)
        axes[column].set(title=Path(data).name, xlabel="")
        for axis in axes[column :: len(parts)] if column else ():
            axis.set_ylabel("")
    handles = {label: line for axis in axes for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=3)
    footer(figure, f"epoch 0: after CC; {seeds_note(rows)}")
    return figure
