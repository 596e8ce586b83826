"""CSV files with a header: how they are written and read."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from c3clust.errors import RunError
from c3clust.files import open_regular

__all__ = ["csv_text", "read_columns"]


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """The content of a CSV file."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def read_columns(path: Path, header: Sequence[str], any_file: bool = False) -> list[list[str]]:
    """The columns `header` of a CSV file, as text: of a regular file, or of any that the user names."""
    try:
        raw = open(path, "rb") if any_file else open_regular(path)  # noqa: SIM115 closed with the text file
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
