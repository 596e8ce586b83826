"""A CSV or Parquet table, or a data frame: a list of images, texts in a column, or rows of numbers and categories.

What a file holds is seen from its cells, or said by `kind` and `columns`:

    image       a column with the name of one of images (manifest.py) whose cells are image files or bytes
    text        one column is chosen and holds words; or the only column that is not a number of the row holds them
    table       anything else; each column is a number or one of some categories

Where both texts and other columns are there, the file may be meant either way: it is refused, with the way out.
A column with the name of labels (manifest.py) is for metrics only, unless it is chosen, or most rows differ in it.
A column id, name, key or index that differs in all rows gives the names of the rows, and is not clustered.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io.decode import is_image_name
from c3clust.data.samples import Column, Samples
from c3clust.data.source import Claim, Options
from c3clust.data.sources import cells, manifest
from c3clust.data.sources.cells import Cells, numbers, words
from c3clust.data.sources.texts import from_texts
from c3clust.errors import DataError, InputError, suggest

__all__ = ["claims", "from_frame", "has_gaps_or_words", "is_frame", "read"]

NAMES = ("id", "name", "key", "index")
WORDS = 3.0  # words in a cell, on average, from which on a column is text


def claims(path: Path) -> Claim:
    """.csv, .tsv and .parquet files."""
    return Claim.KIND if path.is_file() and path.suffix.lower() in (".csv", ".tsv", ".parquet") else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """What the table holds."""
    if options.kind == "image" or (options.kind is None and not options.columns and _lists_images(path)):
        return manifest.read(path, options)
    return from_cells(cells.read_cells(path), str(path), options, first=1)


def is_frame(value: Any) -> bool:
    """Whether a value from Python is a data frame."""
    return hasattr(value, "columns") and hasattr(value, "dtypes") and hasattr(value, "shape")


def has_gaps_or_words(frame: Any) -> bool:
    """Whether a data frame is more than a block of numbers: such a block is taken as vectors."""
    return any((x := numbers(column)) is None or np.isnan(x).any() for column in cells.from_frame(frame).values())


def from_frame(frame: Any, options: Options) -> Samples:
    """What a data frame of pandas or polars holds."""
    return from_cells(cells.from_frame(frame), "data frame", options)


def from_cells(found: Cells, place: str, options: Options, *, first: int = 0) -> Samples:
    """Texts or rows from cells. Rows are named by their number from `first` on unless a column names them."""
    n = len(next(iter(found.values()), []))
    if not n:
        raise DataError(f"{place} holds no rows. Give a first line with the names of the columns, then the rows.")
    chosen = _chosen(found, place, options)
    named = manifest.column_of(list(found), NAMES)
    names = _row_names(found[named]) if named and named not in (options.columns or ()) else None
    left = {named} if names is not None else set()
    y, classes, label = _truth(found, place, options)
    rest = [column for column in chosen if column not in left | {label}]
    column = _text_column(found, rest, place, options)
    if column is not None:
        texts = [None if cells.is_missing(cell) else str(cell) for cell in found[column]]
        return from_texts(texts, place, names, y, classes, first=first)
    columns, x, notes = _typed({name: found[name] for name in rest}, place)
    names = names or [str(i + first) for i in range(n)]
    if label:
        notes.append(f"Column {label!r} is taken for true labels: it is used for scores only.")
    return Samples(x, names, y, classes, place=place, policy="table", notes=notes, columns=columns)


def _lists_images(path: Path) -> bool:
    """Whether the first rows of a file tell of images; where its columns say so and its cells do not, it is refused."""
    found = cells.peek(path)
    images = any(_mostly_images([name, *column]) for name, column in found.items())
    column = manifest.column_of(list(found), (*manifest.PATHS, *manifest.BYTES))
    others = [name for name in found if name != column and name.lower() not in (*manifest.LABELS, *NAMES)]
    if images or (column is not None and not others):
        return True
    if column is None:
        return False
    raise InputError(
        f"{path} has a column {column!r}, as a list of images has, but {_first(found[column])!r} is no image file: "
        "say --kind image, or --kind table for rows of numbers and categories."
    )


def _mostly_images(column: list[Any]) -> bool:
    return 2 * sum(map(_is_image, column)) >= max(sum(not cells.is_missing(cell) for cell in column), 1)


def _is_image(cell: Any) -> bool:
    if isinstance(cell, bytes) or (isinstance(cell, dict) and "bytes" in cell):
        return True
    return isinstance(cell, str) and is_image_name(cell)


def _chosen(found: Cells, place: str, options: Options) -> list[str]:
    """The columns that were asked for; without a choice, all."""
    if not options.columns:
        return list(found)
    absent = [name for name in options.columns if name not in found]
    if absent:
        told = f"no column {absent[0]!r}" if len(absent) == 1 else f"none of the columns {', '.join(absent)}"
        raise InputError(f"{place} has {told}. {suggest(absent[0], found)}")
    return list(options.columns)


def _row_names(column: list[Any]) -> list[str] | None:
    """Names of rows, if all are there and differ."""
    names = words(column)
    return None if names is None or None in names or len(set(names)) < len(names) else [str(name) for name in names]


def _truth(found: Cells, place: str, options: Options) -> tuple[np.ndarray | None, list[str] | None, str | None]:
    """True labels, their classes, and the column that holds them."""
    label = manifest.column_of(list(found), manifest.LABELS)
    if label is None or label in (options.columns or ()):
        return None, None, None
    values = words(found[label])
    if values is None or len(set(values) - {None}) > max(2, len(values) // 2):
        return None, None, None
    y, classes = manifest.labels_of(values, len(values), Path(place))
    return y, classes, label


def _text_column(found: Cells, rest: Sequence[str], place: str, options: Options) -> str | None:
    """The column whose texts are to be clustered; None if the rows are."""
    if options.kind == "table":
        return None
    wordy = [name for name in rest if numbers(found[name]) is None and words(found[name]) is not None]
    if options.kind == "text" or (options.columns and len(rest) == 1 and wordy):
        clear = [name for name in wordy if _is_text(found[name])] if len(wordy) > 1 else wordy
        if len(clear) == 1 or (len(rest) == 1 and words(found[rest[0]]) is not None):
            return (clear or rest)[0]
        raise InputError(f"{place} has {len(wordy)} columns of words: name the one to cluster with --column NAME.")
    told_apart = [name for name in rest if not _counts(found[name])]
    if len(wordy) == 1 and told_apart == wordy:
        return wordy[0]
    texts = [name for name in wordy if _is_text(found[name])]
    others = [name for name in told_apart if name not in texts]
    if texts:
        told = f"texts ({', '.join(texts)})" + (f" or as a table ({', '.join(others[:5])})" if others else "")
        way = " or --kind table" if others else ""
        raise InputError(f"{place} can be read as {told}: say --column {texts[0]}{way}.")
    return None


def _is_text(column: list[Any]) -> bool:
    """Whether the cells are sentences: several words each, and most of them differ."""
    given = [cell for cell in words(column) or () if cell]
    return len(set(given)) > len(given) / 2 and sum(len(cell.split()) for cell in given) >= WORDS * len(given)


def _counts(column: list[Any]) -> bool:
    """Whether a column only counts the rows, or is empty."""
    x = numbers(column)
    return x is not None and bool(np.isnan(x).all() or (x[0] in (0, 1) and (np.diff(x) == 1).all()))


def _typed(found: Cells, place: str) -> tuple[list[Column], np.ndarray, list[str]]:
    """Columns of numbers or categories, their values [n, C], and notes on columns that are neither."""
    columns, values, notes = [], [], []
    for name, column in found.items():
        x, given = numbers(column), None
        if x is None and (given := words(column)) is None:
            kind = type(next(cell for cell in column if not cells.is_missing(cell))).__name__
            notes.append(f"Column {name!r} is left out: its cells are neither numbers nor words, but {kind}.")
            continue
        if x is not None and np.isinf(x).any():
            raise InputError(f"{place} has an infinite number in column {name!r}. Remove it, or leave the cell empty.")
        levels = None if given is None else sorted({word for word in given if word is not None})
        if levels is not None and given is not None:
            code = {level: i for i, level in enumerate(levels)}
            x = np.array([np.nan if word is None else code[word] for word in given])
        columns.append(Column(name, None if levels is None else tuple(levels)))
        values.append(x)
    if not columns:
        raise DataError(f"{place} holds no column of numbers or categories. Give at least one.")
    return columns, np.stack(values, axis=1), notes  # type: ignore[arg-type]


def _first(column: list[Any]) -> Any:
    return next((cell for cell in column if not cells.is_missing(cell)), "")
