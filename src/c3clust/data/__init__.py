"""Datasets: `load` reads a path, a named dataset or an array, and returns Samples, Texts or a Table.

>>> from c3clust import data
>>> data.load("digits").x.shape
(1797, 1, 8, 8)
"""

from c3clust.data.fingerprint import fingerprint
from c3clust.data.io.batches import batches
from c3clust.data.loading import describe, is_name, load, load_listed, names
from c3clust.data.places import DatasetInfo
from c3clust.data.samples import ArrayLike, Column, Dataset, Samples, Table, Texts
from c3clust.data.sources.arrays import check_whole_numbers, from_dlpack
from c3clust.data.sources.loose import are_pictures
from c3clust.data.sources.table import has_gaps_or_words, is_frame
from c3clust.data.sources.texts import are_texts

__all__ = [
    "ArrayLike", "Column", "Dataset", "DatasetInfo", "Samples", "Table", "Texts", "are_pictures", "are_texts",
    "batches", "check_whole_numbers", "describe", "fingerprint", "from_dlpack", "has_gaps_or_words", "is_frame",
    "is_name", "load", "load_listed", "names",
]  # fmt: skip
