"""What training logs, epoch by epoch, for a function of the user: TensorBoard, Weights & Biases, a list.

>>> from c3clust.methods.kmeans import KMeans
>>> from c3clust.training import log_to
>>> with log_to(print):  # k-means has no epochs: nothing is printed
...     labels = KMeans(2).fit_predict([[0.0], [0.1], [1.0], [1.1]])

`fit(X, log=print)` is the same for one fit.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from c3clust import dist

__all__ = ["Log", "log_epoch", "log_to"]

Log = Callable[[dict[str, Any]], object]
LOGS: ContextVar[tuple[Log, ...]] = ContextVar("LOGS", default=())


@contextmanager
def log_to(log: Log) -> Iterator[None]:
    """Within this block, call `log` after each epoch of every fit, in the first process only.

    It is given a dict: "stage", the name of the stage, "epoch", from 1, and the last entry of each curve of the stage
    (`stages_`): "loss", further losses, "learning_rate", "seconds", "cluster_sizes", ... There are no labels in it.
    """
    token = LOGS.set((*LOGS.get(), log))
    try:
        yield
    finally:
        LOGS.reset(token)


def log_epoch(stage: str, epoch: int, curves: Mapping[str, list[Any]]) -> None:
    """Give the last entries of the curves to every log."""
    if LOGS.get() and dist.rank() == 0:
        for log in LOGS.get():
            log({"stage": stage, "epoch": epoch, **{name: curve[-1] for name, curve in curves.items() if curve}})
