"""label, merge, split, regroup, undo: name and change the clusters of a finished run without training features."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from c3clust.cli import options as opt
from c3clust.errors import InputError

if TYPE_CHECKING:
    from c3clust.records.edits import Edits

__all__ = ["label", "merge", "regroup", "split", "undo"]


def label(
    run: opt.Run,
    names: Annotated[
        list[str] | None, typer.Argument(help='Cluster numbers and names: 3="cats" 5="dogs".', show_default=False)
    ] = None,
    suggested: Annotated[
        bool, typer.Option("--suggested", help="Use the suggested names for clusters without a name.")
    ] = False,
    as_json: opt.AsJson = False,
) -> None:
    """Name clusters. Predictions, report and export use the names; nothing is trained again.

    Example:  c3clust label runs/photos 3="cats" 5="dogs"
    """
    from c3clust.report import editing

    names = [*(_suggestions(run, names or []) if suggested else []), *(names or [])]
    given = [text.partition("=") for text in names]
    for number, equals, _ in given:
        if not equals or not number.strip().isdecimal():
            raise InputError(f"{number + equals!r} is not of the form number=name, for example 3=cats.")
    _show(run, editing.label(run, {int(number): name for number, _, name in given}), as_json)


def merge(
    run: opt.Run,
    clusters: Annotated[list[int], typer.Argument(help="Numbers of the clusters to merge.")],
    as_json: opt.AsJson = False,
) -> None:
    """Merge several clusters into one, which keeps the first number. Nothing is trained again.

    Example:  c3clust merge runs/photos 3 5
    """
    from c3clust.report import editing

    _show(run, editing.merge(run, clusters), as_json)


Source = Annotated[
    str | None,
    typer.Option("--source", help="Where the samples are, if they were moved or the run was made by somebody else."),
]


def split(
    run: opt.Run,
    cluster: Annotated[int, typer.Argument(help="Number of the cluster.", min=0)],
    into: Annotated[int, typer.Option("--into", help="Number of parts.", min=2)] = 2,
    source: Source = None,
    encoder: opt.SavedEncoder = None,
    method: opt.Method = None,
    as_json: opt.AsJson = False,
) -> None:
    """Split a cluster into parts. The largest keeps its number; features are not trained again.

    Example:  c3clust split runs/photos 3 --into 2
    """
    from c3clust.methods import _changes

    _show(run, _changes.split(run, cluster, into, **_named(source=source, encoder=encoder, method=method)), as_json)


def regroup(
    run: opt.Run,
    clusters: Annotated[int, typer.Option("-k", "--clusters", help="Number of clusters.", min=1)],
    source: Source = None,
    encoder: opt.SavedEncoder = None,
    method: opt.Method = None,
    as_json: opt.AsJson = False,
) -> None:
    """Make another number of clusters from the same features, without training them again.

    Example:  c3clust regroup runs/photos -k 12
    """
    from c3clust.methods import _changes

    _show(run, _changes.regroup(run, clusters, **_named(source=source, encoder=encoder, method=method)), as_json)


def _named(**options: str | None) -> dict[str, str]:
    return {name: value for name, value in options.items() if value is not None}


def undo(run: opt.Run, as_json: opt.AsJson = False) -> None:
    """Undo the last label, merge, split or regrouping.

    Example:  c3clust undo runs/photos
    """
    from c3clust.report import editing

    _show(run, editing.undo(run), as_json)


def _suggestions(run: Path, given: list[str]) -> list[str]:
    """Suggested names, as number=name, for clusters without a name; equal names are numbered."""
    import numpy as np

    from c3clust.records.changes import current
    from c3clust.records.edits import Edits
    from c3clust.report import View
    from c3clust.report.naming import suggestion

    edits, view = Edits.read(current(run)), View.read(current(run))
    view = view.merged(np.asarray(edits.target))
    others = {text.partition("=")[0].strip() for text in given}
    used = {*edits.names.values(), *(text.partition("=")[2].strip() for text in given)}
    words = []
    for i in edits.live:
        found = suggestion(view, i)
        if found is None or i in edits.names or str(i) in others:
            continue
        tries = (found.name, *(f"{found.name} {k}" for k in range(2, len(edits.target) + 2)))
        name = next(name for name in tries if name not in used)
        used.add(name)
        words.append(f"{i}={name}")
    return words


def _show(run: Path, edits: "Edits", as_json: bool) -> None:
    """Print the current clusters and their sizes."""
    from c3clust.records.assignments import Assignments
    from c3clust.records.changes import current

    labels, names = edits.apply(Assignments.read(current(run)).clusters)
    clusters = edits.plain(labels)
    if as_json:
        opt.json_out({"run": run, "clusters": clusters})
        return
    for each in clusters:
        merged = f" (merged with {', '.join(map(str, each['merged']))})" if each["merged"] else ""
        opt.out(f"{each['size']:7,}  {each['cluster']}: {names[each['cluster']]}{merged}")
