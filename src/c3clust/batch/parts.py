"""A resumable map over shards: TO/manifest.json, and for each shard TO/NAME.parquet, written whole or not at all.

A worker computes every n-th shard, and leaves out those whose part is there. A part has, besides a row per sample, an
account of what it was made of (ACCOUNT, in the metadata of the Parquet file): shard, size, model, number of samples,
and the images that could not be read. So a worker may be killed at any time and started again, and two workers that
compute the same shard do no harm: the last one replaces what the first one wrote. `merge` checks the whole.
"""

import contextlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import data
from c3clust.batch.models import identity
from c3clust.batch.shards import Shard, is_empty, own_shards, place_of
from c3clust.data.io.cells import require_pyarrow
from c3clust.errors import InputError, RunError
from c3clust.files.atomic import open_regular, read_json, write_atomically
from c3clust.files.schema import Count, build

__all__ = ["ACCOUNT", "Account", "Manifest", "Mapped", "map_shards", "read_account", "read_manifest"]

ACCOUNT = b"c3clust"
MANIFEST = "manifest.json"
Skipped = list[list[str]]


@dataclass(frozen=True)
class Manifest:
    """All shards of a source, and the model that they are assigned by: the same for all workers."""

    source: str
    model: str
    z: bool
    shards: list[dict[str, Any]]
    format: int = 1

    @property
    def all(self) -> list[Shard]:
        return [build(Shard, shard, MANIFEST) for shard in self.shards]


@dataclass(frozen=True)
class Account:
    """What a part was made of. n: the samples of the shard, those that could not be read included."""

    shard: str
    bytes: Count
    model: str
    z: bool
    n: Count = 0
    skipped: Skipped = field(default_factory=list)

    def same(self, other: "Account") -> bool:
        return (self.shard, self.bytes, self.model, self.z) == (other.shard, other.bytes, other.model, other.z)


@dataclass
class Mapped:
    """What one worker did: shards that it computed, and those that were there; samples and unreadable images."""

    to: Path
    shards: int
    done: int = 0
    there: int = 0
    samples: int = 0
    skipped: list[tuple[str, str]] = field(default_factory=list)


def map_shards(
    model: Any,
    run: str | Path,
    source: str,
    shards: list[Shard],
    to: str | Path,
    *,
    part: tuple[int, int] = (1, 1),
    reading: dict[str, Any] | None = None,
    z: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Mapped:
    """Assign the samples of the shards of one worker, and write a part for each; parts that are there stay.

    model: that of `run`, as `open_model` gives it, with `reading`, options of `data.load`. part: (i, n), the i-th of n.
    """
    require_pyarrow("pyarrow", Path(to))
    known = identity(run)
    to = _prepared(Path(to), Manifest(str(source), known, z, [asdict(shard) for shard in shards]))
    own = own_shards(shards, *part)
    mapped = Mapped(to, len(own))
    for number, shard in enumerate(own, 1):
        account = Account(shard.name, shard.bytes, known, z)
        there = read_account(to / shard.part)
        if there is not None and there.same(account):
            mapped.there += 1
            continue
        names, found, unread = _assigned(model, place_of(source, shard), reading or {})
        n = len(names) + len(unread)
        account = Account(shard.name, shard.bytes, known, z, n, [list(pair) for pair in unread])
        write_atomically(to / shard.part, _content(names, found, account))
        mapped.done, mapped.samples = mapped.done + 1, mapped.samples + n
        mapped.skipped += [(f"{shard.name}/{name}", reason) for name, reason in unread]
        tell(f"{number:,} of {len(own):,} shards: {shard.part}, {n:,} samples")
    return mapped


def _assigned(
    model: Any, place: str, reading: dict[str, Any]
) -> tuple[Sequence[str], Iterable[tuple[np.ndarray, ...]], Sequence[tuple[str, str]]]:
    """The names of the samples of a shard, batches of (z, clusters, confidence), and the images that are not read."""
    if is_empty(place):
        return [], [(np.empty((0, 0), np.float32), np.empty(0, np.int64), np.empty(0, np.float32))], []
    dataset = data.load(place, **reading)
    return dataset.names, model.assign_batches(dataset), dataset.skipped


def _prepared(to: Path, manifest: Manifest) -> Path:
    """The folder of parts, with its manifest; InputError if it belongs to another model or to other shards."""
    to.mkdir(parents=True, exist_ok=True)
    if not (to / MANIFEST).exists():
        if any(to.glob("*.parquet")):
            raise InputError(f"{to} has Parquet files and no {MANIFEST}: choose a new folder with --to.")
        write_atomically(to / MANIFEST, (json.dumps(asdict(manifest), indent=1) + "\n").encode())
    found = read_manifest(to)
    other = next((name for name in ("model", "z", "shards") if getattr(found, name) != getattr(manifest, name)), None)
    if other is not None:
        what = {"model": "another model, or before it was edited", "z": "another choice of --z"}.get(other)
        raise InputError(f"{to} was begun with {what or 'other shards'}: choose a new folder with --to.")
    return to


def read_manifest(to: Path) -> Manifest:
    """The manifest of a folder of parts."""
    path = to / MANIFEST
    try:
        return build(Manifest, read_json(path), str(path))
    except FileNotFoundError:
        raise RunError(f"{to} has no {MANIFEST}: give the folder that predict --to wrote parts into.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {str(error).rstrip('.')}.") from None


def read_account(path: Path) -> Account | None:
    """The account of a part; None if there is none, or the file cannot be read."""
    from pyarrow import ArrowException, parquet

    with contextlib.suppress(OSError, ValueError, RecursionError, ArrowException), open_regular(path) as file:
        text = (parquet.ParquetFile(file).schema_arrow.metadata or {}).get(ACCOUNT)
        return None if text is None else build(Account, json.loads(text), str(path))
    return None


def _content(names: Sequence[str], found: Iterable[tuple[np.ndarray, ...]], account: Account) -> bytes:
    """A Parquet file with shard, name, cluster, confidence and perhaps z of each sample; pages have checksums."""
    import pyarrow
    from pyarrow import parquet

    z, labels, confidence = _joined(found, account.z)
    columns = {
        "shard": pyarrow.DictionaryArray.from_arrays(np.zeros(len(labels), np.int32), [account.shard]),
        "name": pyarrow.array([str(name) for name in names], pyarrow.string()),
        "cluster": pyarrow.array(labels.astype(np.int32)),
        "confidence": pyarrow.array(confidence.astype(np.float32)),
    }
    if account.z and len(labels):
        columns["z"] = pyarrow.FixedSizeListArray.from_arrays(z.reshape(-1), z.shape[1])
    table = pyarrow.table(columns).replace_schema_metadata({ACCOUNT: json.dumps(asdict(account))})
    sink = pyarrow.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue().to_pybytes()


def _joined(found: Iterable[tuple[np.ndarray, ...]], with_z: bool) -> list[np.ndarray]:
    """z, labels and confidence of all samples; z is not held if it is not asked for."""
    parts = [(z if with_z else z[:0, :0], labels, confidence) for z, labels, confidence in found]
    return [np.concatenate(each) for each in zip(*parts, strict=True)]
