"""label, merge, undo: change the names and clusters of a finished run, and its files. No torch.

Each holds the lock of the run. An edit is one atomic step: edits.json is replaced, or the folder of a change removed.
Then assignments.csv, clusters.csv and the page are written again; `update` repeats that if it was interrupted.
records/edits.py and records/changes.py have the files. methods/_changes.py splits and regroups.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from c3clust.errors import RunError
from c3clust.files.atomic import clear_partial
from c3clust.files.lock import MOMENT, locked
from c3clust.records.changes import Change, clear_changes, current, drop_last
from c3clust.records.edits import Edits
from c3clust.records.state import State
from c3clust.report import page
from c3clust.report.naming import suggestion
from c3clust.report.view import FILE as VIEW
from c3clust.report.view import View

__all__ = ["editing", "label", "merge", "undo", "update"]


def label(run: str | Path, names: Mapping[int, str], suggested: bool = False) -> Edits:
    """Name clusters of a finished run, such as {3: "cats"}; an empty name removes a name.

    suggested: clusters that have no name, and are not among `names`, get the suggested one.
    """
    with editing(run) as now:
        found = _suggested(now, names) if suggested else {}
        return _save(now, Edits.read(now).label({**found, **names}))


def merge(run: str | Path, clusters: Iterable[int]) -> Edits:
    """Merge clusters of a finished run into the first of them."""
    with editing(run) as now:
        return _save(now, Edits.read(now).merge(clusters))


def undo(run: str | Path) -> Edits:
    """Undo the last name, merge, split or regrouping of a finished run."""
    with editing(run) as now:
        edits = Edits.read(now)
        if now == Path(run) or len(edits.operations) > Change.read(now).carried:
            return _save(now, edits.undo())
        drop_last(Path(run))
        return Edits.read(current(run))


def update(run: str | Path) -> Path:
    """Write assignments.csv, clusters.csv and the page of a finished run again; the path of the page."""
    with locked(Path(run), MOMENT):
        State.read(run).write()
        return page.render(Path(run))


@contextmanager
def editing(run: str | Path) -> Iterator[Path]:
    """Hold a finished run, after other commands have ended; gives its current folder. Then its files are written."""
    run = Path(run)
    with locked(run, MOMENT):
        clear_partial(run)
        clear_changes(run)
        State.read(run)  # a run whose files cannot be written again is not changed
        yield current(run)
        try:
            State.read(run).write()
            if (current(run) / VIEW).exists():
                page.render(run)
        except OSError as error:
            raise RunError(
                f"The clusters are changed, but {run} cannot be written: {error.strerror}. "
                f"Once it can be, write its files with c3clust report {run}."
            ) from None


def _save(now: Path, edits: Edits) -> Edits:
    edits.write(now)
    return edits


def _suggested(now: Path, given: Mapping[int, str]) -> dict[int, str]:
    """Suggested names for clusters without a name; equal names are numbered."""
    edits, view = Edits.read(now), View.read(now)
    view, names = view.merged(np.asarray(edits.target)), dict[int, str]()
    taken = {*edits.names.values(), *(name.strip() for name in given.values())}
    for i in edits.live:
        found = suggestion(view, i)
        if found is None or i in edits.names or i in given:
            continue
        tries = (found.name, *(f"{found.name} {k}" for k in range(2, len(edits.target) + 2)))
        names[i] = next(name for name in tries if name not in taken)
        taken.add(names[i])
    return names
