"""A batch of a framework: a dict of arrays, an Arrow table or record batch, or a pandas data frame."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from c3clust.data.sources import embeddings, manifest
from c3clust.errors import InputError

__all__ = ["COLUMNS", "names_of", "sample_column", "samples_of", "with_columns"]

COLUMNS = (*embeddings.COLUMNS, *manifest.BYTES, "jpg", "jpeg", "png", "webp", "text")  # of samples, if none is named


def names_of(batch: Any) -> list[str]:
    """The names of the columns of a batch."""
    if isinstance(batch, Mapping):
        return [str(name) for name in batch]
    found = getattr(batch, "column_names", None)  # Arrow
    found = getattr(batch, "columns", None) if found is None else found
    if found is None:
        kind = type(batch).__name__
        raise InputError(f"A batch of type {kind} cannot be read: give a dict of arrays, an Arrow table or a frame.")
    return [str(name) for name in found]


def sample_column(batch: Any, column: str | None) -> str:
    """The column of the samples: the one that is named, or the first of a usual name."""
    names = names_of(batch)
    found = next((name for name in COLUMNS if name in names), None) if column is None else column
    if found not in names:
        wanted = f"column {column!r} is not there" if column is not None else f"none is called {', '.join(COLUMNS)}"
        raise InputError(f"The batch has the columns {', '.join(names)}: {wanted}. Name one with column=.")
    return str(found)


def samples_of(batch: Any, column: str) -> np.ndarray | list[Any]:
    """The samples: vectors [n, F] or images [n, ...] as an array; encoded images and texts as a list."""
    values = (
        batch[column] if isinstance(batch, Mapping) or not hasattr(batch, "column_names") else _arrow(batch, column)
    )
    if isinstance(values, np.ndarray) and values.dtype != object:
        return values
    items = list(values)
    first = next((item for item in items if item is not None), None)
    if isinstance(first, str | bytes | bytearray | dict) or first is None:
        return [b"" if item is None else item for item in items]
    if np.ndim(first) == 1:  # a vector that is missing is one that is not finite
        items = [np.full(len(first), np.nan, np.float32) if item is None else item for item in items]
    try:
        return np.stack([np.asarray(item) for item in items])
    except ValueError:
        raise InputError(f"Column {column!r} has samples of different shapes, or some are missing.") from None


def _arrow(batch: Any, column: str) -> np.ndarray | list[Any]:
    import pyarrow

    values = batch[column]
    values = values.combine_chunks() if isinstance(values, pyarrow.ChunkedArray) else values
    types = pyarrow.types
    if isinstance(values, pyarrow.FixedShapeTensorArray):  # what Ray writes arrays of images and vectors as
        return values.to_numpy_ndarray()
    lists = types.is_list(values.type) or types.is_large_list(values.type) or types.is_fixed_size_list(values.type)
    if not lists:
        return values.to_pylist()
    found = embeddings.block(values.drop_null(), f"Column {column!r}")
    if not values.null_count:
        return found
    whole = np.full((len(values), *found.shape[1:]), np.nan, np.float32)
    whole[values.is_valid().to_numpy(zero_copy_only=False)] = found
    return whole


def with_columns(batch: Any, dropped: str, keep: Sequence[str], new: Mapping[str, np.ndarray]) -> Any:
    """The batch with the new columns, in its own type. The column of samples is dropped, unless it is in `keep`."""
    kept = [name for name in names_of(batch) if (name != dropped or name in keep) and name not in new]
    if isinstance(batch, Mapping):
        return {name: batch[name] for name in kept} | dict(new)
    if not hasattr(batch, "column_names"):
        return batch[kept].assign(**{name: list(value) if value.ndim > 1 else value for name, value in new.items()})
    import pyarrow

    table = pyarrow.table({name: batch[name] for name in kept}) if kept else None
    added = {name: _column(value) for name, value in new.items()}
    columns = {name: table[name] for name in kept} if table is not None else {}
    return pyarrow.table(columns | added)


def _column(value: np.ndarray) -> Any:
    """An array of one or two dimensions as a column of Arrow."""
    import pyarrow

    if value.ndim == 1:
        return pyarrow.array(value)
    flat = pyarrow.array(np.ascontiguousarray(value).reshape(-1))
    return pyarrow.FixedSizeListArray.from_arrays(flat, value.shape[1])
