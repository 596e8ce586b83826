"""The cases of the study `folders`: small and uneven parts of public data, written to disk as people have them.

A case is a folder with one sub-folder per class, a CSV file with a column `label`, or an .npz file with x and y. Labels
are used for scores only. Each case is written once, whole or not at all.
"""

import csv
import os
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import sklearn.datasets

from c3clust import data
from c3clust.errors import InputError

PHOTOS, DOGS, TINY = "photos-subset.tar", "dogs-subset.tar", "tiny-imagenet-subset.tar"
TEXTS, MNIST = "banking77.csv", "mnist/train-images-idx3-ubyte"
ARCHIVES = (PHOTOS, DOGS, TINY, TEXTS, MNIST)
DRAWS = 3  # of MNIST's long tail


@dataclass(frozen=True)
class Case:
    """A name, the function that writes the case to a path, and what the jobs on it have in common."""

    name: str
    n_clusters: int
    write: Callable[[Path], None]
    suffix: str = ""  # of the path; a folder has none
    params: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)  # of data.load
    features: bool = True  # clustered as feature vectors, not from scratch

    def place(self, folder: Path) -> str:
        """The absolute path of the case in `folder`, where it is written if it is missing."""
        path = folder.absolute() / f"{self.name}{self.suffix}"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent, prefix=".writing-") as writing:
                self.write(Path(writing) / path.name)
                os.rename(Path(writing) / path.name, path)
        return str(path)


def tail(classes: int, most: int, ratio: float) -> list[int]:
    """Sizes of a long tail, from `most` down to most / ratio.

    >>> tail(3, 100, 10)
    [100, 32, 10]
    """
    return [round(most * ratio ** (-c / (classes - 1))) for c in range(classes)]


def find_cases(source: str) -> list[Case]:
    """The built-in cases; if `source` is a folder, also those made from the archives found in it."""
    folder = Path(source)
    if not folder.is_dir():
        if data.is_name(source):
            return list(_built_in())
        raise InputError(f"--data {source} is not a folder. Give one that holds some of {', '.join(ARCHIVES)}.")
    found = {name: path for name in ARCHIVES for path in (folder / name, folder / f"{name}.gz") if path.is_file()}
    if not found:
        raise InputError(f"{source} holds none of {', '.join(ARCHIVES)}. Give a folder with one of them, or no --data.")
    return [*_built_in(), *_from_archives(found)]


def _built_in() -> Iterator[Case]:
    sizes = tail(10, 174, 10)
    yield Case("digits", 10, partial(write_digits, sizes=None), ".npz", features=False)
    yield Case("digits-tail", 10, partial(write_digits, sizes=sizes), ".npz", features=False)
    yield Case("wine", 3, partial(write_table, load=sklearn.datasets.load_wine), ".csv")
    yield Case("cancer", 2, partial(write_table, load=sklearn.datasets.load_breast_cancer), ".csv")


def _from_archives(found: dict[str, Path]) -> Iterator[Case]:
    photos = {
        "photos-2x50": (PHOTOS, [50] * 2), "photos-4x30": (PHOTOS, [30] * 4), "photos-10x25": (PHOTOS, [25] * 10),
        "photos-10x50": (PHOTOS, [50] * 10), "photos-tail": (PHOTOS, tail(10, 50, 10)),
        "dogs-10x100": (DOGS, [100] * 10), "dogs-tail": (DOGS, tail(10, 100, 10)),
        "tiny-20x100": (TINY, [100] * 20), "tiny-tail": (TINY, tail(20, 200, 50)),
    }  # fmt: skip
    for name, (archive, sizes) in photos.items():
        if archive in found:
            write = partial(write_photos, archive=found[archive], sizes=sizes)
            yield Case(name, len(sizes), write, "", {"encoder": "efficientnet-lite0"}, {"labels": "folders"})
    if TEXTS in found:
        for name, sizes in {"texts-20": [100] * 20, "texts-tail": tail(20, 150, 10), "texts-77": [100] * 77}.items():
            write = partial(write_texts, table=found[TEXTS], sizes=sizes)
            yield Case(name, len(sizes), write, ".csv", options={"columns": ["text"], "kind": "text"})
    for draw in range(DRAWS if MNIST in found else 0):
        write = partial(write_mnist, images=found[MNIST], draw=draw)
        yield Case(f"mnist-tail-{draw}", 10, write, ".npz", {"image_size": 20}, features=False)


def write_photos(path: Path, archive: Path, sizes: Sequence[int]) -> None:
    """The first sizes[c] pictures of the c-th folder of the archive, in path/c."""
    with tarfile.open(archive) as tar:
        members = [m for m in tar.getmembers() if m.isfile() and m.name.lower().endswith((".jpg", ".jpeg"))]
        folders = sorted({PurePosixPath(m.name).parent for m in members})[: len(sizes)]
        code, seen = {folder: c for c, folder in enumerate(folders)}, Counter[int]()
        for member in sorted(members, key=lambda m: m.name):
            c = code.get(PurePosixPath(member.name).parent)
            if c is not None and seen[c] < sizes[c]:
                target = path / f"{c:03d}" / f"{seen[c]:04d}.jpg"
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(tar.extractfile(member).read())  # type: ignore[union-attr]
                seen[c] += 1


def write_texts(path: Path, table: Path, sizes: Sequence[int]) -> None:
    """The first sizes[c] texts of class c, in the table's order."""
    with table.open(newline="", encoding="utf-8") as file:
        rows = [(" ".join(row["text"].split()), int(row["label"])) for row in csv.DictReader(file)]
    chosen = first_of_classes(np.array([label for _, label in rows]), sizes)
    _write_csv(path, ["text", "label"], [rows[i] for i in chosen])


def write_digits(path: Path, sizes: Sequence[int] | None) -> None:
    digits = sklearn.datasets.load_digits()
    chosen = slice(None) if sizes is None else first_of_classes(digits.target, sizes)
    np.savez(path, x=(digits.images[chosen] / 16).astype(np.float32), y=digits.target[chosen])


def write_table(path: Path, load: Callable[[], Any]) -> None:
    table = load()
    header = [*(f"c{j}" for j in range(table.data.shape[1])), "label"]
    _write_csv(path, header, [[*x, y] for x, y in zip(table.data.tolist(), table.target.tolist(), strict=True)])


def write_mnist(path: Path, images: Path, draw: int) -> None:
    """A long tail 10:1 of MNIST's training images; in other draws than 0 other classes are rare."""
    samples, random, sizes = data.load(images), np.random.RandomState(draw), tail(10, 900, 10)
    sizes = random.permutation(sizes).tolist() if draw else sizes
    y = np.asarray(samples.y)
    of_class = [random.permutation(np.flatnonzero(y == c))[:size] for c, size in enumerate(sizes)]
    chosen = np.sort(np.concatenate(of_class))
    np.savez(path, x=samples.x[chosen], y=y[chosen])


def first_of_classes(y: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Positions of the first sizes[c] samples of each class c, in order; other classes are left out.

    >>> first_of_classes(np.array([1, 0, 0, 1, 2]), [1, 2])
    array([0, 1, 3])
    """
    return np.sort(np.concatenate([np.flatnonzero(y == c)[:size] for c, size in enumerate(sizes)]))


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
