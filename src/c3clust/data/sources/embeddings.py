"""A Parquet table of embeddings: a column of lists [F] or of nested lists [V][F], and optionally a label column.

Embeddings in .npy and .npz files are read by `arrays`.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io.cells import LABELS, find_column, open_parquet, parquet_batches, require_pyarrow
from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options
from c3clust.data.sources.arrays import from_array
from c3clust.errors import DataError

COLUMNS = ("embedding", "embeddings", "features", "vector")


def claims(path: Path) -> Claim:
    """.parquet files with a column of embeddings."""
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
    pyarrow = require_pyarrow("pyarrow", path)
    with open_parquet(path) as file:
        names = file.schema_arrow.names
        column, label = find_column(names, COLUMNS), find_column(names, LABELS)
        batches = parquet_batches(file, path, [name for name in (column, label) if name])
        table = pyarrow.Table.from_batches(list(batches))
        x = _block(table.column(column).combine_chunks(), path)
        y = table.column(label).to_pylist() if label else None
    return from_array(x, y, place=str(path), embeddings=True)


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
