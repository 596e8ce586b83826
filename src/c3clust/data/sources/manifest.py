"""A CSV or Parquet table of images: a column of paths, or (Parquet) of encoded bytes, and optionally a label column.

The columns are found by their names (PATHS, BYTES, LABELS), without regard to case. Paths are relative to the folder of
the table and lead to files in it, at any depth; `outside` allows others, and absolute ones. The same holds for a .txt
file with one path per line. Cells of bytes are binary values, or Hugging Face's {bytes, path}.

The bytes of Parquet files stay where they are: their cells are listed, and read again by row group when they are
needed. Row groups with more than 128 MB of pictures (row_groups.LARGEST) are copied to a temporary file instead.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io import row_groups
from c3clust.data.io.cells import LABELS, find_column, open_parquet, parquet_batches, read_cells
from c3clust.data.io.decode import names_an_image
from c3clust.data.io.pictures import EncodedFiles, to_samples
from c3clust.data.io.row_groups import ColumnChunk
from c3clust.data.io.spans import Span, Spool
from c3clust.data.samples import Samples
from c3clust.data.source import Options, log
from c3clust.data.sources.arrays import label_codes
from c3clust.data.sources.folder import with_labels
from c3clust.errors import DataError

PATHS = ("path", "file", "file_name", "filename", "image_path", "filepath", "image")
BYTES = ("image", "img", "bytes", "image_bytes", "image.bytes")
OUTSIDE = "it is outside of the folder of the list; --outside (outside=True in Python) allows it"
EMPTY = Span("", 0, refused="an empty cell")


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """The images of the table, in the order of its rows."""
    if path.suffix.lower() != ".parquet":
        return _read_csv(path, options)
    return read_parquet([path], path, options)


def are_image_paths(lines: Sequence[str]) -> bool:
    """Whether all lines that are not empty end like image files."""
    paths = [line.strip() for line in lines if line.strip()]
    return bool(paths) and all(map(names_an_image, paths))


def read_paths(path: Path, lines: Sequence[str], options: Options) -> Samples:
    """The images of a .txt file with one path per line."""
    found = [(cell, _file_span(path.parent, cell, options.outside)) for line in lines if (cell := line.strip())]
    note = f"{path} is a list of image files: they are read as images, and its lines not as texts."
    if not options.listed:
        log.warning(note)
    files = with_labels(EncodedFiles.of(found, str(path)), options)
    return replace(to_samples(files, options), notes=[note])


@dataclass
class _Listed:
    """The cells of a table: the path in each, if it has one, and where its image is."""

    files: list[str | None] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def read_parquet(files: Sequence[Path], path: Path, options: Options) -> Samples:
    """Samples from the Parquet files of `path`, in order. Of several processes each lists some of the files."""
    listing = partial(_list_parquet, path=path, outside=options.outside)
    if options.shared:
        from c3clust import dist  # which needs torch

        listed = dist.shared_map(listing, files)
    else:
        listed = [listing(file) for file in files]
    return _samples(listed, _spooled([span for each in listed for span in each.spans]), path, options)


def _list_parquet(file: Path, path: Path, outside: bool) -> _Listed:
    """The cells of one file. All of them are read once, some rows at a time."""
    found = _Listed()
    with open_parquet(file) as opened:
        metadata, columns = opened.metadata, opened.schema_arrow.names
        image, label = _image_column(path, columns), find_column(columns, LABELS)
        found.left = _left(columns, image, label)
        rows = (metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
        places = ((ColumnChunk(group, image), n) for group, n in enumerate(rows))
        cells = ((chunk, row) for chunk, n in places for row in range(n))
        for batch in parquet_batches(opened, file, [name for name in (image, label) if name], rows=256):
            for value, (chunk, row) in zip(batch.column(image).to_pylist(), cells, strict=False):
                here = partial(_in_place, str(file.absolute()), chunk, row)
                span, name = _cell(value, _folder(path), here, outside)
                found.spans.append(span)
                found.files.append(name)
            found.labels += batch.column(label).to_pylist() if label else []
    return found


def _in_place(path: str, chunk: ColumnChunk, row: int, data: bytes) -> Span:
    return Span(path, len(data), row, chunk=chunk)


def _spooled(spans: list[Span]) -> tuple[list[Span], Spool]:
    """The spans, with the images of row groups that are too large to be read together in a temporary file."""
    spool, chunks = Spool(), defaultdict[tuple[str, ColumnChunk], list[int]](list)
    for i, span in enumerate(spans):
        if span.chunk is not None:
            chunks[span.path, span.chunk].append(i)
    for (path, chunk), index in chunks.items():
        if sum(spans[i].size for i in index) > row_groups.LARGEST:
            at = {spans[i].offset: i for i in index}
            for row, value in enumerate(_cells(Path(path), chunk)):
                if row in at:
                    spans[at[row]] = _cell(value, Path(path).parent, spool.add, False)[0]
    spool.close()
    return spans, spool


def _cells(path: Path, chunk: ColumnChunk) -> Iterator[Any]:
    with open_parquet(path) as opened:
        for batch in parquet_batches(opened, path, [chunk.column], rows=256, groups=[chunk.group]):
            yield from batch.column(0).to_pylist()


def read_batches(batches: Iterator[Any], path: Path, options: Options, classes: Sequence[str] | None = None) -> Samples:
    """Samples from Arrow record batches. Encoded bytes are copied to a temporary file, so that memory stays bounded.

    classes: the names of integer labels, if the metadata of the table has them.
    """
    spool, found = Spool(), _Listed()
    for batch in batches:
        columns = batch.schema.names
        image, label = _image_column(path, columns), find_column(columns, LABELS)
        found.left = _left(columns, image, label)
        for value in batch.column(image).to_pylist():
            span, name = _cell(value, _folder(path), spool.add, options.outside)
            found.spans.append(span)
            found.files.append(name)
        found.labels += batch.column(label).to_pylist() if label else []
    spool.close()
    return _samples([found], (found.spans, spool), path, options, classes)


def _samples(
    listed: Sequence[_Listed],
    spooled: tuple[list[Span], Spool],
    path: Path,
    options: Options,
    classes: Sequence[str] | None = None,
) -> Samples:
    names = [str(name or i) for i, name in enumerate(name for each in listed for name in each.files)]
    found, labels = list(zip(names, spooled[0], strict=True)), [label for each in listed for label in each.labels]
    origin = [file for file in sorted(path.rglob("*")) if file.is_file()] if path.is_dir() else [path]
    y, known = checked_labels(labels, len(found), path)
    if classes is not None and y is not None and known is not None:
        y = np.array([int(value) for value in known], dtype=np.int64)[y]
        # a label out of range marks an unlabelled dataset
        y, known = (y, list(classes)) if y.min() >= 0 and y.max() < len(classes) else (None, None)
    left = listed[-1].left if listed else []
    files = EncodedFiles.of(found, str(path), y=y, classes=known, spool=spooled[1], origin=origin, left=left)
    return to_samples(files, options)


def _folder(path: Path) -> Path:
    """The folder that paths in a table are relative to."""
    return path if path.is_dir() else path.parent


def _image_column(path: Path, columns: Sequence[str]) -> str:
    image = find_column(columns, (*BYTES, *PATHS))
    if image is None:
        raise DataError(_no_column(path, columns, BYTES[0]))
    return image


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


def _cell(value: Any, folder: Path, place: Callable[[bytes], Span], outside: bool) -> tuple[Span, str | None]:
    """The span of a cell's image, and its path if it has one. place: the span of an image that is in the cell."""
    data, file = (value.get("bytes"), value.get("path")) if isinstance(value, dict) else (value, None)
    if isinstance(data, str):
        data, file = None, data
    if data and not isinstance(data, bytes):
        return Span("", 0, refused=f"a cell of type {type(data).__name__}, not of bytes"), file
    return place(data) if data else _file_span(folder, str(file), outside) if file else EMPTY, file


