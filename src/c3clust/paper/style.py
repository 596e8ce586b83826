"""The style of the figures: the colours of Okabe and Ito, which colour-blind readers can distinguish."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import MissingExtraError
from c3clust.paper.values import Figure, Rows, distinct, select

COLUMN, PAGE = 3.5, 7.0  # inches: one column, both columns
BLUE, ORANGE, GREEN, PURPLE, SKY, RED, YELLOW, BLACK = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#222222",
)  # fmt: skip
COLOURS = (BLUE, RED, GREEN, ORANGE, PURPLE, SKY, BLACK)
# Ten classes are more than Okabe and Ito have: Petroff's ten, chosen for the same readers (arXiv 2107.02270).
CLASSES = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
Line = tuple[str, str, Rows]  # label, colour, rows
LOOK: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["Source Sans 3", "Helvetica Neue", "Helvetica", "Arial", "Liberation Sans", "DejaVu Sans"],
    **dict.fromkeys(("font.size", "axes.titlesize", "axes.labelsize"), 8),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 7),
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    **dict.fromkeys(("axes.linewidth", "grid.linewidth", "xtick.major.width", "ytick.major.width"), 0.6),
    **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 2.5),
    **dict.fromkeys(("xtick.color", "ytick.color"), "#555555"),
    **{"axes.labelcolor": "#333333", "axes.edgecolor": "#888888", "grid.color": "#e6e6e6"},
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("axes.grid", "axes.axisbelow"), True),
    **{"lines.linewidth": 1.4, "lines.solid_capstyle": "round", "legend.handlelength": 1.4},
    **{"figure.dpi": 200, "savefig.dpi": 200, "pdf.fonttype": 42},
}


@contextmanager
def look() -> Iterator[None]:
    """Draw in this style; an error in one sentence if matplotlib is missing."""
    try:
        from matplotlib import rc_context
    except ImportError:
        raise MissingExtraError("Figures need matplotlib: install it with pip install 'c3clust[paper]'.") from None
    with rc_context(LOOK):
        yield


def panels(columns: int, width: float = PAGE, height: float = 2.1, lines: int = 1, **more: Any) -> tuple[Any, Any]:
    """A figure and its axes [lines * columns]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height * lines), layout="constrained")
    return figure, figure.subplots(lines, columns, squeeze=False, **more).ravel()


def band(
    axis: Any, rows: Rows, x: str, y: str, label: str, colour: str, style: str = "-", opacity: float = 0.16
) -> None:
    """The mean over seeds as a line, one standard deviation to both sides as a band; many bands need less opacity."""
    rows = [row for row in rows if row[y] != ""]
    at = sorted(distinct(rows, x))
    values = [[row[y] for row in select(rows, **{x: value})] for value in at]
    mean = np.array([np.mean(v) for v in values])
    spread = np.array([np.std(v, ddof=1) if len(v) > 1 else 0.0 for v in values])
    axis.fill_between(at, mean - spread, mean + spread, color=colour, alpha=opacity, linewidth=0)
    axis.plot(at, mean, style, color=colour, label=label, marker="o" if len(at) == 1 else "", markersize=3)


def epochs(axis: Any, what: str, first: float) -> None:
    """The x-axis of a curve: whole epochs."""
    axis.set(xlabel=what, xlim=(first, None))
    axis.locator_params(axis="x", integer=True)


def curves(axes: Any, lines: Sequence[Line], labels: Mapping[str, str], what: str, first: float, **more: Any) -> None:
    """By epoch, one panel per column in `labels`, and in it one band per line."""
    for axis, (column, label) in zip(axes, labels.items(), strict=True):
        for name, colour, rows in lines:
            band(axis, rows, "epoch", column, name, colour, **more)
        axis.set_ylabel(label)
        epochs(axis, what, first)


def by_name(rows: Rows) -> list[Line]:
    return [(name, colour, select(rows, name=name)) for name, colour in colours(distinct(rows, "name")).items()]


def score_curves(rows: Rows, what: str, first: float) -> Figure:
    """ACC and NMI by epoch, one line per name."""
    figure, axes = panels(2)
    curves(axes, by_name(rows), {"acc": "ACC", "nmi": "NMI"}, what, first)
    for axis in axes:
        axis.set_ylim(top=min(axis.get_ylim()[1], 1))  # a band may reach above what a score can
    axes[0].legend(loc="best")
    footer(figure, seeds_note(rows))
    return figure


def dots(axis: Any, line: int, values: Sequence[float], colour: str) -> None:
    """One dot per seed on a horizontal line, and a tick at their mean."""
    axis.plot(values, [line] * len(values), "o", color=colour, markersize=3, alpha=0.8, markeredgewidth=0)
    axis.plot([np.mean(values)], [line], "|", color=BLACK, markersize=10, markeredgewidth=1.4)


def named_lines(axis: Any, label: str, names: Sequence[str]) -> None:
    """Axes for `dots`: horizontal lines with names, the first at the top."""
    axis.set(xlabel=label, yticks=range(len(names)), ylim=(len(names) - 0.5, -0.5))
    axis.set_yticklabels(names)
    axis.grid(axis="y", visible=False)


def seeds_note(rows: Rows) -> str:
    n = len(distinct(rows, "seed"))
    return f"mean ± 1 s.d. over {n} seeds" if n > 1 else "one seed"


def footer(figure: Any, text: str, colour: str = "#666666", size: float = 6.5) -> None:
    figure.supxlabel(text, fontsize=size, color=colour, x=0.995, ha="right", multialignment="right")


def stamp(figure: Any, text: str) -> None:
    """A line below the figure, for one that is not a result."""
    footer(figure, f"{figure.get_supxlabel()}\n{text}".strip(), RED, 8)


def save(figure: Any, path: Path) -> list[Path]:
    """PATH.png and PATH.pdf, without dates, so that the same numbers give the same files."""
    files = [path.with_name(f"{path.name}.{kind}") for kind in ("png", "pdf")]
    figure.savefig(files[0], metadata={"Software": None})
    figure.savefig(files[1], metadata={"CreationDate": None})
    return files


def colours(labels: Sequence[str]) -> dict[str, str]:
    return {label: COLOURS[i % len(COLOURS)] for i, label in enumerate(labels)}
