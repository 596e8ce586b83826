"""assignments.csv: one cluster and one confidence per sample; labels.csv: true labels.

RUN/assignments.csv describes the current clusters: it is written again after each edit (report/editing.py). Before the
first of them, a copy of what the fit wrote is kept as RUN/changes/fitted.csv, from which later edits start.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import RunError
from c3clust.files.atomic import make_folder, read_bytes, write_atomically
from c3clust.files.text import encoded
from c3clust.records.changes import FOLDER, is_folder
from c3clust.records.edits import Edits
from c3clust.records.tables import csv_text, read_columns

__all__ = ["Assignments", "keep_fitted", "read_labels", "write_labels"]

FILE = "assignments.csv"
FITTED = "fitted.csv"
COLUMNS = ("name", "cluster", "confidence")


@dataclass(frozen=True)
class Assignments:
    """Names, clusters [n] and confidence [n], in the order of the samples; person: [n] whether a person decided."""

    names: Sequence[str]
    clusters: np.ndarray
    confidence: np.ndarray
    person: np.ndarray | None = None

    def csv(self, named: Mapping[int, str] | None = None) -> str:
        """The content of assignments.csv: name, cluster, confidence; with `named`, also the name of the cluster.

        And who decided, "model" or "person", where that is known.
        """
        columns = [list(self.names), self.clusters.tolist(), [f"{c:.6f}" for c in self.confidence]]
        header = list(COLUMNS)
        if named is not None:
            header.append("cluster_name")
            columns.append([named.get(cluster, "") for cluster in columns[1]])
        if self.person is not None:
            header.append("decided_by")
            columns.append(["person" if one else "model" for one in self.person])
        return csv_text(header, zip(*columns, strict=True))

    def write(self, path: Path, named: Mapping[int, str] | None = None) -> None:
        """Write the file atomically."""
        write_atomically(path, encoded(self.csv(named)))

    def edited(self, edits: Edits) -> "Assignments":
        """The assignments after the edits. A sample that a person has placed has the confidence 1."""
        confidence, names = self.confidence.copy(), self.names
        person = np.array([name in edits.person for name in names], dtype=bool)
        if edits.placed:
            known = edits.confidence
            confidence = np.array([known.get(name, c) for name, c in zip(names, confidence, strict=True)])
            confidence[person] = 1.0
        clusters = edits.apply(edits.place(names, self.clusters))[0]
        return replace(self, clusters=clusters, confidence=confidence, person=person)

    @classmethod
    def read(cls, run: str | Path) -> "Assignments":
        """The assignments of a finished run, or of a change, without the edits that followed."""
        path = _unedited(Path(run))
        rows = read_columns(path, COLUMNS)
        try:
            clusters = np.array([int(row[1]) for row in rows], dtype=np.int64)
            return cls([row[0] for row in rows], clusters, np.array([float(row[2]) for row in rows]))
        except (ValueError, OverflowError) as error:
            raise RunError(f"{path} is damaged: {error}.") from None


def keep_fitted(run: Path) -> bytes:
    """The content of assignments.csv as the fit wrote it; it is copied before the file is first written again."""
    path = _unedited(run)
    content = read_bytes(path)
    if path.name == FILE:
        make_folder(run / FOLDER)
        write_atomically(run / FOLDER / FITTED, content)
    return content


def _unedited(run: Path) -> Path:
    kept = run / FOLDER / FITTED
    return kept if is_folder(kept.parent) and kept.exists() else run / FILE


def write_labels(path: Path, names: Sequence[str], labels: Sequence[Any]) -> None:
    """Write true labels, for metrics only, as a CSV file with the columns name and label."""
    write_atomically(path, encoded(csv_text(("name", "label"), zip(names, labels, strict=True))))


def read_labels(path: str | Path, names: Sequence[str], any_file: bool = True) -> list[str]:
    """True labels from a CSV file with the columns name and label, in the order of `names`."""
    known = {row[0]: row[1] for row in read_columns(Path(path), ("name", "label"), any_file)}
    missing = [name for name in names if name not in known]
    if missing:
        raise RunError(f"{path} has no label for {len(missing)} of {len(names)} samples, the first is {missing[0]!r}.")
    return [known[name] for name in names]
