"""A short proof of which data a result was made from."""

import hashlib
from dataclasses import replace

import numpy as np

from c3clust.data.io.stream import Stream
from c3clust.data.io.views import Views
from c3clust.data.samples import Samples

__all__ = ["fingerprint"]

WHOLE = 2**30  # bytes up to which every value is hashed
SAMPLE = 64


def fingerprint(images: Samples) -> str:
    """The SHA-256 of shape, dtype and content, as 64 hexadecimal digits. Names, labels and place do not count; the
    names and categories of a table's columns do.

    Every value is hashed up to 1 GiB. Of larger or streamed sets, the names, the files' sizes (if streamed) and 64
    images drawn with a fixed seed stand for the content; such a fingerprint differs from that of the same images in
    memory, and it may miss a change in an image that was not drawn.
    """
    x = images.x
    if isinstance(x, Views):
        return hashlib.sha256("".join(fingerprint(replace(images, x=part)) for part in x.parts).encode()).hexdigest()
    digest = hashlib.sha256(f"{tuple(x.shape)} {x.dtype}".encode())
    if images.kind == "text":
        for text in x[:]:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
        return digest.hexdigest()
    if images.columns is not None:
        digest.update(
            repr([(column.name, column.levels) for column in images.columns]).encode("utf-8", "surrogatepass")
        )
    if isinstance(x, np.ndarray) and x.nbytes <= WHOLE:
        for start in range(0, len(x), 1024):
            digest.update(np.ascontiguousarray(x[start : start + 1024]).data)
        return digest.hexdigest()
    digest.update("\0".join(images.names).encode("utf-8", "surrogatepass"))
    if isinstance(x, Stream):
        digest.update(repr([span.size for span in x.spans]).encode())
    drawn = np.random.default_rng(0).choice(len(x), size=min(SAMPLE, len(x)), replace=False)
    digest.update(np.ascontiguousarray(x[np.sort(drawn)]).data)
    return digest.hexdigest()
