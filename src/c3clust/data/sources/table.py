"""A CSV or Parquet table, or a data frame: a list of images, texts in a column, or rows of numbers and categories.

The type is detected from the cells, or given by `kind` and `columns`:

    image       a column with a name for images (manifest.py) whose cells are image files or bytes
    text        one column is chosen and contains words; or the only column that is not a row number contains words
    table       anything else; each column contains numbers or categories

A file with both texts and other columns is ambiguous: it is rejected, with the options that resolve it. A column with a
name for labels (io/cells.py) is used for metrics only, unless it is chosen or differs in most rows. A column id, name,
key or index that differs in all rows contains the names of the rows, and is not clustered; nor is one that differs in
nearly all of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io import cells
from c3clust.data.io.cells import LABELS, Cells, find_column, numbers, words
from c3clust.data.io.decode import extensions, is_image_name
from c3clust.data.samples import Column, Dataset, Table
from c3clust.data.source import Claim, Options
from c3clust.data.sources import manifest
from c3clust.data.sources.texts import from_texts
from c3clust.errors import DataError, InputError, suggest

NAMES = ("id", "name", "key", "index")
Numeric = dict[str, np.ndarray | None]  # the columns to cluster as numbers, None for other columns
LISTED = 8  # columns that are listed
NEARLY = 0.9  # fraction of the cells of a column that differ if they identify the rows
WORDS = 3.0  # mean number of words per cell from which a column contains texts


def claims(path: Path) -> Claim:
    return Claim.KIND if path.is_file() and path.suffix.lower() in (".csv", ".tsv", ".parquet") else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Dataset:
    if options.kind == "image" or (options.kind is None and not options.columns and _lists_images(path)):
        return manifest.read(path, options)
    return from_cells(cells.read_cells(path), str(path), options, first=1)


def is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "dtypes") and hasattr(value, "shape")


def has_gaps_or_words(frame: Any) -> bool:
    """Whether a data frame has missing values or words; otherwise it is read as vectors."""
    return any((x := numbers(column)) is None or np.isnan(x).any() for column in cells.from_frame(frame).values())


def from_frame(frame: Any, options: Options) -> Dataset:
    """The texts or rows of a pandas or polars data frame."""
    return from_cells(cells.from_frame(frame), "data frame", options)


def from_masked(x: Any) -> Table:
    """Rows [n, F] of numbers with gaps, where they are masked."""
    x = np.ma.asarray(x)
    columns = [Column(str(i)) for i in range(x.shape[1])]
    rows = x.astype(np.float64).filled(np.nan)
    return Table(rows, [str(i) for i in range(len(x))], place="array", columns=columns)


def from_cells(found: Cells, place: str, options: Options, *, first: int = 0) -> Dataset:
    """Texts or rows from cells. Rows are named by a column, or by their number, counted from `first`."""
    n = len(next(iter(found.values()), []))
    if not n:
        raise DataError(f"{place} contains no rows. Give a first line with the names of the columns, then the rows.")
    for name in options.columns:
        if name not in found:
            absent = [name for name in options.columns if name not in found]
            what = f"no column {name!r}" if len(absent) == 1 else f"none of the columns {', '.join(absent)}"
            raise InputError(f"{place} has {what}. {suggest(name, found)}")
    named = find_column(list(found), NAMES)
    names = row_names(found[named]) if named and named not in options.columns else None
    y, classes, label = _true_labels(found, place, options)
    repeated = named if named and names is None and named not in options.columns and _identifies(found[named]) else None
    apart = (label, repeated, named if names else None)
    rest = [name for name in options.columns or found if name not in apart]
    numeric = {name: None if name in options.words else numbers(found[name]) for name in rest}
    column = _text_column(found, numeric, place, options)
    roles = {label: "true labels, for scores only", named if names else None: "names of the rows"}
    roles |= {repeated: "it identifies the rows, though some of its values are missing or repeated"}
    if column is not None:
        texts = [None if cells.is_missing(cell) else str(cell) for cell in found[column]]
        read = from_texts(texts, place, names, y, classes, first=first)
        return replace(read, taken=f"column {column!r}", left=left_columns(list(found), [column], roles))
    columns, x, notes = _typed(found, numeric, place)
    if label:
        notes.append(f"Column {label!r} is read as true labels and used for scores only.")
    names = names or [str(i + first) for i in range(n)]
    used = [each.name for each in columns]
    taken, left = f"columns {shortened(used)}", left_columns(list(found), used, roles)
    return Table(x, names, y, classes, place=place, notes=notes, columns=columns, taken=taken, left=left)


def shortened(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED:,} more" if len(names) > LISTED else "")


def left_columns(names: Sequence[str], used: Sequence[str], roles: Mapping[str | None, str]) -> list[str]:
    """The columns that are not clustered: those with a role, then all others."""
    described = [f"column {name!r} ({role})" for name, role in roles.items() if name is not None]
    rest = [name for name in names if name not in used and name not in roles]
    return [*described, *([f"columns {shortened(rest)}"] if rest else [])]


def _lists_images(path: Path) -> bool:
    """Whether the first rows list images. InputError if the column names and the cells disagree."""
    found = cells.peek(path)
    images = any(_mostly_images([name, *column]) for name, column in found.items())
    column = find_column(list(found), (*manifest.PATHS, *manifest.BYTES))
    others = [name for name in found if name != column and name.lower() not in (*LABELS, *NAMES)]
    if images or (column is not None and not others):
        return True
    if column is None:
        return False
    first = next((cell for cell in found[column] if not cells.is_missing(cell)), "")
    raise InputError(
        f"{path} has a column {column!r}, as a list of images has, but {first!r} is not an image file: "
        "use --kind image, or --kind table for rows of numbers and categories."
    )


def _mostly_images(column: list[Any]) -> bool:
    def is_image(cell: Any) -> bool:
        if isinstance(cell, str):
            return cell.lower().endswith(extensions()) and is_image_name(cell)
        return isinstance(cell, bytes) or (isinstance(cell, dict) and "bytes" in cell)

    images = sum(map(is_image, column))
    return images > 0 and 2 * images >= sum(not cells.is_missing(cell) for cell in column)


def row_names(column: list[Any]) -> list[str] | None:
    """Names of the rows, if none is missing and all differ."""
    names = words(column)
    return None if names is None or None in names or len(set(names)) < len(names) else [str(name) for name in names]


def _identifies(column: list[Any]) -> bool:
    """Whether nearly all cells differ, as those of an identifier do.

    >>> _identifies([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11]), _identifies([1, 2, 1, 2])
    (True, False)
    """
    given = words(column)
    return given is not None and len(set(given) - {None}) >= NEARLY * len(given)


def _true_labels(found: Cells, place: str, options: Options) -> tuple[np.ndarray | None, list[str] | None, str | None]:
    label = find_column(list(found), LABELS)
    values = words(found[label]) if label and label not in options.columns else None
    if values is None or len(set(values) - {None}) > max(2, len(values) // 2):
        return None, None, None
    y, classes = manifest.checked_labels(values, len(values), Path(place))
    return y, classes, label


def _text_column(found: Cells, numeric: Numeric, place: str, options: Options) -> str | None:
    """The column of texts to cluster; None for a table of rows."""
    if options.kind == "table":
        return None
    rest = list(numeric)
    wordy = [name for name in rest if numeric[name] is None and words(found[name]) is not None]
    if options.kind == "text" or (options.columns and len(rest) == 1 and wordy):
        clear = [name for name in wordy if _is_text(found[name])] if len(wordy) > 1 else wordy
        if len(clear) == 1 or (len(rest) == 1 and words(found[rest[0]]) is not None):
            return (clear or rest)[0]
        raise InputError(f"{place} has {len(wordy)} columns of words: select the one to cluster with --column NAME.")
    informative = [name for name in rest if not _counts(numeric[name])]
    if len(wordy) == 1 and informative == wordy:
        return wordy[0]
    texts = [name for name in wordy if _is_text(found[name])]
    others = [name for name in informative if name not in texts]
    if texts:
        what = f"texts ({', '.join(texts)})" + (f" or as a table ({', '.join(others[:5])})" if others else "")
        way = " or --kind table" if others else ""
        raise InputError(f"{place} can be read as {what}: use --column {texts[0]}{way}.")
    return None


def _is_text(column: list[Any]) -> bool:
    """Whether the cells are sentences: several words each, most of them different."""
    given = [cell for cell in words(column) or () if cell]
    return len(set(given)) > len(given) / 2 and sum(len(cell.split()) for cell in given) >= WORDS * len(given)


def _counts(x: np.ndarray | None) -> bool:
    """Whether a column contains only row numbers, or is empty."""
    return x is not None and bool(np.isnan(x).all() or (x[0] in (0, 1) and (np.diff(x) == 1).all()))


def _typed(found: Cells, numeric: Numeric, place: str) -> tuple[list[Column], np.ndarray, list[str]]:
    """Columns of numbers or categories, their values [n, C], and notes on columns that are neither."""
    columns, values, notes = [], [], []
    for name, x in numeric.items():
        column, given = found[name], None
        if x is None and (given := words(column)) is None:
            kind = type(next(cell for cell in column if not cells.is_missing(cell))).__name__
            notes.append(f"Column {name!r} is ignored: its cells are neither numbers nor words, but {kind}.")
            continue
        if x is not None and np.isinf(x).any():
            raise InputError(f"{place} has an infinite number in column {name!r}. Remove it, or leave the cell empty.")
        levels = None if given is None else tuple(sorted({word for word in given if word is not None}))
        if levels is not None and given is not None:
            code = {level: i for i, level in enumerate(levels)}
            x = np.array([np.nan if word is None else code[word] for word in given])
        columns.append(Column(name, levels))
        values.append(x)
    if not columns:
        raise DataError(f"{place} contains no column of numbers or categories. Give at least one.")
    return columns, np.stack(values, axis=1), notes  # type: ignore[arg-type]
