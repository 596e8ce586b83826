"""Reads CSV files, Parquet files and data frames as cells: for each column a list of text, numbers and None (missing).

An empty cell and the texts NA, N/A, NaN, null and ?, in upper or lower case, are missing values. A CSV file is in
UTF-8, or in UTF-16 with a byte order mark; its separator is the most frequent one of comma, semicolon, tab and bar in
its first line. A column of numbers may have decimal commas, unless each could be a separator of thousands (1,234), and
separators of thousands beside decimals (1.234,50 or 1,234.50).
"""

import csv
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io.budget import Budget, repeated_columns, spend_on_parquet, within_budget
from c3clust.errors import C3ClustError, DataError, MissingExtraError, first_line
from c3clust.files.text import encoding, separator

LABELS = ("label", "labels", "class", "target", "y", "fine_label")  # names of a column of true labels

MISSING = frozenset({"", "na", "n/a", "nan", "null", "?"})
PEEKED = 50  # rows of a file from which its content is detected
BATCH = 4096  # rows of a Parquet file that are read at a time
SIMPLE = ({str}, {int}, {float})  # types of a column's cells that numpy converts at once, as float() does
COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")
GROUPED = re.compile(r"[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?")  # 1,234.50
SIGNS: tuple[dict[int, int], ...] = ({}, str.maketrans(",.", ".,"))  # decimal points, and commas
Cells = dict[str, list[Any]]


def read_cells(path: Path) -> Cells:
    """All columns of a file by name. Every row must have one cell per column."""
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path, None)
    header, rows = _read_csv(path, None)
    for number, row in enumerate(rows, 1):
        if len(row) != len(header):
            raise DataError(
                f"{path} has {len(row)} cells in row {number} and {len(header)} columns. Each row needs one "
                "cell per column; quote cells that contain the separator."
            )
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    return {name: list(column) for name, column in zip(header, columns, strict=True)}


def peek(path: Path) -> Cells:
    """The columns and the first PEEKED rows of a file; rows may be short."""
    if path.suffix.lower() == ".parquet":
        return _read_parquet(path, PEEKED)
    header, found = _read_csv(path, PEEKED)
    return {name: [row[i] for row in found if i < len(row)] for i, name in enumerate(header)}


def from_frame(frame: Any) -> Cells:
    return {str(name): list(frame[name].to_list()) for name in frame.columns}


def is_missing(cell: Any) -> bool:
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or cell != cell or type(cell).__name__ in ("NAType", "NaTType")


def numbers(column: list[Any]) -> np.ndarray | None:
    """The column as float64, NaN where missing; None if any cell is not a number."""
    if set(map(type, column)) in SIMPLE:
        try:
            return np.array(column, dtype=np.float64)
        except (ValueError, OverflowError):
            pass  # with missing values, or not numbers
    x, column = np.full(len(column), np.nan), _with_points(column)
    for i, cell in enumerate(column):
        if is_missing(cell):
            continue
        if not isinstance(cell, str | int | float | np.number) or isinstance(cell, bool | np.timedelta64):
            return None
        try:
            x[i] = float(cell)
        except (ValueError, OverflowError):
            return None
    return x


def _with_points(column: list[Any]) -> list[Any]:
    """The column with decimal points, if its cells are text with decimal commas, or with separators of thousands too.

    >>> _with_points(["1,5", "-2", ""]), _with_points(["1,500", "2,000"]), _with_points(["1,5", "1.5"])
    (['1.5', '-2', ''], ['1,500', '2,000'], ['1,5', '1.5'])
    >>> _with_points(["1.234,5", "2"]), _with_points(["1,234.5", "2"])
    (['1234.5', '2'], ['1234.5', '2'])
    """
    given = [cell.strip() for cell in column if isinstance(cell, str) and not is_missing(cell)]
    commas = [cell for cell in given if "," in cell]
    if any("." in cell for cell in commas):  # which of the two comes last is the decimal sign
        for table in SIGNS:
            if all(GROUPED.fullmatch(cell.translate(table)) for cell in given):
                return [c.translate(table).replace(",", "") if isinstance(c, str) else c for c in column]
        return column
    if not commas or any("." in cell for cell in given) or not all(COMMA.fullmatch(cell) for cell in commas):
        return column
    if all(THOUSANDS.fullmatch(cell) for cell in commas):
        return column
    return [cell.replace(",", ".") if isinstance(cell, str) else cell for cell in column]


