"""CIFAR-10 and CIFAR-100, binary or Python version, from the folder or the .tar.gz as published.

Train and test images are pooled, as in the paper; the classes of CIFAR-100 are its 20 superclasses. A file whose size
is not a multiple of the record size is rejected. Complete files with fewer records than the official ones are read as
a subset, with a note.
"""

import io
import pickle
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options, PublicDataset, note_count
from c3clust.data.sources.archive import first_names, open_tar, tar_members
from c3clust.errors import DataError, first_line

ADDRESS = "https://www.cs.toronto.edu/~kriz/cifar.html"
SITE = "https://www.cs.toronto.edu/~kriz"
AGAIN = f"Download it again from {ADDRESS}."


def _public(number: int, classes: str, folders: tuple[str, str], *aliases: str, name: str) -> PublicDataset:
    file = f"cifar-{number}"
    return PublicDataset(
        name=name,
        what=f"CIFAR-{number}, small photographs: 60,000 images, 32 × 32, colour, {classes}",
        patterns=(*folders, f"{file}-*.tar.gz", f"{file}/*", f"{name}/*"),
        layout=f"{file}-binary.tar.gz or {file}-python.tar.gz, or the folder unpacked from it",
        address=ADDRESS,
        fetch=f"curl -fL --create-dirs --output-dir ~/.cache/c3clust -O {SITE}/{file}-binary.tar.gz",
        aliases=(file, *aliases),
    )


DATASETS = (
    _public(10, "10 classes", ("cifar-10-batches-bin", "cifar-10-batches-py"), name="cifar10"),
    _public(100, "its 20 superclasses", ("cifar-100-binary", "cifar-100-python"), "cifar100-20", name="cifar100"),
)
CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
CIFAR100 = (
    "aquatic_mammals", "fish", "flowers", "food_containers", "fruit_and_vegetables", "household_electrical_devices",
    "household_furniture", "insects", "large_carnivores", "large_man-made_outdoor_things",
    "large_natural_outdoor_scenes", "large_omnivores_and_herbivores", "medium_mammals", "non-insect_invertebrates",
    "people", "reptiles", "small_mammals", "trees", "vehicles_1", "vehicles_2",
)  # fmt: skip
PIXELS = 3 * 32 * 32
OFFICIAL = 60_000
MAX_FILE = 2**29
MAX_ARCHIVE = 2**31

_Unpickler: Any = pickle._Unpickler  # the one in Python, whose steps can be checked
UNUSED = (pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET, pickle.INST, pickle.OBJ, pickle.PERSID, pickle.BINPERSID)

Part = tuple[np.ndarray, np.ndarray]  # pixels [n, 3072], labels [n]


@dataclass(frozen=True)
class Version:
    """One of the four published versions."""

    set: str
    title: str
    folder: str
    files: tuple[str, ...]
    classes: tuple[str, ...]
    label_bytes: int = 0  # of a binary record; the first is the class
    label_key: bytes = b""  # of a pickled batch

    def parse(self, raw: bytes, place: str) -> Part:
        return _parse_binary(raw, self, place) if self.label_bytes else _parse_pickle(raw, self, place)


TEN = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")
VERSIONS = (
    Version("cifar10", "CIFAR-10", "cifar-10-batches-bin", tuple(f"{b}.bin" for b in TEN), CIFAR10, label_bytes=1),
    Version("cifar10", "CIFAR-10", "cifar-10-batches-py", TEN, CIFAR10, label_key=b"labels"),
    Version("cifar100", "CIFAR-100", "cifar-100-binary", ("train.bin", "test.bin"), CIFAR100, label_bytes=2),
    Version("cifar100", "CIFAR-100", "cifar-100-python", ("train", "test"), CIFAR100, label_key=b"coarse_labels"),
)


