"""One budget for everything that is unpacked: a data file of s bytes may unpack to `limits.unpacked_limit(s)`.

The budget is spent before the memory is: on sizes that a file declares, then on those of what was read from it.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from c3clust.errors import DataError
from c3clust.files.limits import bomb, unpacked_limit

__all__ = ["Budget", "declared_size", "repeated_columns", "spend_on_parquet", "within_budget"]

CELL = 32  # bytes of a small value in memory
WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}  # bytes of a value in Parquet
DICTIONARY, RECORDS = 2, 3  # kinds of messages of Arrow that hold buffers


class Budget:
    """What files of `size` bytes together may still unpack to."""

    def __init__(self, path: Path | str, size: int) -> None:
        self.path, self.size, self.left = path, size, unpacked_limit(size)

    def spend(self, n: int) -> None:
        """DataError if less than n bytes are left."""
        self.left -= n
        if self.left < 0:
            raise DataError(bomb(self.path, self.size))


def within_budget(batches: Iterable[Any], budget: Budget) -> Iterator[Any]:
    """Record batches, as long as their cells unpack to a plausible number of bytes."""
    for batch in batches:
        budget.spend(CELL * batch.num_rows * batch.num_columns + sum(map(_cell_bytes, batch.columns)))
        yield batch


def _cell_bytes(column: Any) -> int:
    """The bytes of an Arrow column if each cell has its own: those of a dictionary count for each row."""
    import pyarrow
    from pyarrow import compute

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        text = any(is_a(kind.value_type) for is_a in _text_types(pyarrow.types))
        lengths = compute.binary_length(column.dictionary).take(column.indices) if text else None
        return 8 * len(column) if lengths is None else compute.sum(lengths).as_py() or 0
    if pyarrow.types.is_struct(kind):
        return sum(_cell_bytes(column.field(i)) for i in range(kind.num_fields))
    if "view" in str(kind) or "run_end" in str(kind):
        raise DataError(f"A column of type {kind} is not read: cast it to a plain type.")
    return int(column.nbytes)


def _text_types(types: Any) -> tuple[Any, ...]:
    return types.is_string, types.is_large_string, types.is_binary, types.is_large_binary


def repeated_columns(file: Any) -> set[str]:
    """The columns of a Parquet file whose cells are lists, at any depth."""
    leaves = (file.schema.column(i) for i in range(len(file.schema)))
    return {leaf.path.partition(".")[0] for leaf in leaves if leaf.max_repetition_level > 0}


def spend_on_parquet(file: Any, columns: Sequence[str] | None, groups: Sequence[int] | None, budget: Budget) -> int:
    """DataError if a row group declares more than the budget; the largest size that a text or a picture may have.

    A value that is repeated takes next to nothing in the file, and its full size in memory. It is no longer than its
    column chunk.
    """
    longest, metadata = 0, file.metadata
    leaves = [(i, file.schema.column(i)) for i in range(metadata.num_columns)]
    chosen = [(i, leaf) for i, leaf in leaves if columns is None or _is_in(leaf.path, columns)]
    for group in range(metadata.num_row_groups) if groups is None else groups:
        total = 0
        for i, leaf in chosen:
            chunk = metadata.row_group(group).column(i)
            size, width = chunk.total_uncompressed_size, WIDTHS.get(leaf.physical_type, leaf.length)
            if leaf.physical_type == "BYTE_ARRAY":  # rows of single values are read few at a time
                longest, width = max(longest, size), size if leaf.max_repetition_level else 0
            total += max(size, chunk.num_values * width)
        if total > budget.left:
            budget.spend(total)
    return longest


def _is_in(path: str, columns: Sequence[str]) -> bool:
    """Whether a leaf, such as image.bytes, belongs to one of the columns."""
    return any(path == name or path.startswith(f"{name}.") for name in columns)


def declared_size(message: Any) -> int:
    """The bytes that the buffers of an Arrow message unpack to: each compressed one begins with that number.

    The metadata is a flatbuffer, which Arrow has checked: Message(version, header_type, header), with a
    RecordBatch(length, nodes, buffers, compression) or a DictionaryBatch(id, data: RecordBatch).
    """
    meta, body = message.metadata.to_pybytes(), message.body

    def value(kind: str, at: int) -> int:
        return struct.unpack_from(f"<{kind}", meta, at)[0]

    def entry(table: int, i: int) -> int:
        """The place of the i-th entry of a table; 0 if it has none."""
        names = table - value("i", table)
        offset = value("H", names + 4 + 2 * i) if value("H", names) > 4 + 2 * i else 0
        return table + offset if offset else 0

    def target(at: int) -> int:
        return at + value("I", at)

    root = value("I", 0)
    kind = value("B", entry(root, 1)) if entry(root, 1) else 0
    if kind not in (DICTIONARY, RECORDS) or body is None:
        return 0
    table = target(entry(root, 2))
    table = target(entry(table, 1)) if kind == DICTIONARY else table
    if not entry(table, 3):  # not compressed
        return int(body.size)
    buffers, total = target(entry(table, 2)), 0
    for k in range(value("I", buffers)):
        offset, length = struct.unpack_from("<qq", meta, buffers + 4 + 16 * k)
        if length:
            declared = struct.unpack_from("<q", body, offset)[0]
            total += length if declared < 0 else declared
    return total