def words(column: list[Any]) -> list[str | None] | None:
    """The column as text, None where missing; None if any cell is neither text, a number nor a bool."""
    out: list[str | None] = []
    for cell in column:
        if is_missing(cell):
            out.append(None)
        elif isinstance(cell, str | bool | int | float | np.number | np.bool_) and not isinstance(cell, np.timedelta64):
            whole = isinstance(cell, float | np.floating) and math.isfinite(cell) and float(cell).is_integer()
            out.append(str(int(cell)) if whole else str(cell).strip())
        else:
            return None
    return out


def _read_csv(path: Path, rows: int | None) -> tuple[Sequence[str], list[list[str]]]:
    """Header and rows, without empty lines."""
    with csv_errors(path), path.open("rb") as start, path.open(newline="", encoding=encoding(start.read(2))) as file:
        first = file.readline()
        if "\0" in first:
            raise DataError(f"{path} contains zero bytes and is not a text file. Save it as CSV in UTF-8.")
        file.seek(0)
        lines = (line for line in csv.reader(file, delimiter=separator(first)) if line)
        header = [name.strip() or f"column {i}" for i, name in enumerate(next(lines, []), 1)]
        found = list(islice(lines, rows))
    return unique_columns(header, path), found


def unique_columns(names: Sequence[str], path: Path) -> Sequence[str]:
    """The names of columns; DataError if one is there twice."""
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise DataError(f"{path} has more than one column {twice!r}. Column names must differ.")
    return names


@contextmanager
def csv_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeError as error:
        way = "Save it again, in Excel as CSV UTF-8, or convert it: iconv -f LATIN1 -t UTF-8."
        raise DataError(f"{path} is not in UTF-8 ({error}). {way}") from error
    except (OSError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as CSV ({error}). Write it again.") from error


def _read_parquet(path: Path, rows: int | None) -> Cells:
    """All columns. Cells that are lists are neither numbers nor words, and may be of any size: they are left empty."""
    with open_parquet(path) as file:
        names, lists = unique_columns(file.schema_arrow.names, path), repeated_columns(file)
        found: Cells = {name: [] for name in names}
        read = [name for name in names if name not in lists]
        for batch in parquet_batches(file, path, read, rows=rows or BATCH):
            for name in names:
                found[name] += [[]] * batch.num_rows if name in lists else _cells(batch.column(name))
            if rows is not None and len(found[names[0]]) >= rows:
                break
        return {name: column[:rows] for name, column in found.items()}


def parquet_batches(
    file: Any,
    path: Path,
    columns: Sequence[str] | None = None,
    rows: int = BATCH,
    groups: Sequence[int] | None = None,
) -> Iterator[Any]:
    """The record batches of a Parquet file, as long as they unpack to a plausible number of bytes.

    groups: of these row groups only. Batches have fewer rows where a value may be large.
    """
    budget = Budget(path, path.stat().st_size)
    longest = spend_on_parquet(file, columns, groups, budget)
    rows = int(min(max(budget.left // (4 * max(longest, 1)), 1), rows))
    yield from within_budget(file.iter_batches(batch_size=rows, columns=columns, row_groups=groups), budget)


def _cells(column: Any) -> list[Any]:
    """The values of an Arrow column; those of time in the types of numpy, which hold all of them."""
    import pyarrow

    types = pyarrow.types
    if types.is_timestamp(column.type) or types.is_date(column.type) or types.is_duration(column.type):
        return list(column.to_numpy(zero_copy_only=False))
    return column.to_pylist()


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """A pyarrow ParquetFile; the errors of reading it become a DataError."""
    parquet = require_pyarrow("pyarrow.parquet", path)
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except C3ClustError:
        raise
    except Exception as error:  # of Arrow, or of Python's types, as a date of the year 10,000
        raise DataError(f"{path} cannot be read as Parquet ({first_line(error)}). Write it again.") from error


def require_pyarrow(module: str, path: Path) -> Any:
    if find_spec("pyarrow") is None:
        raise MissingExtraError(f'{path} needs pyarrow to be read. Install it with: pip install "c3clust[tables]".')
    return import_module(module)


def find_column(columns: Sequence[str], candidates: Sequence[str]) -> str | None:
    """The first candidate that is a column, compared without regard to case; spelled as in the table."""
    lower = {column.strip().lower(): column for column in columns}
    return next((lower[name] for name in candidates if name in lower), None)
