"""label, merge, move, discard, answer, split, regroup, undo: change the clusters of a finished run.

Features are not trained again.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from c3clust.cli import options as opt
from c3clust.errors import InputError, RunError

if TYPE_CHECKING:
    from c3clust.records.edits import Edits

__all__ = ["answer", "discard", "label", "merge", "move", "regroup", "split", "undo"]


Source = Annotated[
    str | None,
    typer.Option("--source", help="Where the samples are, if they were moved or the run was made by somebody else."),
]


def label(
    run: opt.Run,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help='Numbers or old names of clusters, and new names: 3="cats" cats="lynxes".', show_default=False
        ),
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


def move(
    run: opt.Run,
    words: Annotated[
        list[str], typer.Argument(metavar="FILE... CLUSTER", help="Samples, and the number or name of a cluster.")
    ],
    new: Annotated[bool, typer.Option("--new", help="Make a new cluster of this name.")] = False,
    source: Source = None,
    encoder: opt.SavedEncoder = None,
    method: opt.Method = None,
    as_json: opt.AsJson = False,
) -> None:
    """Move samples to another cluster. Predictions of similar samples follow; files stay where they are.

    Examples:

      c3clust move runs/photos IMG_0012.jpg IMG_0040.jpg cats

      c3clust move runs/photos photos/IMG_0013.jpg lynxes --new
    """
    from c3clust.report import editing
    from c3clust.report.selection import Selection

    if len(words) < 2:
        raise InputError("Give at least one sample, and the number or name of a cluster as the last word.")
    chosen, (*files, cluster) = Selection(run), words
    samples = [chosen.sample(word) for word in files]
    if new and cluster.strip() in chosen.edits.names.values():
        raise InputError(f"There is a cluster {cluster!r}: omit --new to move samples to it.")
    target = None if new else _found(chosen.edits, cluster)
    _embed(run, source=source, encoder=encoder, method=method)
    editing.new_cluster(run, samples, cluster) if target is None else editing.move(run, samples, target)
    _show(run, as_json)


def _found(edits: "Edits", cluster: str) -> int:
    """The number of a cluster; the message for an unknown one says how to make it."""
    try:
        return edits.find(cluster)
    except RunError as error:
        raise InputError(f"{str(error).rstrip('.')}, or add --new to make it.") from None


def discard(
    run: opt.Run,
    words: Annotated[
        list[str], typer.Argument(metavar="FILE...|CLUSTER", help="Samples, or numbers or names of clusters.")
    ],
    whole: Annotated[
        bool | None, typer.Option("--clusters/--samples", help="What the words are.", show_default="found out")
    ] = None,
    source: Source = None,
    encoder: opt.SavedEncoder = None,
    method: opt.Method = None,
    as_json: opt.AsJson = False,
) -> None:
    """Put samples, or all of a cluster, into no cluster (-1). No file is deleted.

    Example:  c3clust discard runs/photos IMG_0007.jpg screenshots
    """
    from c3clust.report import editing
    from c3clust.report.selection import Selection

    samples = Selection(run).samples_or_members(words, whole)
    _embed(run, source=source, encoder=encoder, method=method)
    editing.discard(run, samples)
    _show(run, as_json)


def answer(
    run: opt.Run,
    answers: Annotated[
        Path, typer.Argument(help="CSV with the columns kind, sample, other and cluster.", show_default=False)
    ],
    source: Source = None,
    encoder: opt.SavedEncoder = None,
    method: opt.Method = None,
    as_json: opt.AsJson = False,
) -> None:
    """Place samples by a table of answers, and those that follow from them, as one step that undo takes back.

    kind is in, not, nowhere, together or apart; cluster is a number, a name, or new:NAME; other is the second sample of
    together and apart.

    Example:  c3clust answer runs/photos answers.csv
    """
    from c3clust.report import editing
    from c3clust.report.selection import read_answers

    pins, new = read_answers(run, answers)
    _embed(run, source=source, encoder=encoder, method=method)
    from c3clust.review.answers import relabel

    editing.pin(run, pins, *relabel(run, pins, new))
    _show(run, as_json)


def _embed(run: Path, **given: str | None) -> None:
    """Write the representation of the samples, which predict needs to follow, unless the run has it."""
    from c3clust.records.assignments import Assignments
    from c3clust.records.changes import current
    from c3clust.records.embedding import read_z

    if read_z(run, len(Assignments.read(current(run)).names)) is None:
        from c3clust.methods import _changes

        _changes.embed(run, **_named(**given))


def split(
    run: opt.Run,
    cluster: Annotated[str, typer.Argument(help="Number or name of the cluster.")],
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
    """Undo the last label, merge, move, discard, answer, split or regrouping.

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
    nowhere = int((now.assignments.clusters < 0).sum())
    opt.out("samples  cluster")
    for each in clusters:
        merged = f" (merged with {', '.join(map(str, each['merged']))})" if each["merged"] else ""
        opt.out(f"{each['size']:7,}  {each['cluster']}: {now.edits.name(each['cluster'])}{merged}")
    if nowhere:
        opt.out(f"{nowhere:7,}  no cluster")
