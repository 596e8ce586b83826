"""A hash that identifies the data of a result."""

import hashlib
from dataclasses import replace

import numpy as np

from c3clust.data.io.npy import NpyFile
from c3clust.data.io.originals import Originals
from c3clust.data.io.stream import Stream
from c3clust.data.io.views import Views
from c3clust.data.samples import Dataset, Table, Texts

WHOLE = 2**30  # bytes up to which every value is hashed
SAMPLE = 64


def fingerprint(dataset: Dataset) -> str:
    """SHA-256 of shape, dtype and content (64 hexadecimal digits), and of the columns of a table.

    Names, labels and place are not included. Every value is hashed up to 1 GiB. For larger or streamed data the hash
    covers the names, the file sizes (if streamed) and 64 samples drawn with a fixed seed. It then differs from the hash
    of the same images in memory, and may miss a change in an image that was not drawn.
    """
    x = dataset.x
    if isinstance(x, Originals):
        return fingerprint(replace(dataset, x=x.x))
    if isinstance(x, Views):
        return hashlib.sha256("".join(fingerprint(replace(dataset, x=part)) for part in x.parts).encode()).hexdigest()
    digest = hashlib.sha256(f"{tuple(x.shape)} {x.dtype}".encode())
    if isinstance(dataset, Texts):
        for text in x[:]:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()
    if isinstance(dataset, Table):
        columns = repr([(column.name, column.levels) for column in dataset.columns])
        digest.update(columns.encode("utf-8", "surrogatepass"))
    if isinstance(x, np.ndarray | NpyFile) and x.nbytes <= WHOLE:
        for start in range(0, len(x), 1024):
            digest.update(np.ascontiguousarray(x[start : start + 1024]).data)
        return digest.hexdigest()
    digest.update("\0".join(dataset.names).encode("utf-8", "surrogatepass"))
    if isinstance(x, Stream):
        digest.update(repr([span.size for span in x.spans]).encode())
    drawn = np.random.default_rng(0).choice(len(x), size=min(SAMPLE, len(x)), replace=False)
    digest.update(np.ascontiguousarray(x[np.sort(drawn)]).data)
    return digest.hexdigest()
