"""A Parquet table of embeddings: a column of lists [F] or of nested lists [V][F], and optionally a label column.

The column has one of the usual names (COLUMNS), is the only one of lists, or is chosen. A column id, name, key or index
that differs in all rows has the names of the samples. A folder of such files, with a column of a usual name, is a
dataset of lists [F] whose rows are read when they are needed, by row group, as float32: it may be larger than the
memory. Embeddings in .npy and .npz files are read by `arrays`.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io.cells import LABELS, find_column, open_parquet, parquet_batches, require_pyarrow
from c3clust.data.io.row_groups import Group, RowGroups
from c3clust.data.samples import Dataset, Samples
from c3clust.data.source import Claim, Options
from c3clust.data.sources import manifest, table
from c3clust.data.sources.arrays import from_array, label_codes
from c3clust.data.sources.folder import has_images
from c3clust.errors import DataError, InputError

COLUMNS = ("embedding", "embeddings", "features", "vector")


def claims(path: Path) -> Claim:
    """.parquet files with a column of embeddings, or folders of them."""
    if path.is_dir():
        files = _files(path)
        return _claim(files[0], COLUMNS) if files and not has_images(path) else Claim.NO
    return _claim(path)


def _claim(path: Path, columns: Sequence[str] = ()) -> Claim:
    """With `columns`, a column of embeddings has one of these names."""
    if path.suffix.lower() != ".parquet" or not path.is_file() or find_spec("pyarrow") is None:
        return Claim.NO
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(path)
    except Exception:  # `table` says why it cannot be read
        return Claim.NO
    named = find_column(_list_columns(schema), COLUMNS) is not None
    others = find_column(schema.names, (*manifest.PATHS, *manifest.BYTES)) is not None  # a list of images
    any_name = not columns and not others and bool(_list_columns(schema, whole=False))
    return Claim.LAYOUT if named or any_name else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Dataset:
    """All rows, in the table's order; those of another column, where one that is not of lists is chosen."""
    if path.is_dir():
        return _read_folder(path)
    pyarrow = require_pyarrow("pyarrow", path)
    with open_parquet(path) as file:
        lists, names = _list_columns(file.schema_arrow), file.schema_arrow.names
        if options.kind is not None or any(name not in lists for name in options.columns):
            return table.read(path, options)
        named = find_column(lists, COLUMNS)
        column = named if named and not options.columns else _chosen(path, file.schema_arrow, options.columns)
        label, key = find_column(names, LABELS), find_column(names, table.NAMES)
        batches = parquet_batches(file, path, [name for name in (column, label, key) if name])
        rows = pyarrow.Table.from_batches(list(batches))
        x = block(rows.column(column).combine_chunks(), path)
        y = rows.column(label).to_pylist() if label else None
        given = table.row_names(rows.column(key).to_pylist()) if key else None
    roles = {label: "true labels, for scores only", key if given else None: "names of the rows"}
    left = table.left_columns(names, [column], roles)
    samples = replace(from_array(x, y, place=str(path), embeddings=True), taken=f"column {column!r}", left=left)
    return samples if given is None else replace(samples, names=given)


def _chosen(path: Path, schema: Any, columns: Sequence[str]) -> str:
    """The column of embeddings: the one that is named, or the only one."""
    lists = _list_columns(schema, whole=False)
    if len(columns) > 1:
        raise InputError(f"{path}: {len(columns)} columns of lists were selected; select one with --column.")
    found = next(iter(columns), None) or (lists[0] if len(lists) == 1 else None)
    if found is None:
        shown = table.shortened(lists)
        raise InputError(f"{path} has {len(lists)} columns of lists ({shown}): select one with --column.")
    return found


def _list_columns(schema: Any, whole: bool = True) -> list[str]:
    """The columns whose cells are lists of numbers, at any depth; integers only with `whole`."""
    import pyarrow

    def inner(type_: Any) -> Any:
        return inner(type_.value_type) if _is_list(type_) else type_

    lists = {name: inner(schema.field(name).type) for name in schema.names if _is_list(schema.field(name).type)}
    types = pyarrow.types
    return [name for name, type_ in lists.items() if types.is_floating(type_) or (whole and types.is_integer(type_))]


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
        raise DataError(f"{path} contains no rows. Give Parquet files with at least one.")
    widths = {_read_group(group).shape[1] for group in {group.path: group for group in groups}.values()}
    if len(widths) > 1:
        raise DataError(
            f"{path} has files with embeddings of different lengths: {', '.join(map(str, sorted(widths)))}."
        )
    x = RowGroups(groups, widths.pop(), _read_group)
    y, classes = label_codes(labels, len(x), str(path)) if len(labels) == len(x) else (None, None)
    return Samples(x, [str(i) for i in range(len(x))], y, classes, place=str(path))


def _read_group(group: Group) -> np.ndarray:
    """The vectors [rows, F] of one row group."""
    pyarrow = require_pyarrow("pyarrow", group.path)
    with open_parquet(group.path) as file:
        column = find_column(file.schema_arrow.names, COLUMNS)
        batches = parquet_batches(file, group.path, [str(column)], rows=group.rows, groups=[group.number])
        values = pyarrow.Table.from_batches(list(batches)).column(0).combine_chunks()
    found = block(values, group.path)
    if found.ndim != 2:
        raise DataError(f"{group.path} has nested embeddings: in a folder of files each row is one list of numbers.")
    if not np.isfinite(found).all():
        raise DataError(f"{group.path} has an embedding with NaN or infinity. Remove such rows, or fill them in.")
    return found.astype(np.float32, copy=False)


def block(values: Any, path: object) -> np.ndarray:
    """Lists of equal length as one array; each level of nesting adds an axis."""
    shape = [len(values)]
    while _is_list(values.type):
        if values.null_count:
            raise DataError(f"{path} has an embedding that is empty. Remove such rows, or fill them in.")
        flat = values.flatten()
        size, rest = divmod(len(flat), max(len(values), 1))
        if rest or not _all_of_length(values, size):
            raise DataError(f"{path} has embeddings of different lengths: all must have the same number of features.")
        shape.append(size)
        values = flat
    return values.to_numpy(zero_copy_only=False).reshape(shape)


def _all_of_length(values: Any, size: int) -> bool:
    """Whether all lists of a column have this length."""
    from pyarrow import compute

    lengths = compute.min_max(compute.list_value_length(values))
    return len(values) == 0 or lengths["min"].as_py() == lengths["max"].as_py() == size


def _is_list(type_: Any) -> bool:
    import pyarrow

    types = pyarrow.types
    return types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_)
