"""The clusters of a finished run as they are now: what the model gave, and what was edited since."""

from dataclasses import dataclass
from pathlib import Path

from c3clust.files.atomic import write_atomically
from c3clust.files.text import encoded
from c3clust.records.assignments import FILE, Assignments, keep_fitted
from c3clust.records.changes import at_rest, current
from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord

__all__ = ["State"]


@dataclass(frozen=True)
class State:
    """folder: the run, or its last change; assignments: after the edits."""

    run: Path
    folder: Path
    record: RunRecord
    edits: Edits
    assignments: Assignments

    @classmethod
    def read(cls, run: str | Path) -> "State":
        """The state of a run; another process may be changing it."""
        return at_rest(run, lambda: cls._read(Path(run)))

    @classmethod
    def _read(cls, run: Path) -> "State":
        now = current(run)
        record, found = RunRecord.read(now / "record.json"), Assignments.read(now)
        edits = Edits.read(now, record.n_clusters)
        return cls(run, now, record, edits, found.edited(edits))

    def write(self) -> None:
        """Write RUN/assignments.csv: the file of the fit, or with the edits and the names that were given.

        The confidence of a sample is that of its cluster before merges; 1 for one that a person has placed.
        """
        fitted = keep_fitted(self.run)
        changed = self.folder != self.run or self.edits.operations
        content = encoded(self.assignments.csv(self.edits.names)) if changed else fitted
        write_atomically(self.run / FILE, content)
