"""A Parquet table of embeddings: a column of lists [F], or of lists of V lists [V][F], and perhaps one of labels.

    embedding column    embedding, embeddings, features or vector
    label column        as in `manifest`

Embeddings in .npy and .npz files are read by `arrays`.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options
from c3clust.data.sources.arrays import from_array
from c3clust.data.sources.manifest import LABELS, column_of, first_line, require_pyarrow
from c3clust.errors import DataError

__all__ = ["claims", "read"]

COLUMNS = ("embedding", "embeddings", "features", "vector")


def claims(path: Path) -> Claim:
    """.parquet files with a column of embeddings."""
    if path.suffix.lower() != ".parquet" or not path.is_file() or find_spec("pyarrow") is None:
        return Claim.NO
    import pyarrow
    from pyarrow import parquet

    try:
        schema = parquet.read_schema(path)
    except (OSError, pyarrow.ArrowException):
        return Claim.NO
    name = column_of(schema.names, COLUMNS)
    return Claim.LAYOUT if name and _is_list(schema.field(name).type) else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """All rows, in the table's order."""
    pyarrow, parquet = require_pyarrow("pyarrow", path), require_pyarrow("pyarrow.parquet", path)
    try:
        names = parquet.read_schema(path).names
        wanted, label = column_of(names, COLUMNS), column_of(names, LABELS)
        table = parquet.read_table(path, columns=[wanted, *([label] if label else [])])
        x = _block(table.column(wanted).combine_chunks(), path)
        y = table.column(label).to_pylist() if label else None
    except (OSError, pyarrow.ArrowException) as error:
        raise DataError(f"{path} cannot be read as Parquet ({first_line(error)}). Write it again.") from error
    return from_array(x, y, place=str(path), embeddings=True)


def _block(values: Any, path: Path) -> np.ndarray:
    """Lists of equally many numbers as one array, nested lists as one of more axes."""
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


def _is_list(kind: Any) -> bool:
    import pyarrow

    known = (pyarrow.types.is_list, pyarrow.types.is_large_list, pyarrow.types.is_fixed_size_list)
    return any(is_kind(kind) for is_kind in known)
