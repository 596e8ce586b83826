"""MNIST and its family: idx files, compressed or not, in one folder. Train and test images are pooled."""

import gzip
import re
import struct
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np

from c3clust.data.samples import Samples
from c3clust.data.source import Claim, Options, PublicDataset, note_count
from c3clust.errors import DataError

PARTS = ("train", "t10k")
NAMES = ", ".join(f"{part}-{kind}-ubyte" for part in PARTS for kind in ("images-idx3", "labels-idx1"))
LAYOUT = f"{NAMES}, each .gz or not"
MIRROR = "https://ossci-datasets.s3.amazonaws.com/mnist"
FILES = "{train,t10k}-{images-idx3,labels-idx1}-ubyte.gz"

DATASETS = (
    PublicDataset(
        name="mnist",
        what="MNIST, handwritten digits: 70,000 images, 28 × 28, grey, 10 classes",
        patterns=("mnist", "MNIST/raw", "MNIST"),
        layout=f"a folder mnist with {LAYOUT}",
        address="http://yann.lecun.com/exdb/mnist/",
        fetch=f'curl -fL --create-dirs --output-dir ~/.cache/c3clust/mnist --remote-name-all "{MIRROR}/{FILES}"',
    ),
    PublicDataset(
        name="fashion-mnist",
        what="Fashion-MNIST, articles of clothing: 70,000 images, 28 × 28, grey, 10 classes",
        patterns=("fashion-mnist", "FashionMNIST/raw", "fashion_mnist", "fashion"),
        system=("/usr/share/datasets/fashion-mnist",),
        layout=f"a folder fashion-mnist with {LAYOUT}",
        address="https://github.com/zalandoresearch/fashion-mnist",
        fetch="sudo apt-get install dataset-fashion-mnist",
        aliases=("fashion",),
    ),
)
OFFICIAL = 70_000
TITLES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}
FASHION = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")
IMAGES = re.compile(r"(train|t10k)-images[.-]idx3-ubyte(\.gz)?")
MAX_BYTES = 4 * 2**30
BLOCK = 2**24


def claims(path: Path) -> Claim:
    """A folder with idx images of MNIST's names, or one such file."""
    if path.is_file():
        return Claim.LAYOUT if IMAGES.fullmatch(path.name) else Claim.NO
    return Claim.LAYOUT if path.is_dir() and any(_file(path, part, "images") for part in PARTS) else Claim.NO


def read(path: Path, options: Options, name: str | None = None) -> Samples:
    """All images of the folder; a dataset requested by name must have its four files."""
    match = IMAGES.fullmatch(path.name) if path.is_file() else None
    folder, wanted = (path.parent, [match[1]]) if match else (path, PARTS)
    found = [(part, *xy) for part in wanted if (xy := _read_part(folder, part, whole=name is not None))]
    if len({x.shape[1:] for _, x, _ in found}) > 1:
        raise DataError(f"{folder} has train and test images of different sizes. Put them in two folders.")
    x = np.concatenate([x for _, x, _ in found])[:, None]  # [n, 1, H, W]
    names = [f"{part}-{i:05d}" for part, rows, _ in found for i in range(len(rows))]
    labels = [y for _, _, y in found if y is not None]
    y = np.concatenate(labels).astype(np.int64) if len(labels) == len(found) else None
    notes = note_count(str(path), TITLES[name], len(x), OFFICIAL) if name else ()
    fashion = name == "fashion-mnist" or (name is None and "fashion" in str(path.resolve()).lower())
    classes = (FASHION if fashion else tuple("0123456789")) if y is not None else None
    return Samples(x, names, y, classes, place=str(path), notes=notes)


def read_idx(path: Path) -> np.ndarray:
    """The uint8 array of one idx file: two zero bytes, type 8, number of axes, their lengths, the values."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            return _values(file, path)  # type: ignore[arg-type]
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is damaged or truncated ({error}). Download it again.") from error


def _values(file: BinaryIO, path: Path) -> np.ndarray:
    head = file.read(4)
    if len(head) < 4 or head[:3] != b"\0\0\x08" or head[3] not in (1, 3):
        raise DataError(
            f"{path} is not an idx file of bytes: it begins with {head.hex() or 'nothing'}. Download it again."
        )
    shape = struct.unpack(f">{head[3]}I", file.read(4 * head[3]).ljust(4 * head[3], b"\0"))
    expected = int(np.prod(shape, dtype=object))
    if expected > MAX_BYTES:
        raise DataError(f"{path} claims {expected:,} bytes of values, more than the limit of {MAX_BYTES:,}.")
    data = bytearray()
    while len(data) <= expected and (block := file.read(min(BLOCK, expected + 1 - len(data)))):
        data += block
    if len(data) != expected:
        more = "more" if len(data) > expected else f"{len(data):,}"
        raise DataError(f"{path} should contain {expected:,} bytes of values and contains {more}. Download it again.")
    return np.frombuffer(data, dtype=np.uint8).reshape(shape)


def _read_part(folder: Path, part: str, whole: bool) -> tuple[np.ndarray, np.ndarray | None] | None:
    """x [n, H, W], and y [n] or None; None if the part is missing, which is an error with `whole`."""
    images, labels = _file(folder, part, "images"), _file(folder, part, "labels")
    if whole and (images is None or labels is None):
        kind = "images-idx3" if images is None else "labels-idx1"
        raise DataError(f"{folder} lacks {part}-{kind}-ubyte or its .gz. Expected: {LAYOUT}.")
    if images is None:
        return None
    x = read_idx(images)
    y = read_idx(labels) if labels else None
    if x.ndim != 3 or 0 in x.shape:
        raise DataError(f"{images} contains values of shape {x.shape}: images must be [n, H, W].")
    if y is not None and y.shape != (len(x),):
        raise DataError(f"{labels} contains {y.size:,} labels for {len(x):,} images. Download both files again.")
    if y is not None and y.max(initial=0) > 9:
        raise DataError(f"{labels} contains the label {y.max()}: MNIST's classes are 0 to 9. Download it again.")
    return x, y


def _file(folder: Path, part: str, kind: str) -> Path | None:
    axes = {"images": "idx3", "labels": "idx1"}[kind]
    names = (f"{part}-{kind}{sign}{axes}-ubyte{end}" for sign in "-." for end in ("", ".gz"))
    return next((folder / name for name in names if (folder / name).is_file()), None)
