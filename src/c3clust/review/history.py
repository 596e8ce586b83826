"""History: the edits of a run folder, as a server reads and writes them.

Each step is written at once, under the lock of the run, into the same edits.json as by the command line. The files that
follow from it (assignments.csv, clusters.csv, report.html) are written when no step has come for a moment, and at the
end; if the process is killed before, `c3clust report` or the next review writes them.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c3clust.errors import C3ClustError
from c3clust.files.lock import MOMENT, locked
from c3clust.records.assignments import Assignments
from c3clust.records.changes import Change, at_rest, current, stamp, states
from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.report import editing

__all__ = ["History", "Now"]

QUIET = 2.0  # seconds without a step after which the files are written
log = logging.getLogger("c3clust")


@dataclass(frozen=True, eq=False)
class Now:
    """The clusters at one moment. undoable: how many steps `undo` can take back."""

    version: int
    record: RunRecord
    edits: Edits
    assignments: Assignments
    undoable: int
    suggested: Mapping[int, str] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """For the page. labels and doubts [n]; a doubt is 1000 (1 - confidence)."""
        found = self.assignments
        doubt = (1000 * (1 - found.confidence)).round()
        clusters = self.edits.plain(found.clusters)
        for each in clusters:
            each["suggested"] = self.suggested.get(each["cluster"])
        return {
            "version": self.version,
            "clusters": clusters,
            "labels": found.clusters.tolist(),
            "doubt": [None if d != d else int(d) for d in doubt.tolist()],
            "person": found.person.nonzero()[0].tolist() if found.person is not None else [],
            "undoable": self.undoable,
            "quality": _quality(self.record) if not self.edits.operations else None,
        }


def _quality(record: RunRecord) -> dict[str, Any] | None:
    found = record.quality or {}
    return {name: found[name] for name in ("estimated_accuracy", "interval") if name in found} or None


class History:
    """The history of one run. Thread-safe."""

    def __init__(self, run: Path) -> None:
        self.run, self._lock = run, threading.RLock()
        self._stamp: Any = None
        self._now: Now | None = None
        self._fitted: tuple[Any, Assignments] | None = None
        self._due: threading.Timer | None = None

    @property
    def now(self) -> Now:
        """The clusters as they are on the disk, whoever changed them."""
        with self._lock:
            found = stamp(self.run)
            if self._now is None or found != self._stamp:
                self._now = at_rest(self.run, self._read)
                self._stamp = found
            return self._now

    def step(self, change: Callable[[Edits], Edits]) -> Now:
        """Add to the edits, as one step."""
        with self._lock:
            with locked(self.run, MOMENT):
                folder = current(self.run)
                change(Edits.read(folder)).write(folder)
            self._later()
            return self.now

    def undo(self) -> Now:
        """Take the last step back: of the edits, or a split or regrouping."""
        with self._lock:
            folder, edits = current(self.run), self.now.edits
            if folder != self.run and len(edits.operations) <= Change.read(folder).carried:
                editing.undo(self.run)
                return self.now
            return self.step(Edits.undo)

    def around(self, change: Callable[[], object]) -> Now:
        """Call a function that changes the run folder itself, such as a split."""
        with self._lock:
            change()
            return self.now

    def close(self) -> None:
        """Write the files that are still to be written."""
        with self._lock:
            due, self._due = self._due, None
        if due is not None:
            due.cancel()
            self._write()

    def _later(self) -> None:
        if self._due is not None:
            self._due.cancel()
        self._due = threading.Timer(QUIET, self._on_time)
        self._due.daemon = True
        self._due.start()

    def _on_time(self) -> None:
        with self._lock:
            self._due = None
        self._write()

    def _write(self) -> None:
        try:
            editing.update(self.run)
        except (C3ClustError, OSError) as error:
            log.warning("%s Write the files later with: c3clust report %s", error, self.run)

    def _read(self) -> Now:
        folder, folders = current(self.run), states(self.run)
        record = RunRecord.read(folder / "record.json")
        edits = Edits.read(folder, record.n_clusters)
        fitted = self._assignments(folder)
        suggested = {int(i): found["name"] for i, found in record.suggested_names.items() if i.isdecimal()}
        carried = [Change.read(each).carried for each in folders[1:]]
        done = [len(edits.operations), *(len(Edits.read(each).operations) for each in folders[:-1])]
        undoable = sum(done) - sum(carried) + len(folders) - 1
        version = 1 if self._now is None else self._now.version + 1
        return Now(version, record, edits, fitted.edited(edits), undoable, suggested)

    def _assignments(self, folder: Path) -> Assignments:
        """Those of the fit, or of the last change, read once."""
        if self._fitted is None or self._fitted[0] != folder:
            self._fitted = (folder, Assignments.read(folder))
        return self._fitted[1]
