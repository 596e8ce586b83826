"""The number of cores of `fit` and `predict`: that of `joblib.parallel_config(n_jobs=...)`, as scikit-learn reads it.

No method has a parameter for it: it changes the speed, not the result, and belongs to the computer, not to the model.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import torch
from threadpoolctl import threadpool_limits

from c3clust.data.io.workers import requested_cores

__all__ = ["cores", "on_requested_cores", "one_by_one"]

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def cores() -> Iterator[None]:
    """At most so many threads of torch, BLAS and OpenMP as joblib's context asks for; without one, as they are set."""
    count = requested_cores()
    if count is None:
        yield
        return
    before = torch.get_num_threads()
    with threadpool_limits(count):
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def on_requested_cores(method: Callable[P, T]) -> Callable[P, T]:
    """The method, run within `cores`."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with cores():
            return method(*args, **kwargs)

    return call


def one_by_one(items: Iterable[T]) -> Iterator[T]:
    """The items, each of which is computed within `cores`; what is done with them is not."""
    iterator, end = iter(items), object()
    while True:
        with cores():
            item = next(iterator, end)
        if item is end:
            return
        yield item  # type: ignore[misc]
