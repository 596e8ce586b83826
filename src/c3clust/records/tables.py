"""CSV files with a header: how they are written and read."""

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from c3clust.errors import RunError
from c3clust.files.atomic import open_regular
from c3clust.files.text import encoding, from_cell, separator, to_cell

__all__ = ["csv_text", "read_columns"]


def csv_text(header: Sequence[str], rows: Iterable[Iterable[Any]], end: str = "\r\n") -> str:
    """The content of a CSV file. Text that looks like a formula is escaped, and unescaped when it is read."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end)
    writer.writerow(header)
    writer.writerows([to_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _opened(path: Path, any_file: bool) -> IO[str]:
    file = path.open("rb") if any_file else open_regular(path)
    code = encoding(file.peek(2))
    return io.TextIOWrapper(file, code, "replace" if code == "utf-16" else "surrogateescape", newline="")


def read_columns(path: Path, header: Sequence[str], any_file: bool = False) -> list[list[str]]:
    """The columns `header` of a CSV file, as text: of a regular file, or of any that the user names."""
    try:
        with _opened(path, any_file) as file:
            first = file.readline()
            rows = list(csv.reader([first, *file], delimiter=separator(first) if any_file else ","))
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
    return [[from_cell(row[c]) for c in columns] for row in rows[1:]]
