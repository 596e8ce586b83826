"""Copies among the samples, found before clustering: exact ones by a hash, near ones by features.

    images     exact: the same pixels (of streamed files: the same bytes); near: photographs, see pictures.py
    texts      exact: the same words, whatever their case and punctuation; near: neighbours by the features of the
               encoder that share nine of ten words
    vectors    of more than 64 features, which are embeddings: see nearest.py
    tables     none: rows with the same values are different samples

No labels and no cluster are involved. Several processes share the work: hashes and small images by samples,
neighbours by rows, pairs by blocks.
"""

import hashlib
import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from c3clust import dist
from c3clust.data import Dataset, Samples, Texts, batches
from c3clust.data.content import is_detailed
from c3clust.data.duplicates.nearest import near_vectors, nearest
from c3clust.data.duplicates.pictures import near_pictures
from c3clust.data.io.spans import read_span
from c3clust.data.io.stream import Stream
from c3clust.data.io.subset import subset
from c3clust.records.duplicates import Duplicates

__all__ = ["find"]

MOST = 50_000  # samples among which near copies are looked for; beyond, only exact ones
NARROW = 64  # features: vectors up to here are columns of a table
SHARED = 0.9  # of the words of two texts
CHUNK = 256
WORD = "copy|kopie|copie|copia"
COPY = re.compile(  # of a name without extension
    rf"(?i).\s\((\d+|[\w ]*({WORD}))\)$"  # IMG (1), IMG (another copy)
    rf"|.[\s_-]+({WORD})(\s*\(?\d+\)?)?$"  # IMG copy 2, IMG - Kopie
    rf"|^({WORD})(\s\(\d+\))?\s(of|von|de|di)\s."  # Copy of IMG
)


def find(dataset: Dataset, features: Any = None) -> Duplicates:
    """The copies of a dataset. features: its samples as an encoder made them, [n, F], if there is one."""
    n, keys = len(dataset), _keys(dataset)
    if keys is None or n < 2:
        return Duplicates.none(n)
    first: dict[bytes, int] = {}
    original = np.array([first.setdefault(key, i) for i, key in enumerate(keys)])
    distinct = np.flatnonzero(original == np.arange(n))
    pairs, similarity = np.empty((0, 2), int), np.empty(0)
    if 1 < len(distinct) <= MOST:
        pairs, similarity = _near(dataset, features, distinct)
    named = np.array([is_copy_name(name) for name in dataset.names])
    return Duplicates.of(original, distinct[pairs], similarity, named)


def is_copy_name(name: str) -> bool:
    """Whether a file is called as file managers call copies.

    >>> [is_copy_name(name) for name in ("a/IMG (1).JPG", "IMG copy 2.jpg", "IMG - Kopie.jpg", "IMG.jpg", "copy.jpg")]
    [True, True, True, False, False]
    >>> [is_copy_name(name) for name in ("a/Copy of IMG.jpg", "Kopie von 1.png", "1 (copy).jpg", "Copy of.jpg")]
    [True, True, True, False]
    """
    return COPY.search(PurePosixPath(name).stem) is not None


def _keys(dataset: Dataset) -> list[bytes] | None:
    """Equal for exact copies; None for a dataset in which equal samples are not copies."""
    x = dataset.x
    if isinstance(dataset, Texts):
        return [(" ".join(_words(text)) or text).encode("utf-8", "surrogatepass") for text in x[:]]
    if not isinstance(dataset, Samples) or (len(x.shape) == 2 and x.shape[1] <= NARROW):
        return None
    part = dist.part(len(x), CHUNK)
    if isinstance(x, Stream):
        own = [hashlib.sha256(read_span(x.spans[i])).digest() for i in part]
    else:
        index = [np.arange(i, min(i + CHUNK, part.stop)) for i in part[::CHUNK]]
        own = [hashlib.sha256(np.ascontiguousarray(row).data).digest() for rows in batches(x, index) for row in rows]
    hashes = np.frombuffer(b"".join(own), np.uint8).reshape(-1, 32)
    return [row.tobytes() for row in dist.gather_arrays(hashes, len(x), CHUNK)]


def _near(dataset: Dataset, features: Any, distinct: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs [P, 2] of positions in `distinct` that are near copies, and their similarity [P]."""
    rows = None if features is None else np.asarray(features[distinct], dtype=np.float32)
    if isinstance(dataset, Texts):
        return _near_texts(dataset.x[distinct], rows)
    if len(dataset.x.shape) == 2:
        return near_vectors(np.asarray(dataset.x[distinct]))
    if not is_detailed(dataset.content, dataset.x.shape):  # small images share details by chance
        return np.empty((0, 2), int), np.empty(0)
    return near_pictures(subset(dataset.x, distinct), rows)


def _near_texts(texts: np.ndarray, features: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    if features is None:
        return np.empty((0, 2), int), np.empty(0)
    k, bags = min(3, len(texts) - 1), [Counter(_words(text)) for text in texts]
    near, _ = nearest(features, k)
    pairs = np.unique(np.sort(np.stack([np.repeat(np.arange(len(texts)), k), near.ravel()], axis=1), axis=1), axis=0)
    shared = np.array([(bags[i] & bags[j]).total() / max((bags[i] | bags[j]).total(), 1) for i, j in pairs])
    return pairs[shared >= SHARED], shared[shared >= SHARED]


def _words(text: str) -> list[str]:
    """The words of a text, without case and punctuation.

    >>> _words("Hello,  WORLD!")
    ['hello', 'world']
    """
    return re.findall(r"\w+", text.casefold())