def claims(path: Path) -> Claim:
    """One of the four folders, a folder that contains one of them, or the archive of one."""
    return Claim.NO if _where(path) is None else Claim.LAYOUT


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """Train and test pooled: x [n, 3, 32, 32], y the class or superclass."""
    where = _where(path)
    if where is None:
        raise DataError(f"{path} contains neither CIFAR-10 nor CIFAR-100. Official files: {ADDRESS}.")
    version, place = where
    if name not in (None, version.set):
        way = f"Give the path of {name}, or use {version.set}."
        raise DataError(f"{path} contains {version.title}, not {name}. {way}")
    raw = _from_folder(place, version) if place.is_dir() else _from_archive(place, version)
    missing = [file for file in version.files if file not in raw]
    if missing:
        raise DataError(f"{path} lacks {', '.join(missing)} of {version.title}. {AGAIN}")
    parts = {file: version.parse(raw[file], f"{path}: {file}") for file in version.files}
    return _pool(parts, version, str(path))


def _where(path: Path) -> tuple[Version, Path] | None:
    """The version that a path holds, and the folder or archive itself."""
    if path.is_dir():
        pairs = ((version, folder) for version in VERSIONS for folder in (path, path / version.folder))
        inside = [(version, folder) for version, folder in pairs if (folder / version.files[-1]).is_file()]
        return inside[0] if len(inside) == 1 else None
    if not path.is_file() or not re.search(r"\.(tar|tgz|tar\.gz)$", path.name.lower()):
        return None
    folders = [name.removeprefix("./").split("/")[0] for name in first_names(path, 1)]
    return next(((version, path) for version in VERSIONS if [version.folder] == folders), None)


def _from_folder(folder: Path, version: Version) -> dict[str, bytes]:
    found = {file: folder / file for file in version.files if (folder / file).is_file()}
    for path in found.values():
        if path.stat().st_size > MAX_FILE:
            raise DataError(f"{path} is larger than any file of {version.title}. {AGAIN}")
    return {file: path.read_bytes() for file, path in found.items()}


def _from_archive(path: Path, version: Version) -> dict[str, bytes]:
    """The files of this version, read in place. Other files are ignored, links are not followed."""
    found, total = {}, 0
    try:
        with open_tar(path, "r:*") as archive:
            for member in tar_members(archive):
                total += member.size
                if total > MAX_ARCHIVE:
                    size = f"{MAX_ARCHIVE:,} bytes"
                    raise DataError(f"{path} unpacks to more than {size}: it is not an archive of {version.title}.")
                file = member.name.rsplit("/", 1)[-1]
                if member.isreg() and file in version.files and (stream := archive.extractfile(member)):
                    found[file] = stream.read()
    except DataError:
        raise
    except Exception as error:  # tarfile raises almost anything on hostile bytes
        raise DataError(f"{path} is damaged or truncated ({first_line(error)}). {AGAIN}") from error
    return found


def _parse_binary(raw: bytes, version: Version, place: str) -> Part:
    """Records of one or two label bytes and 3,072 pixel bytes."""
    record = version.label_bytes + PIXELS
    if not raw or len(raw) % record:
        what = f"{len(raw):,} bytes, which is not a multiple of the record size of {record:,}"
        raise DataError(f"{place} has {what}: it is damaged or truncated. {AGAIN}")
    rows = np.frombuffer(raw, dtype=np.uint8).reshape(-1, record)
    return rows[:, version.label_bytes :], rows[:, 0]


def _parse_pickle(raw: bytes, version: Version, place: str) -> Part:
    try:
        batch = _Batch(io.BytesIO(raw), encoding="bytes").load()
        content = {key.encode() if isinstance(key, str) else key: value for key, value in batch.items()}
        pixels, labels = content[b"data"].values, _whole_numbers(content[version.label_key])
    except Exception as error:  # a hostile or damaged pickle can raise anything
        raise DataError(f"{place} is not a batch of {version.title} ({first_line(error)}). {AGAIN}") from error
    if pixels.ndim != 2 or pixels.shape[1] != PIXELS or labels.dtype.kind != "i" or labels.shape != pixels.shape[:1]:
        shapes = f"pixels of shape {pixels.shape} and labels of shape {labels.shape}"
        raise DataError(f"{place} has {shapes}: [n, {PIXELS}] and [n] are needed. {AGAIN}")
    return pixels, labels


