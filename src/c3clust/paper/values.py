"""The numbers behind the figures: rows of a CSV file, from results and back from the file."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from c3clust.bench import Result
from c3clust.errors import RunError
from c3clust.files import write_atomically

__all__ = ["Rows", "chosen", "distinct", "epochs_from_start", "read_rows", "write_rows"]

Rows = list[dict[str, Any]]


def write_rows(path: Path, rows: Rows) -> None:
    """Rows with the same names as a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.getvalue().encode())


def read_rows(path: Path) -> Rows:
    """The rows of a CSV file; what looks like a number is one."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            return [{name: _value(text) for name, text in row.items()} for row in csv.DictReader(file)]
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}. Run the experiment first.") from None


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def chosen(rows: Rows, **wanted: Any) -> Rows:
    """The rows that have these values."""
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def distinct(rows: Rows, name: str) -> list[Any]:
    """The values of a column, in the order in which they come."""
    return list(dict.fromkeys(row[name] for row in rows))


def epochs_from_start(result: Result, stages: Sequence[str] = ("c3", "settle")) -> list[dict[str, Any]]:
    """What each epoch of a C3 run came to (bench/watch.py), epoch 0 being its start: CC's last."""
    before = result.start.epochs("cc")[-1:] if result.start else []
    return [*before, *(seen for stage in stages for seen in result.epochs(stage))]
