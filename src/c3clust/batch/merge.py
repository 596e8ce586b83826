"""Check that the parts of all shards are there and whole, and write them as one file."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from c3clust.batch.parts import Account, Manifest, read_account, read_manifest
from c3clust.batch.shards import Shard
from c3clust.data.io.cells import require_pyarrow
from c3clust.errors import InputError, RunError, first_line
from c3clust.files.atomic import move, open_regular, remove, sync

__all__ = ["Merged", "merge_parts"]

SHOWN = 3  # shards that a message names


@dataclass
class Merged:
    """The number of parts, of samples that have a cluster, and the images that could not be read."""

    parts: int
    samples: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)
    out: Path | None = None


def merge_parts(parts: str | Path, out: str | Path | None = None) -> Merged:
    """Check that each sample of each shard is there exactly once; with `out`, write all as one new Parquet file.

    A sample is identified by its shard and its name. RunError names what is missing, damaged, foreign or repeated.
    """
    folder, out = Path(parts), None if out is None else Path(out)
    require_pyarrow("pyarrow", folder)
    manifest = read_manifest(folder)
    shards = manifest.all
    if out is not None and (os.path.lexists(out) or not out.absolute().parent.is_dir()):
        raise InputError(f"-o {out} exists, or its folder does not: nothing is overwritten. Give another name.")
    _check_files(folder, shards)
    merged = Merged(len(shards), out=out)
    tables = _tables(folder, shards, manifest, merged)
    if out is None:
        for _ in tables:
            pass
    else:
        _write(tables, out)
    return merged


def _check_files(folder: Path, shards: list[Shard]) -> None:
    """RunError if the part of a shard is missing, or a file is the part of none."""
    there, needed = {path.name for path in folder.glob("*.parquet")}, [shard.part for shard in shards]
    missing = [name for name in needed if name not in there]
    if missing:
        shown = ", ".join(missing[:SHOWN])
        raise RunError(f"{folder} lacks {len(missing):,} of {len(needed):,} parts, first {shown}: start predict again.")
    if extra := sorted(there - set(needed)):
        raise RunError(f"{folder} has {extra[0]}, which is the part of no shard in its manifest: remove it.")


def _tables(folder: Path, shards: list[Shard], manifest: Manifest, merged: Merged) -> Iterator[Any]:
    """The checked table of each part."""
    for shard in shards:
        path = folder / shard.part
        account = read_account(path)
        if account is None or not account.same(Account(shard.name, shard.bytes, manifest.model, manifest.z)):
            raise RunError(f"{path} is damaged, or of another shard or model: remove it, and start predict again.")
        table = _read(path)
        names = table["name"].to_pylist() + [name for name, _ in account.skipped]
        if len(names) != account.n or len(set(names)) != len(names):
            raise RunError(f"{path} has {len(names):,} samples of {account.n:,}, or some twice: remove it.")
        merged.samples += table.num_rows
        merged.skipped += [(f"{shard.name}/{name}", reason) for name, reason in account.skipped]
        yield table


def _read(path: Path) -> Any:
    from pyarrow import ArrowException, parquet

    try:
        with open_regular(path) as file:
            return parquet.read_table(file, page_checksum_verification=True).replace_schema_metadata(None)
    except (OSError, ArrowException) as error:
        raise RunError(f"{path} is damaged ({first_line(error)}): remove it, and start predict again.") from None


def _write(tables: Iterator[Any], out: Path) -> None:
    """One Parquet file, with one row group per shard; it gets its name when it is complete."""
    from pyarrow import parquet

    partial = out.with_name(f".{out.name[:200]}.{os.urandom(6).hex()}.partial")
    writer = None
    try:
        for table in tables:
            if not table.num_rows:
                continue
            writer = writer or parquet.ParquetWriter(partial, table.schema, compression="zstd")
            writer.write_table(table)
        if writer is None:
            raise RunError(f"There are no samples in any part: {out} is not written.")
        writer.close()
        sync(partial)
        move(partial, out)
    except BaseException:
        if writer is not None:
            writer.close()
        remove(partial)
        raise