def _whole_numbers(values: Any) -> np.ndarray:
    """A list of int as an array; lists within lists, which may be endless, are rejected."""
    if type(values) is not list or not all(type(value) is int for value in values):
        raise pickle.UnpicklingError("its labels are not a list of integers")
    return np.array(values, dtype=np.int64)


def _pool(parts: dict[str, Part], version: Version, place: str) -> Samples:
    last = len(version.classes) - 1
    for file, (_, labels) in parts.items():
        if len(labels) and not (labels.min() >= 0 and labels.max() <= last):
            raise DataError(f"{place}: {file} has a label outside 0 to {last}. {AGAIN}")
    x = np.concatenate([pixels for pixels, _ in parts.values()]).reshape(-1, 3, 32, 32)
    y = np.concatenate([labels for _, labels in parts.values()]).astype(np.int64)
    names = [f"{file.removesuffix('.bin')}-{i:05d}" for file, (rows, _) in parts.items() for i in range(len(rows))]
    notes = note_count(place, version.title, len(x), OFFICIAL)
    return Samples(x, names, y, version.classes, place=place, notes=notes)


class _Batch(_Unpickler):
    """Unpickles only the content of CIFAR files: built-in containers, numbers, strings, one uint8 array.

    The three names that numpy uses to pickle an array are replaced by stand-ins, so that no code of any module runs.
    Keys are words: the hash of tuples within tuples may take forever. State is set of stand-ins only.
    """

    dispatch: ClassVar[dict[int, Any]] = {
        code: load for code, load in _Unpickler.dispatch.items() if bytes([code]) not in UNUSED
    }

    def load_setitem(self) -> None:
        _check_keys(self.stack[-2:-1])
        super().load_setitem()

    def load_setitems(self) -> None:
        _check_keys(self.stack[::2])
        super().load_setitems()

    def load_dict(self) -> None:
        _check_keys(self.stack[::2])
        super().load_dict()

    def load_build(self) -> None:
        if not isinstance(self.stack[-2], _Array | _Dtype):
            raise pickle.UnpicklingError("it sets the state of an unknown object")
        super().load_build()

    dispatch |= {
        pickle.SETITEM[0]: load_setitem,
        pickle.SETITEMS[0]: load_setitems,
        pickle.DICT[0]: load_dict,
        pickle.BUILD[0]: load_build,
    }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in STAND_INS:
            return STAND_INS[module, name]
        raise pickle.UnpicklingError(f"it refers to {module}.{name}, which no official file does")


def _check_keys(keys: Sequence[Any]) -> None:
    if not all(isinstance(key, str | bytes) for key in keys):
        raise pickle.UnpicklingError("it has a key that is not a string")


class _Dtype:
    """Stand-in for numpy.dtype; only uint8 is accepted."""

    def __init__(self, code: bytes | str, *_: Any) -> None:
        if code not in (b"u1", "u1"):
            raise pickle.UnpicklingError(f"it holds an array of type {code!r}, not of bytes")

    def __setstate__(self, state: Any) -> None:
        pass


class _Array:
    """Stand-in for numpy.ndarray with its shape and bytes."""

    values: np.ndarray

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, dtype, fortran, raw = state
        if not isinstance(dtype, _Dtype) or not isinstance(raw, bytes):
            raise pickle.UnpicklingError("it holds an array of an unknown kind")
        self.values = np.frombuffer(raw, dtype=np.uint8).reshape(shape, order="F" if fortran else "C")


STAND_INS: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy.core.multiarray", "_reconstruct"): lambda *_: _Array(),
    ("numpy._core.multiarray", "_reconstruct"): lambda *_: _Array(),
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): lambda text, *_: text.encode("latin1"),  # bytes as Python 3 writes them for Python 2
}
