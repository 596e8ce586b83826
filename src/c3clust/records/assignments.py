"""assignments.csv: one cluster and one confidence per sample; labels.csv: true labels."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import RunError
from c3clust.files import open_regular, write_atomically

__all__ = ["Assignments", "read_labels", "write_labels"]

COLUMNS = ("name", "cluster", "confidence")


@dataclass(frozen=True)
class Assignments:
    """Names, clusters [n] and confidence [n], in the order of the samples."""

    names: Sequence[str]
    clusters: np.ndarray
    confidence: np.ndarray

    def csv(self) -> str:
        """The content of assignments.csv: name, cluster, confidence."""
        return _csv(COLUMNS, zip(self.names, self.clusters, (f"{c:.6f}" for c in self.confidence), strict=True))

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        write_atomically(path, self.csv().encode("utf-8", "surrogateescape"))

    @classmethod
    def read(cls, run: str | Path) -> "Assignments":
        """The assignments of a finished run."""
        path = Path(run) / "assignments.csv"
        rows = _read(path, COLUMNS)
        try:
            clusters = np.array([int(row[1]) for row in rows], dtype=np.int64)
            return cls([row[0] for row in rows], clusters, np.array([float(row[2]) for row in rows]))
        except (ValueError, OverflowError) as error:
            raise RunError(f"{path} is damaged: {error}.") from None


def write_labels(path: Path, names: Sequence[str], labels: Sequence[Any]) -> None:
    """Write true labels, for metrics only, as a CSV file with the columns name and label."""
    write_atomically(path, _csv(("name", "label"), zip(names, labels, strict=True)).encode("utf-8", "surrogateescape"))


def read_labels(path: str | Path, names: Sequence[str], any_file: bool = True) -> list[str]:
    """True labels from a CSV file with the columns name and label, in the order of `names`."""
    known = {row[0]: row[1] for row in _read(Path(path), ("name", "label"), any_file)}
    missing = [name for name in names if name not in known]
    if missing:
        raise RunError(f"{path} has no label for {len(missing)} of {len(names)} samples, the first is {missing[0]!r}.")
    return [known[name] for name in names]


def _csv(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _read(path: Path, header: Sequence[str], any_file: bool = False) -> list[list[str]]:
    """The columns `header` of a CSV file, as text: of a regular file, or of any that the user names."""
    try:
        with open(path, "rb") if any_file else open_regular(path) as raw:
            with io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", newline="") as file:
                rows = list(csv.reader(file))
    except FileNotFoundError:
        raise RunError(f"{path} does not exist.") from None
    except (OSError, csv.Error) as error:
        raise RunError(f"{path} cannot be read: {error}.") from None
    if not rows or any(name not in rows[0] for name in header):
        raise RunError(f"{path} needs a first line with the columns {', '.join(header)}.")
    columns = [rows[0].index(name) for name in header]
    short = next((i for i, row in enumerate(rows[1:], 2) if len(row) <= max(columns)), None)
    if short is not None:
        raise RunError(f"{path}, row {short}: too few columns.")
    return [[row[c] for c in columns] for row in rows[1:]]
