"""Images that do not fit in memory, decoded on each access."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from c3clust.data.io.decode import decode
from c3clust.data.io.row_groups import HELD
from c3clust.data.io.spans import Span, Spool, Unreadable, read_span
from c3clust.data.io.workers import worker_count
from c3clust.errors import DataError

AHEAD = 4  # batches decoded in advance, if the memory limit allows


class Stream:
    """n encoded images that are indexed like a uint8 array [n, C, S, S].

    `stream[index]` decodes the images on access. `stream.prefetch(batches)` decodes the next batches in threads while
    the current one is in use (the decoders release the GIL).

    Memory: with batches of N images, at most (ahead + 2) · N · C · S² bytes of decoded images, where ahead is 4 or
    less if the limit `memory` requires it, at least 1; plus one encoded and one full-size image per worker thread.
    Neither depends on n. Names and spans take about 500 bytes per image.
    """

    def __init__(
        self,
        spans: Sequence[Span],
        names: Sequence[str],
        channels: int,
        size: int,
        workers: int | None = None,
        memory: int | None = None,
        spool: Spool | None = None,
    ) -> None:
        self.spans, self.names = spans, names
        self.shape: tuple[int, ...] = (len(spans), channels, size, size)
        self.dtype = np.dtype(np.uint8)
        self.spool = spool  # a reference, so that the temporary file is not deleted
        self._workers, self._memory = worker_count(workers), memory

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Stream(shape={self.shape}, dtype=uint8)"

    def __getstate__(self) -> dict[str, Any]:
        """Copies in other processes do not own the spool; the original keeps it alive."""
        return {**self.__dict__, "spool": None}

    def __getitem__(self, index: Any) -> np.ndarray:
        """One image [C, S, S] for an integer, several [k, C, S, S] for a slice, a mask or an array of positions."""
        chosen = np.arange(len(self))[index]
        pixels = next(self.prefetch([np.atleast_1d(chosen)]))
        return pixels if chosen.ndim else pixels[0]

    @property
    def shards(self) -> list[range]:
        """The positions of the images of each file, where files hold several: archives, and row groups of Parquet."""
        places = [(span.path, span.chunk) for span in self.spans]
        starts = [i for i in range(len(places)) if i == 0 or places[i] != places[i - 1]]
        return [range(i, j) for i, j in zip(starts, [*starts[1:], len(places)], strict=True)]

    @property
    def together(self) -> int | None:
        """How many images may be read in any order at the cost of reading along; None if all of them.

        Those of a row group of Parquet are read together, and so many row groups stay in memory.
        """
        sizes = [span.size for span in self.spans if span.chunk is not None]
        return max(HELD // 2 * len(sizes) // max(sum(sizes), 1), 1) if sizes else None

    def subset(self, index: np.ndarray) -> "Stream":
        spans, names = [self.spans[i] for i in index], [self.names[i] for i in index]
        return Stream(spans, names, self.shape[1], self.shape[2], self._workers, self._memory, self.spool)

    def prefetch(self, batches: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
        """The images of each batch of positions, in order; the next batches are decoded in the background."""
        waiting: deque[tuple[np.ndarray, list[Future[None]]]] = deque()
        with ThreadPoolExecutor(self._workers, thread_name_prefix="c3clust-decode") as pool:
            try:
                for batch in batches:
                    waiting.append(self._start(pool, np.asarray(batch)))
                    if len(waiting) > self._ahead(len(batch)):
                        yield _finish(*waiting.popleft())
                while waiting:
                    yield _finish(*waiting.popleft())
            finally:
                for job in (job for _, jobs in waiting for job in jobs):
                    job.cancel()

    def _ahead(self, batch: int) -> int:
        """Number of batches of this length that may be decoded in advance."""
        if self._memory is None:
            return AHEAD
        return int(np.clip(self._memory // (max(batch, 1) * int(np.prod(self.shape[1:]))) - 2, 1, AHEAD))

    def _start(self, pool: ThreadPoolExecutor, batch: np.ndarray) -> tuple[np.ndarray, list[Future[None]]]:
        """Split the batch among the threads, which write to one array."""
        pixels = np.empty((len(batch), *self.shape[1:]), dtype=np.uint8)

        def fill(rows: np.ndarray) -> None:
            for row in rows:
                pixels[row] = self._decode(int(batch[row]))

        parts = np.array_split(np.arange(len(batch)), self._workers)
        return pixels, [pool.submit(fill, part) for part in parts if len(part)]

    def _decode(self, i: int) -> np.ndarray:
        try:
            return self._pixels(i)
        except Unreadable as error:
            raise DataError(
                f"{self.names[i]} was readable when the run started and is not readable now ({error}). "
                "Do not change the source while it is in use."
            ) from error

    def _pixels(self, i: int) -> np.ndarray:
        return decode(read_span(self.spans[i]), self.shape[2])[: self.shape[1]]


def _finish(pixels: np.ndarray, jobs: list[Future[None]]) -> np.ndarray:
    for job in jobs:
        job.result()
    return pixels


def in_blocks(line: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """The line, shuffled within blocks of this size.

    >>> [sorted(block) for block in in_blocks(np.arange(6), 3, np.random.default_rng(0)).reshape(2, 3).tolist()]
    [[0, 1, 2], [3, 4, 5]]
    """
    blocks = [random.permutation(line[i : i + size]) for i in range(0, len(line), size)]
    return np.concatenate(blocks) if blocks else line