def _file_span(folder: Path, cell: str, outside: bool) -> Span:
    """The file that a cell names; `..` is resolved in the path, before any link is followed."""
    base = os.path.abspath(folder)
    file = os.path.normpath(os.path.join(base, cell))
    if not outside and not Path(file).is_relative_to(base):
        return Span(file, 0, refused=OUTSIDE)
    try:
        return Span(file, os.stat(file).st_size)
    except FileNotFoundError:
        return Span(file, 0, refused="no such file in the folder of the list")
    except (OSError, ValueError) as error:
        return Span(file, 0, refused=getattr(error, "strerror", None) or str(error))


def checked_labels(values: Sequence[Any], n: int, path: Path) -> tuple[np.ndarray | None, list[str] | None]:
    """`label_codes` of a label column, or DataError if a cell is empty or of another type than the others."""
    if not values:
        return None, None
    empty = next((row for row, value in enumerate(values) if value is None or value == ""), None)
    if empty is not None:
        raise DataError(f"{path} has no label in row {empty + 1} (of {n:,}). Fill it in, or omit the column.")
    try:
        return label_codes(values, n, str(path))
    except TypeError as error:
        raise DataError(f"{path} has labels that cannot be compared ({error}). Use numbers or words.") from error


def _no_column(path: Path, columns: Sequence[str], name: str) -> str:
    shown = ", ".join(columns[:5]) or "none"
    return f"{path} has the columns {shown}, and none for images: rename it to {name}, or use --kind table."
