"""A Hugging Face `datasets` folder: written by `save_to_disk`, or with Parquet files as on the hub.

It is read with pyarrow; the package `datasets` is not needed. All splits are pooled. The column `image` contains the
images, a `label` column their classes.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from c3clust.data.io.budget import Budget, declared_size, within_budget
from c3clust.data.io.cells import LABELS, require_pyarrow
from c3clust.data.io.spans import open_regular
from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options
from c3clust.data.sources.folder import has_images
from c3clust.data.sources.manifest import read_batches, read_parquet
from c3clust.errors import C3ClustError, DataError, first_line
from c3clust.files.limits import limit

SPLITS = "dataset_dict.json"
INFO = "dataset_info.json"
STATE = "state.json"


def claims(path: Path) -> Claim:
    """A folder with the files of `save_to_disk`, or with Parquet files in it or in its folder `data` and no images."""
    if not path.is_dir():
        return Claim.NO
    saved = (path / SPLITS).is_file() or ((path / STATE).is_file() and (path / INFO).is_file())
    return Claim.LAYOUT if saved or (_parquet_files(path) and not has_images(path)) else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """The images of all splits, in the order of splits, files and rows."""
    pyarrow = require_pyarrow("pyarrow", path)
    try:
        if files := _parquet_files(path):
            return read_parquet(files, path, options)
        splits = [path]
        if (path / SPLITS).is_file():
            splits = [_inside(path, name) for name in _json(path / SPLITS)["splits"]]
        size = sum(file.stat().st_size for split in splits for file in split.iterdir() if file.is_file())
        batches = within_budget(_arrow_batches(splits, pyarrow, Budget(path, size)), Budget(path, size))
        return read_batches(batches, path, options, _class_names(splits[0]))
    except C3ClustError:
        raise
    except Exception as error:  # Arrow and Python raise almost anything on hostile bytes
        reason = first_line(error)
        raise DataError(f"{path} cannot be read as a Hugging Face folder ({reason}). Save it again.") from error


def _parquet_files(path: Path) -> list[Path]:
    found = (sorted(path.glob(pattern)) for pattern in ("*.parquet", "data/*.parquet"))
    return next((files for each in found if (files := [file for file in each if file.is_file()])), [])


def _arrow_batches(splits: list[Path], pyarrow: Any, budget: Budget) -> Iterator[Any]:
    """The rows of all files, some at a time. Arrow itself would unpack any size, and trust the offsets of a file."""
    from pyarrow import ipc

    for split in splits:
        for file in _json(split / STATE)["_data_files"]:
            path = str(_inside(split, file["filename"]))
            with pyarrow.OSFile(path) as source:
                for message in ipc.MessageReader.open_stream(source):
                    budget.spend(declared_size(message))
            with pyarrow.OSFile(path) as source:
                for batch in ipc.open_stream(source):
                    batch.validate(full=True)
                    yield from (batch.slice(start, 256) for start in range(0, batch.num_rows, 256))


def _class_names(split: Path) -> list[str] | None:
    """The names of a ClassLabel column, if the metadata have one."""
    features = _json(split / INFO).get("features") or {}
    names = (features.get(column, {}).get("names") for column in LABELS if features.get(column))
    return next(([str(name) for name in given] for given in names if given), None)


def _json(path: Path) -> Any:
    with open_regular(path) as file:
        return json.loads(file.read(limit("C3CLUST_MAX_JSON")))


def _inside(folder: Path, name: str) -> Path:
    """A file named in the metadata; it must be in the folder."""
    if Path(name).name != name or name in ("", ".", ".."):
        raise DataError(f"{folder} names the file {name}, which is outside of the folder. Save the folder again.")
    if not (folder / name).is_file() and not (folder / name).is_dir():
        raise DataError(f"{folder} names {name}, which is missing or neither a file nor a folder. Save it again.")
    return folder / name
