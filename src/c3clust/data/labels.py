"""True labels from a separate file, for scores only: .npy with one label per sample, or CSV."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.data.io.cells import LABELS, find_column, read_cells, words
from c3clust.data.samples import Dataset
from c3clust.data.sources.arrays import label_codes
from c3clust.errors import DataError, InputError, first_line
from c3clust.files.atomic import expanded

__all__ = ["with_label_file"]

NAMES = ("name", "path", "file", "file_name", "filename", "id", "image")


def with_label_file(dataset: Dataset, file: str | Path) -> Dataset:
    """The dataset with the labels of a file. With a column of names they are matched by name, else by position."""
    path = expanded(file)
    if not path.is_file():
        raise InputError(f'labels={str(file)!r} is neither "folders" nor a .npy or .csv file that exists.')
    values = _array(path) if path.suffix.lower() == ".npy" else _table(path, dataset)
    if len(values) != len(dataset):
        raise InputError(
            f"{path} has {len(values):,} labels and {dataset.place or 'the dataset'} {len(dataset):,} samples: give "
            "one label per sample in the same order, or a CSV file with the columns name and label."
        )
    y, classes = label_codes(values, len(dataset), str(path))
    return replace(dataset, y=y, classes=classes)


def _array(path: Path) -> Any:
    try:
        values = np.load(path, allow_pickle=False)
    except Exception as error:  # numpy raises almost anything on hostile bytes
        raise DataError(
            f"{path} cannot be read as a numpy file: {first_line(error)}. Save it with numpy.save."
        ) from error
    if values.ndim != 1:
        raise DataError(f"{path} has shape {values.shape}: labels must have shape [n], one number or word per sample.")
    return values.tolist()


def _table(path: Path, dataset: Dataset) -> list[str]:
    """The label of each sample: matched by the column of names, or the only column in the order of its rows."""
    cells = read_cells(path)
    label, name = find_column(list(cells), LABELS), find_column(list(cells), NAMES)
    if label is None and len(cells) == 1:
        label = next(iter(cells))
    values = None if label is None else words(cells[label])
    if values is None or any(value is None for value in values):
        raise DataError(
            f"{path} needs a column label without empty cells, and a column name or the order of the samples."
        )
    if name is None:
        return [str(value) for value in values]
    known = dict(zip((str(cell) for cell in cells[name]), values, strict=True))
    missing = [each for each in dataset.names if each not in known]
    if missing:
        raise DataError(
            f"{path} has no label for {len(missing):,} of {len(dataset):,} samples, the first is {missing[0]!r}."
        )
    return [str(known[each]) for each in dataset.names]
