"""Batches of samples, from memory or from a stream."""

from collections.abc import Iterable, Iterator

import numpy as np

from c3clust.data.samples import ArrayLike


def batches(x: ArrayLike, index_batches: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """x[index] for each array of positions. A stream decodes the next batches in the background.

    >>> import numpy as np
    >>> [batch.tolist() for batch in batches(np.array([10, 20, 30]), [np.array([2, 0]), np.array([1])])]
    [[30, 10], [20]]
    """
    prefetch = getattr(x, "prefetch", None)
    if prefetch is not None:
        yield from prefetch(index_batches)
        return
    for index in index_batches:
        yield np.asarray(x[index])
