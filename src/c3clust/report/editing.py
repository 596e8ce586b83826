"""label, merge, move, discard, undo: change the names and clusters of a finished run, and its files. No torch.

Each holds the lock of the run. An edit is one atomic step: edits.json is replaced, or the folder of a change removed.
Then assignments.csv, clusters.csv and the page are written again; `update` repeats that if it was interrupted.
records/edits.py and records/changes.py have the files. methods/_changes.py splits and regroups.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from c3clust.errors import RunError
from c3clust.files.atomic import clear_partial
from c3clust.files.lock import MOMENT, locked
from c3clust.records.assignments import Assignments
from c3clust.records.changes import Change, clear_changes, current, drop_last
from c3clust.records.duplicates import Duplicates
from c3clust.records.edits import Edits, Moved
from c3clust.records.pins import NOWHERE, Pin
from c3clust.records.state import State
from c3clust.report import page
from c3clust.report.naming import suggestion
from c3clust.report.view import FILE as VIEW

__all__ = ["confirm", "discard", "editing", "label", "merge", "move", "new_cluster", "pin", "undo", "update"]

Samples = str | Iterable[str]  # names, as in assignments.csv


def label(run: str | Path, names: Mapping[int, str] | Mapping[str, str], suggested: bool = False) -> Edits:
    """Name clusters of a finished run, by number or name, such as {3: "cats"}; an empty name removes a name.

    suggested: clusters that have no name, and are not among `names`, get the suggested one.
    """
    with editing(run) as now:
        edits = Edits.read(now)
        given = {edits.find(cluster): name for cluster, name in names.items()}
        found = _suggested(Path(run), given) if suggested else {}
        return _save(now, edits.label({**found, **given}))


def merge(run: str | Path, clusters: Iterable[int | str]) -> Edits:
    """Merge clusters of a finished run, given by number or name, into the first of them."""
    with editing(run) as now:
        edits = Edits.read(now)
        return _save(now, edits.merge([edits.find(cluster) for cluster in clusters]))


def pin(run: str | Path, pins: Iterable[Pin], new: Sequence[str] = (), moved: Moved | None = None) -> Edits:
    """Add decisions about samples to the history of a finished run, as one step. Copies of a sample follow it.

    new: names of the new clusters that pins "in" no cluster make. moved: the samples that the model moves because of
    them, with cluster and confidence.
    """
    with editing(run) as now:
        return _pin(run, now, pins, new, moved)


def move(run: str | Path, samples: Samples, cluster: int | str) -> Edits:
    """Move samples of a finished run to a cluster, given by number or name."""
    with editing(run) as now:
        return _pin(run, now, [Pin.of("in", _several(samples), Edits.read(now).find(cluster))])


def new_cluster(run: str | Path, samples: Samples, name: str = "") -> Edits:
    """Move samples of a finished run to a new cluster."""
    return pin(run, [Pin.of("in", _several(samples))], [name])


def confirm(run: str | Path, samples: Samples) -> Edits:
    """Samples of a finished run are where they belong: whatever the model learns later, they stay there."""
    with editing(run) as now:
        found = State.read(run).assignments
        at, here = dict(zip(found.names, found.clusters.tolist(), strict=True)), dict[int, list[str]]()
        for name in _several(samples):
            here.setdefault(at.get(name, NOWHERE), []).append(name)
        pins = [Pin.of("nowhere", names) if i == NOWHERE else Pin.of("in", names, i) for i, names in here.items()]
        return _pin(run, now, pins)


def discard(run: str | Path, samples: Samples) -> Edits:
    """Samples of a finished run belong to no cluster. Files are not deleted."""
    return pin(run, [Pin.of("nowhere", _several(samples))])


def undo(run: str | Path) -> Edits:
    """Undo the last name, merge, move, split or regrouping of a finished run."""
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


def _several(samples: Samples) -> list[str]:
    return [samples] if isinstance(samples, str) else list(samples)


def _pin(run: str | Path, now: Path, pins: Iterable[Pin], new: Sequence[str] = (), moved: Moved | None = None) -> Edits:
    names = Assignments.read(now).names
    copies = Duplicates.read(run, names).groups(names)
    pins, known = [_with_copies(each, copies) for each in pins], set(names)
    for sample in (sample for each in pins for sample in each.samples):
        if sample not in known:
            raise RunError(f"{sample!r} is not a sample of {run}: its names are in {Path(run) / 'assignments.csv'}.")
    moved = {name: place for name, place in (moved or {}).items() if name in known}
    return _save(now, Edits.read(now).pin(pins, new, moved))


def _with_copies(pin: Pin, copies: Mapping[str, Sequence[str]]) -> Pin:
    """A pin of samples to a place is also one of their copies: they are the same picture."""
    if pin.kind not in ("in", "nowhere"):
        return pin
    return Pin.of(pin.kind, (name for sample in pin.samples for name in copies.get(sample, [sample])), pin.cluster)


def _save(now: Path, edits: Edits) -> Edits:
    edits.write(now)
    return edits


def _suggested(run: Path, given: Mapping[int, str]) -> dict[int, str]:
    """Suggested names for clusters without a name; equal names are numbered."""
    view, edits = page.current_view(run)
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
