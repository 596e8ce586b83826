"""label, merge, undo: names and merges of the clusters of a finished run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from c3clust.cli import options as opt
from c3clust.errors import InputError

if TYPE_CHECKING:
    from c3clust.records.edits import Edits

__all__ = ["label", "merge", "undo"]


def label(
    run: opt.Run,
    names: Annotated[
        list[str] | None, typer.Argument(help='Cluster numbers and names, as 3="cats" 5="dogs".', show_default=False)
    ] = None,
    suggested: Annotated[
        bool, typer.Option("--suggested", help="The suggested names too, for clusters without a name.")
    ] = False,
) -> None:
    """Name clusters. Predictions, report and export use the names; nothing is trained again.

    Example:  c3clust label runs/photos 3="cats" 5="dogs"
    """
    from c3clust.records import edits

    names = [*(_suggestions(run, names or []) if suggested else []), *(names or [])]
    given = [text.partition("=") for text in names]
    for number, equals, _ in given:
        if not equals or not number.strip().isdecimal():
            raise InputError(f"{number + equals!r} is not number=name, for example 3=cats.")
    _show(run, edits.label(run, {int(number): name for number, _, name in given}))


def merge(
    run: opt.Run, clusters: Annotated[list[int], typer.Argument(help="Numbers of the clusters to merge.")]
) -> None:
    """Merge several clusters into one, which keeps the first number. Nothing is trained again.

    Example:  c3clust merge runs/photos 3 5
    """
    from c3clust.records import edits

    _show(run, edits.merge(run, clusters))


def undo(run: opt.Run) -> None:
    """Undo the last label or merge.

    Example:  c3clust undo runs/photos
    """
    from c3clust.records import edits

    _show(run, edits.undo(run))


def _suggestions(run: Path, given: list[str]) -> list[str]:
    """The suggested names of clusters that have no name and get none, as number=name; equal ones are numbered."""
    import numpy as np

    from c3clust.records.edits import Edits
    from c3clust.report import View
    from c3clust.report.naming import suggestion

    edits, view = Edits.read(run), View.read(run)
    view, others = view.merged(np.asarray(edits.target)), {text.partition("=")[0].strip() for text in given}
    taken, words = {*edits.names.values(), *(text.partition("=")[2].strip() for text in given)}, []
    for i in edits.live:
        found = suggestion(view, i)
        if found is None or i in edits.names or str(i) in others:
            continue
        tries = (found.name, *(f"{found.name} {k}" for k in range(2, len(edits.target) + 2)))
        name = next(name for name in tries if name not in taken)
        taken.add(name)
        words.append(f"{i}={name}")
    return words


def _show(run: Path, edits: "Edits") -> None:
    """Print the clusters as they are now, and update the report page."""
    from c3clust import report

    _, names = edits.apply([])
    for number, name in names.items():
        opt.out(f"{number}: {name}")
    if (run / "view.npz").exists():
        report.render(run)
