"""A CSV or Parquet table of images: a column of paths, or (Parquet) of encoded bytes, and optionally a label column.

The columns are found by their names (PATHS, BYTES, LABELS), without regard to case. Paths are relative to the folder of
the table and lead to files in it, at any depth; `outside` allows others, and absolute ones. Cells of bytes are binary
values, or Hugging Face's {bytes, path}.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io.cells import LABELS, find_column, open_parquet, parquet_batches, read_cells
from c3clust.data.io.pictures import EncodedFiles, to_samples
from c3clust.data.io.spans import Span, Spool
from c3clust.data.samples import Samples
from c3clust.data.source import Options
from c3clust.data.sources.arrays import label_codes
from c3clust.errors import DataError

PATHS = ("path", "file", "file_name", "filename", "image_path", "filepath", "image")
BYTES = ("image", "img", "bytes", "image_bytes", "image.bytes")
OUTSIDE = "it lies outside of the folder of the list, which --outside (in Python outside=True) allows"
EMPTY = Span("", 0, refused="an empty cell")


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """The images of the table, in the order of its rows."""
    if path.suffix.lower() != ".parquet":
        return _read_csv(path, options)
    with open_parquet(path) as file:
        return read_batches(parquet_batches(file, path, rows=256), path, options)


def read_batches(batches: Iterator[Any], path: Path, options: Options, classes: Sequence[str] | None = None) -> Samples:
    """Samples from Arrow record batches. Encoded bytes are copied to a temporary file, so that memory stays bounded.

    classes: the names of integer labels, if the metadata of the table has them.
    """
    spool = Spool()
    folder = path if path.is_dir() else path.parent
    origin = [file for file in sorted(path.rglob("*")) if file.is_file()] if path.is_dir() else [path]
    found: list[tuple[str, Span]] = []
    labels: list[Any] = []
    left: list[str] = []
    for batch in batches:
        columns = batch.schema.names
        image, label = find_column(columns, (*BYTES, *PATHS)), find_column(columns, LABELS)
        if image is None:
            raise DataError(_no_column(path, columns, BYTES[0]))
        left = _left(columns, image, label)
        for value in batch.column(image).to_pylist():
            span, file = _cell(value, folder, spool, options.outside)
            found.append((str(file or len(found)), span))
        labels += batch.column(label).to_pylist() if label else []
    spool.close()
    y, known = checked_labels(labels, len(found), path)
    if classes is not None and y is not None and known is not None:
        y = np.array([int(value) for value in known], dtype=np.int64)[y]
        # a label out of range marks an unlabelled dataset
        y, known = (y, list(classes)) if y.min() >= 0 and y.max() < len(classes) else (None, None)
    files = EncodedFiles.of(found, str(path), y=y, classes=known, spool=spool, origin=origin, left=left)
    return to_samples(files, options)


def _read_csv(path: Path, options: Options) -> Samples:
    cells = read_cells(path)
    image, label = find_column(list(cells), PATHS), find_column(list(cells), LABELS)
    if image is None:
        raise DataError(_no_column(path, list(cells), PATHS[0]))
    found = [(cell, _file_span(path.parent, cell, options.outside) if cell else EMPTY) for cell in cells[image]]
    y, classes = checked_labels(cells[label] if label else [], len(found), path)
    left = _left(cells, image, label)
    return to_samples(EncodedFiles.of(found, str(path), y=y, classes=classes, left=left), options)


def _left(columns: Iterable[str], image: str | None, label: str | None) -> list[str]:
    """The columns that are not read."""
    rest = [name for name in columns if name not in (image, label)]
    return [f"columns {', '.join(rest[:8])}{' ...' if len(rest) > 8 else ''}"] if rest else []


def _cell(value: Any, folder: Path, spool: Spool, outside: bool) -> tuple[Span, str | None]:
    """The span of a cell's image, and its path if it has one."""
    data, file = (value.get("bytes"), value.get("path")) if isinstance(value, dict) else (value, None)
    if isinstance(data, str):
        data, file = None, data
    if data and not isinstance(data, bytes):
        return Span("", 0, refused=f"a cell of type {type(data).__name__}, not of bytes"), file
    return spool.add(data) if data else _file_span(folder, str(file), outside) if file else EMPTY, file


def _file_span(folder: Path, cell: str, outside: bool) -> Span:
    """The file that a cell names; `..` is resolved in the path, before any link is followed."""
    base = os.path.abspath(folder)
    file = os.path.normpath(os.path.join(base, cell))
    if not outside and not Path(file).is_relative_to(base):
        return Span(file, 0, refused=OUTSIDE)
    try:
        return Span(file, os.stat(file).st_size)
    except (OSError, ValueError) as error:
        return Span(file, 0, refused=getattr(error, "strerror", None) or str(error))


def checked_labels(values: Sequence[Any], n: int, path: Path) -> tuple[np.ndarray | None, list[str] | None]:
    """`label_codes` of a label column, or DataError if a cell is empty or of another type than the others."""
    if not values:
        return None, None
    empty = next((row for row, value in enumerate(values) if value is None or value == ""), None)
    if empty is not None:
        raise DataError(f"{path} has no label in row {empty + 1} (of {n:,}). Fill it in, or leave the column out.")
    try:
        return label_codes(values, n, str(path))
    except TypeError as error:
        raise DataError(f"{path} has labels that cannot be compared ({error}). Use numbers or words.") from error


def _no_column(path: Path, columns: Sequence[str], name: str) -> str:
    shown = ", ".join(columns[:5]) or "none"
    return f"{path} has the columns {shown}, and none for images: call it {name}, or say --kind table."
