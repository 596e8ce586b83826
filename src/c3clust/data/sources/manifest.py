"""A CSV or Parquet table of images: a column of paths, or (Parquet) of encoded bytes, and perhaps one of labels.

    path column     path, file, file_name, filename, image_path, filepath or image
    bytes column    image or bytes: binary values, or Hugging Face's {bytes, path}
    label column    label, labels, class, target or y

Column names count without regard to case. Paths are relative to the table's folder, or absolute.
"""

import csv
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io.pictures import Encoded, to_images, unique
from c3clust.data.io.spans import Span, Spool
from c3clust.data.samples import Samples
from c3clust.data.source import Options
from c3clust.data.sources.arrays import label_codes
from c3clust.errors import DataError, MissingExtraError

__all__ = ["BYTES", "LABELS", "PATHS", "column_of", "first_line", "labels_of", "read", "read_table", "require_pyarrow"]

PATHS = ("path", "file", "file_name", "filename", "image_path", "filepath", "image")
BYTES = ("image", "img", "bytes", "image_bytes", "image.bytes")
LABELS = ("label", "labels", "class", "target", "y", "fine_label")
EMPTY = Span("", 0, refused="an empty cell")

Found = tuple[list[Span], list[str]]


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """The images of the table, in its order."""
    if path.suffix.lower() == ".csv":
        return _read_csv(path, options)
    pyarrow, parquet = require_pyarrow("pyarrow", path), require_pyarrow("pyarrow.parquet", path)
    try:
        batches = parquet.ParquetFile(path).iter_batches(batch_size=256)
        return read_table(batches, path, options)
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"{path} cannot be read as Parquet ({first_line(error)}). Write it again.") from error


def read_table(batches: Iterator[Any], path: Path, options: Options, classes: Sequence[str] | None = None) -> Samples:
    """Samples from Arrow record batches. Bytes pass into a temporary file, so that memory stays bounded.

    classes: the names of integer labels, where the table's own description has them.
    """
    spool = Spool()
    folder = path if path.is_dir() else path.parent
    origin = [file for file in sorted(path.rglob("*")) if file.is_file()] if path.is_dir() else [path]
    spans: list[Span] = []
    names: list[str] = []
    labels: list[Any] = []
    for batch in batches:
        columns = batch.schema.names
        image, label = _image_column(columns, path), column_of(columns, LABELS)
        found = _spans(batch.column(image).to_pylist(), folder, spool, len(spans))
        spans += found[0]
        names += found[1]
        labels += batch.column(label).to_pylist() if label else []
    spool.close()
    y: np.ndarray | None
    known: list[str] | None
    y, known = labels_of(labels, len(spans), path) if labels else (None, None)
    if classes is not None and y is not None and known is not None:
        y, known = _named_labels(y, known, classes)
    return to_images(Encoded(spans, unique(names), str(path), y, known, spool, origin), options)


def _named_labels(
    y: np.ndarray, known: Sequence[str], classes: Sequence[str]
) -> tuple[np.ndarray | None, list[str] | None]:
    """Integer labels into `classes`; a label outside stands for "unlabelled", and then there are none."""
    y = np.array([int(value) for value in known], dtype=np.int64)[y]
    return (y, list(classes)) if y.min() >= 0 and y.max() < len(classes) else (None, None)


def require_pyarrow(module: str, path: Path) -> Any:
    """A module of pyarrow, or how to get it."""
    if find_spec("pyarrow") is None:
        raise MissingExtraError(f'{path} needs pyarrow to be read. Install it with: pip install "c3clust[tables]".')
    import importlib

    return importlib.import_module(module)


def _read_csv(path: Path, options: Options) -> Samples:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            columns = [column or "" for column in rows.fieldnames or ()]
            image, label = column_of(columns, PATHS), column_of(columns, LABELS)
            if image is None:
                raise DataError(_no_column(path, columns, PATHS))
            cells = [(row[image] or "", row[label] if label else None) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as CSV in UTF-8 ({error}). Write it again.") from error
    spans = [_file_span(path.parent, cell) if cell else EMPTY for cell, _ in cells]
    y, classes = labels_of([value for _, value in cells], len(cells), path) if label and cells else (None, None)
    return to_images(Encoded(spans, unique([cell for cell, _ in cells]), str(path), y, classes), options)


def _spans(values: list[Any], folder: Path, spool: Spool, start: int) -> Found:
    """Where each cell's image lies, and its name: the path if there is one, else the row's number."""
    spans, names = [], []
    for row, value in enumerate(values, start):
        data, file = (value.get("bytes"), value.get("path")) if isinstance(value, dict) else (value, None)
        if isinstance(data, str):
            data, file = None, data
        spans.append(_cell_span(data, file, folder, spool))
        names.append(str(file or row))
    return spans, names


def _cell_span(data: Any, file: str | None, folder: Path, spool: Spool) -> Span:
    if data and not isinstance(data, bytes):
        return Span("", 0, refused=f"a cell of type {type(data).__name__}, not of bytes")
    return spool.add(data) if data else _file_span(folder, file) if file else EMPTY


def _file_span(folder: Path, cell: str) -> Span:
    file = folder.absolute() / cell
    try:
        return Span(str(file), file.stat().st_size)
    except (OSError, ValueError) as error:
        return Span(str(file), 0, refused=getattr(error, "strerror", None) or str(error))


def labels_of(values: Sequence[Any], n: int, path: Path) -> tuple[np.ndarray, list[str]]:
    empty = next((row for row, value in enumerate(values) if value is None or value == ""), None)
    if empty is not None:
        raise DataError(f"{path} has no label in row {empty + 1} (of {n:,}). Fill it in, or leave the column out.")
    try:
        return label_codes(values, n, str(path))
    except TypeError as error:
        raise DataError(f"{path} has labels that cannot be compared ({error}). Use numbers or words.") from error


def _image_column(columns: Sequence[str], path: Path) -> str:
    column = column_of(columns, BYTES) or column_of(columns, PATHS)
    if column is None:
        raise DataError(_no_column(path, columns, (*BYTES, *PATHS)))
    return column


def column_of(columns: Sequence[str], wanted: Sequence[str]) -> str | None:
    """The first of the wanted columns that is there, as the table spells it."""
    lower = {column.strip().lower(): column for column in columns}
    return next((lower[name] for name in wanted if name in lower), None)


def _no_column(path: Path, columns: Sequence[str], wanted: Sequence[str]) -> str:
    shown = ", ".join(columns[:5]) or "none"
    return f"{path} has the columns {shown}, and none for images: call it {wanted[0]}, or say --kind table."


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
