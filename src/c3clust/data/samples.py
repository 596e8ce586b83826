"""The three types of a dataset: Samples (images or vectors), Texts and Table.

Training, networks and methods work with `Samples` only. `Texts` and `Table` are raw data: an encoder turns them into
`Samples` of feature vectors (`encoders.features`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from c3clust.data.content import find
from c3clust.errors import DataError


@runtime_checkable
class ArrayLike(Protocol):
    """n samples that can be indexed by an array of positions: a numpy array, a memory map, or a stream of files."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype: ...

    def __len__(self) -> int: ...

    def __getitem__(self, index: Any) -> np.ndarray: ...


@dataclass(frozen=True)
class Dataset:
    """The fields that all datasets share. It is not instantiated itself.

    Parameters
    ----------
    x : array-like, one entry per sample
    names : unique names of the samples: the path of the file within its source, or the index.
    y : true labels [n] as integers into `classes`. They are used by metrics only; no method has access to them.
    classes : names of the true classes.
    skipped : (name, reason) of each file that could not be read.
    place : the path or name that the dataset was loaded from.
    content : what the samples show, one of `content.CONTENTS`. It decides the default augmentation.
    notes : sentences about the source for the report of a run.
    memory : the limit in bytes that was given for the samples in memory, if any.
    taken : the part of the source that was read, where it is not all: "column 'vec'".
    left : what of the source was not read, or not clustered: "2 files of kinds that are not read: 2 .txt".
    """

    noun: ClassVar[str]

    x: ArrayLike
    names: Sequence[str]
    y: np.ndarray | None = None
    classes: Sequence[str] | None = None
    skipped: Sequence[tuple[str, str]] = ()
    place: str = ""
    content: str = ""
    notes: Sequence[str] = ()
    memory: int | None = None
    taken: str = ""
    left: Sequence[str] = ()

    @property
    def kind(self) -> str:
        """The entry data.kind of record.json: "image", "vector", "text" or "table"."""
        return self.noun

    def __len__(self) -> int:
        return len(self.x)

    def to_samples(self, x: ArrayLike) -> "Samples":
        """Samples with these x (images or vectors) and the metadata of this dataset."""
        shared = {field.name: getattr(self, field.name) for field in fields(Dataset)}
        return Samples(**shared | {"x": x, "content": ""})


def check_words(dataset: Dataset) -> Dataset:
    """The dataset; DataError if a word of it cannot be written to a file.

    Bytes of a file name that are not UTF-8 can be: Python keeps them as surrogates from U+DC80 to U+DCFF.
    """
    columns = [word for column in getattr(dataset, "columns", ()) for word in (column.name, *(column.levels or ()))]
    texts = dataset.x[:] if isinstance(dataset, Texts) else ()
    parts = {"class": dataset.classes or (), "sample": dataset.names, "column": columns, "text": texts}
    for what, words in parts.items():
        try:
            "\n".join(map(str, words)).encode("utf-8", "strict" if what == "text" else "surrogateescape")
        except UnicodeEncodeError as error:
            bad = f"U+{ord(error.object[error.start]):04X}"
            named = "a text" if what == "text" else f"the name of a {what}"
            where = dataset.place or "The dataset"
            raise DataError(
                f"{where} has {named} with {bad}, which is not a valid character. Write it again."
            ) from None
    return dataset


@dataclass(frozen=True)
class Samples(Dataset):
    """Images x [n, C, H, W], uint8 or float in [0, 1], or feature vectors x [n, F], float.

    content : found from x if it is not given.
    pixel_max : the value of white in the numbers that were read, 1 or 255; None for bytes, files and vectors.
    reread : decodes the same files again at another size, where x has the default size and they are larger.
    """

    noun: ClassVar[str] = "image"
    pixel_max: float | None = None
    reread: Callable[[int], ArrayLike] | None = None

    def __post_init__(self) -> None:
        if not self.content:
            object.__setattr__(self, "content", find(self.x))

    @property
    def kind(self) -> str:
        return "vector" if len(self.x.shape) == 2 else "image"

    def at_least(self, size: int | None) -> "Samples":
        """The samples, decoded again if files were reduced to the default size and `size` is larger."""
        if self.reread is None or size is None or size <= max(self.x.shape[2:]):
            return self
        return replace(self, x=self.reread(size), reread=None)


@dataclass(frozen=True)
class Texts(Dataset):
    """Texts x [n], an object array of str."""

    noun: ClassVar[str] = "text"
    content: str = "text"


@dataclass(frozen=True)
class Column:
    """A column of a table: numbers, or codes into `levels`, its categories. NaN is a missing value."""

    name: str
    levels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Table(Dataset):
    """Rows x [n, C], float64, of a table with C `columns`."""

    noun: ClassVar[str] = "table"
    content: str = "table"
    columns: Sequence[Column] = ()
