"""label, merge, split, regroup, undo: name and change the clusters of a finished run without training features."""

from pathlib import Path
from typing import Annotated

import typer

from c3clust.cli import options as opt
from c3clust.errors import InputError

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

    given = [text.partition("=") for text in names or []]
    for number, equals, _ in given:
        if not equals or not number.strip():
            raise InputError(f"{number + equals!r} is not of the form number=name, for example 3=cats.")
    editing.label(run, {number.strip(): name for number, _, name in given}, suggested)
    _show(run, as_json)


def merge(
    run: opt.Run,
    clusters: Annotated[list[str], typer.Argument(help="Numbers or names of the clusters to merge.")],
    as_json: opt.AsJson = False,
) -> None:
    """Merge several clusters into one, which keeps the first number. Nothing is trained again.

    Example:  c3clust merge runs/photos 3 5
    """
    from c3clust.report import editing

    editing.merge(run, clusters)
    _show(run, as_json)


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

    _changes.split(run, cluster, into, **_named(source=source, encoder=encoder, method=method))
    _show(run, as_json)


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

    _changes.regroup(run, clusters, **_named(source=source, encoder=encoder, method=method))
    _show(run, as_json)


def _named(**options: str | None) -> dict[str, str]:
    return {name: value for name, value in options.items() if value is not None}


def undo(run: opt.Run, as_json: opt.AsJson = False) -> None:
    """Undo the last label, merge, split or regrouping.

    Example:  c3clust undo runs/photos
    """
    from c3clust.report import editing

    editing.undo(run)
    _show(run, as_json)


def _show(run: Path, as_json: bool) -> None:
    """Print the current clusters and their sizes."""
    from c3clust.records.state import State

    now = State.read(run)
    clusters = now.edits.plain(now.assignments.clusters)
    if as_json:
        opt.json_out({"run": run, "clusters": clusters})
        return
    for each in clusters:
        merged = f" (merged with {', '.join(map(str, each['merged']))})" if each["merged"] else ""
        opt.out(f"{each['size']:7,}  {each['cluster']}: {now.edits.name(each['cluster'])}{merged}")
