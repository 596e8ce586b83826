"""A Parquet table of embeddings: a column of lists [F] or of nested lists [V][F], and optionally a label column.

A folder of such files is a dataset of lists [F] whose rows are read when they are needed, by row group, as float32: it
may be larger than the memory. Embeddings in .npy and .npz files are read by `arrays`.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io.cells import LABELS, find_column, open_parquet, parquet_batches, require_pyarrow
from c3clust.data.io.row_groups import Group, RowGroups
from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options
from c3clust.data.sources.arrays import from_array, label_codes
from c3clust.data.sources.folder import has_images
from c3clust.errors import DataError
from c3clust.limits import bomb, unpacked_limit

COLUMNS = ("embedding", "embeddings", "features", "vector")


def claims(path: Path) -> Claim:
    """.parquet files with a column of embeddings, or folders of them."""
    if path.is_dir():
        files = _files(path)
        return claims(files[0]) if files and not has_images(path) else Claim.NO
    if path.suffix.lower() != ".parquet" or not path.is_file() or find_spec("pyarrow") is None:
        return Claim.NO
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(path)
    except Exception:  # `table` says why it cannot be read
        return Claim.NO
    name = find_column(schema.names, COLUMNS)
    return Claim.LAYOUT if name and _is_list(schema.field(name).type) else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """All rows, in the table's order."""
    if path.is_dir():
        return _read_folder(path)
    pyarrow = require_pyarrow("pyarrow", path)
    with open_parquet(path) as file:
        names = file.schema_arrow.names
        column, label = find_column(names, COLUMNS), find_column(names, LABELS)
        batches = parquet_batches(file, path, [name for name in (column, label) if name])
        table = pyarrow.Table.from_batches(list(batches))
        x = _block(table.column(column).combine_chunks(), path)
        y = table.column(label).to_pylist() if label else None
    return from_array(x, y, place=str(path), embeddings=True)


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.glob("*.parquet") if file.is_file())


def _read_folder(path: Path) -> Samples:
    """The rows of all files, in the order of files and rows. Only the labels are read now."""
    groups: list[Group] = []
    labels: list[Any] = []
    for each in _files(path):
        with open_parquet(each) as file:
            column, label = (find_column(file.schema_arrow.names, names) for names in (COLUMNS, LABELS))
            if column is None:
                raise DataError(
                    f"{each} has no column of embeddings ({', '.join(COLUMNS)}), as others in its folder do."
                )
            sizes = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            groups += [Group(each, i, rows) for i, rows in enumerate(sizes) if rows]
            if label is not None:
                for batch in parquet_batches(file, each, [label]):
                    labels += batch.column(0).to_pylist()
    if not groups:
        raise DataError(f"{path} holds no rows. Give Parquet files with at least one.")
    widths = {_read_group(group).shape[1] for group in {group.path: group for group in groups}.values()}
    if len(widths) > 1:
        raise DataError(
            f"{path} has files with embeddings of different lengths: {', '.join(map(str, sorted(widths)))}."
        )
    x = RowGroups(groups, widths.pop(), _read_group)
    y, classes = label_codes(labels, len(x), str(path)) if len(labels) == len(x) else (None, None)
    return Samples(x, [str(i) for i in range(len(x))], y, classes, place=str(path), policy="vector")


def _read_group(group: Group) -> np.ndarray:
    """The vectors [rows, F] of one row group."""
    with open_parquet(group.path) as file:
        column = find_column(file.schema_arrow.names, COLUMNS)
        size = file.metadata.row_group(group.number).total_byte_size
        if size > unpacked_limit(group.path.stat().st_size):
            raise DataError(bomb(group.path, group.path.stat().st_size))
        values = file.read_row_group(group.number, columns=[column]).column(0).combine_chunks()
    found = _block(values, group.path)
    if found.ndim != 2:
        raise DataError(f"{group.path} has nested embeddings: in a folder of files each row is one list of numbers.")
    if not np.isfinite(found).all():
        raise DataError(f"{group.path} has an embedding with NaN or infinity. Remove such rows, or fill them in.")
    return found.astype(np.float32, copy=False)


def _block(values: Any, path: Path) -> np.ndarray:
    """Lists of equal length as one array; each level of nesting adds an axis."""
    shape = [len(values)]
    while _is_list(values.type):
        if values.null_count:
            raise DataError(f"{path} has an embedding that is empty. Remove such rows, or fill them in.")
        flat = values.flatten()
        size, rest = divmod(len(flat), max(len(values), 1))
        if rest or any(len(row) != size for row in values):
            raise DataError(f"{path} has embeddings of different lengths: all must have equally many features.")
        shape.append(size)
        values = flat
    return values.to_numpy(zero_copy_only=False).reshape(shape)


def _is_list(type_: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    return types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_)
