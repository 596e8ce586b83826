"""Map a function over chunks of many small items, in worker processes if that saves time."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from c3clust.errors import DataError

Item = TypeVar("Item")
Result = TypeVar("Result")

MIN_SECONDS = 4.0  # of work; below, starting processes costs more time than it saves
CHUNK = 64


def requested_cores() -> int | None:
    """n_jobs of `joblib.parallel_config`, as a number of cores that are there; None without one."""
    from joblib import cpu_count, effective_n_jobs
    from joblib.parallel import get_active_backend

    n_jobs = get_active_backend()[1]
    return None if n_jobs is None else min(effective_n_jobs(n_jobs), cpu_count())


def worker_count(workers: int | None) -> int:
    """The given number, or that of `joblib.parallel_config`.

    Else the number of cores that this process may use, divided among those that torchrun started.
    """
    workers = requested_cores() if workers is None else workers
    if workers is not None:
        return max(1, workers)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    processes = os.environ.get("LOCAL_WORLD_SIZE", "1")
    return max(cores // int(processes), 1) if processes.isdecimal() and int(processes) else cores


def map_chunks(
    function: Callable[[Sequence[Item]], Result], items: Sequence[Item], workers: int | None = None
) -> Iterator[Result]:
    """function(chunk) for consecutive chunks of items, in order, with at most two pending results per worker.

    The first chunk is run in this process, and its time decides whether processes are started for the rest. The
    processes of joblib do not need `if __name__ == "__main__"` in the user's script.
    """
    chunks = [items[i : i + CHUNK] for i in range(0, len(items), CHUNK)]
    start = time.perf_counter()
    first = [function(chunk) for chunk in chunks[:1]]
    expected = (time.perf_counter() - start) * len(chunks[1:])
    yield from first
    count = min(worker_count(workers), len(chunks[1:]))
    if count <= 1 or expected < MIN_SECONDS:
        yield from map(function, chunks[1:])
        return
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel, delayed

    pool = Parallel(n_jobs=count, backend="loky", return_as="generator", pre_dispatch="2*n_jobs", batch_size=1)
    try:
        yield from pool(delayed(function)(chunk) for chunk in chunks[1:])
    except BrokenProcessPool as error:
        raise DataError(
            "A worker process died while decoding images, possibly out of memory. Try again with workers=1."
        ) from error
