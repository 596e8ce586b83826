"""The progress bar: stage, epoch, loss, images per second, time left. Only with verbose=True, and on
a terminal or in a notebook.

Elsewhere, one line says how long training takes (training/forecast.py).
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from c3clust import dist
from c3clust.files.text import duration

__all__ = ["Bar", "bar", "counter"]

log = logging.getLogger("c3clust")


class Bar(Protocol):
    """What the training loop calls: `step` after each step, `epoch` after each epoch."""

    def step(self, images: int) -> None: ...

    def epoch(self, loss: float) -> None: ...


class _Silent:
    def step(self, images: int) -> None:
        pass

    def epoch(self, loss: float) -> None:
        pass


class _Rich:
    def __init__(self, progress: Progress, name: str, epochs: int, steps: int, done: int) -> None:
        self.progress, self.steps = progress, steps
        self.task = progress.add_task(name.upper(), total=epochs, completed=done, loss="", rate="", whole="")

    def step(self, images: int) -> None:
        self.progress.advance(self.task, 1 / self.steps)
        speed = self.progress.tasks[self.task].speed
        if speed:
            self.progress.update(self.task, rate=f"{speed * self.steps * images:,.0f} images/s")

    def epoch(self, loss: float) -> None:
        self.progress.update(self.task, loss=f"loss {loss:.3f}")


class _Timed:
    """A progress bar that also measures the time per step, and estimates the time of all stages."""

    def __init__(self, inner: Any, forecast: Any) -> None:
        self.inner, self.forecast = inner, forecast
        forecast.ready()

    def step(self, images: int) -> None:
        self.forecast.step()
        self.inner.step(images)
        if news := self.forecast.news():
            log.warning("%s", news)
        if isinstance(self.inner, _Rich) and (left := self.forecast.left) is not None:
            self.inner.progress.update(self.inner.task, whole=f"all stages {duration(left)} left")

    def epoch(self, loss: float) -> None:
        self.forecast.epoch()
        self.inner.epoch(loss)


class _Whole(MofNCompleteColumn):
    def render(self, task):
        return f"epoch {int(task.completed + 1e-6)}/{int(task.total or 0)}"


@contextmanager
def bar(name: str, epochs: int, steps: int, verbose: bool, done: int, forecast: Any) -> Iterator[Bar]:
    """A bar for one stage on standard error, shown on a terminal only and by the first process only."""
    console = Console(stderr=True)
    if not (verbose and dist.rank() == 0):
        yield _Silent()
        return
    if not (console.is_terminal or console.is_jupyter):
        yield _Timed(_Silent(), forecast)
        return
    columns = (
        TextColumn("{task.description:>4}"), BarColumn(), _Whole(), TextColumn("{task.fields[loss]}"),
        TextColumn("{task.fields[rate]}"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
        TextColumn("{task.fields[whole]}"),
    )  # fmt: skip
    with Progress(*columns, console=console) as progress:
        yield _Timed(_Rich(progress, name, epochs, steps, done), forecast)


@contextmanager
def counter(name: str, total: int, verbose: bool) -> Iterator[Callable[[int], None]]:
    """A bar for work that is counted: call the returned function with the number of items done since the last call."""
    console = Console(stderr=True)
    if not (verbose and console.is_terminal and dist.rank() == 0):
        yield lambda done: None
        return
    with Progress(console=console) as progress:
        task = progress.add_task(name.upper(), total=total)
        yield lambda done: progress.advance(task, done)
