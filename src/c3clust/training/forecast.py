"""How long a fit takes, across its stages, from the steps that were timed. It changes no result."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from c3clust.data.content import is_detailed
from c3clust.files.text import duration

__all__ = ["Forecast", "faster_way"]

FIRST = 8  # steps of a stage, or an epoch, that are timed before something is said: the first two load code
RECENT = 50  # steps whose median counts
SHORT = 30  # seconds: less is not worth a line
LONG = 600  # seconds from which a faster way is named
ALONE = 0.8  # ratio of CPU time to wall-clock time below which other programs slow down training


@dataclass
class Forecast:
    """The stages that a fit will train, and a faster way, if there is one; on_cpu: whether the CPU does the work.

    The training loop calls `begin`, `ready`, `step` and `epoch`. An epoch of a later stage is assumed to take as long
    as one of the stage that is trained now.
    """

    stages: Sequence[Any] = ()
    faster: str | None = None
    on_cpu: bool = False
    _number: int = 0
    _epochs: int = 0  # that are left of this stage
    _steps: int = 1
    _step: int = 0
    _evaluation: float = 0.0
    _last: float = 0.0
    _recent: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))
    _used: float = 0.0
    _computed: deque[float] = field(default_factory=lambda: deque(maxlen=RECENT))  # CPU time of the same steps
    _told: int = -1

    @classmethod
    def of(cls, stages: Sequence[Any], context: Any, content: str) -> "Forecast":
        """Of the stages of a fit; on a CPU with the faster way, if there is one."""
        on_cpu = context.device.type == "cpu"
        return cls(stages, faster_way(context.shape, content) if on_cpu else None, on_cpu)

    def begin(self, number: int, epochs: int, steps: int) -> None:
        """A stage begins, with this many epochs to go; the next is an evaluation of all samples."""
        self._number, self._epochs, self._steps, self._step = number, epochs, max(steps, 1), 0
        self._last, self._used, self._evaluation = time.perf_counter(), time.process_time(), 0.0
        self._recent.clear()
        self._computed.clear()

    def ready(self) -> None:
        """The first step follows."""
        self._evaluation = self._lap()

    def step(self) -> None:
        before = self._used
        self._recent.append(self._lap())
        self._computed.append(self._used - before)
        self._step += 1

    def epoch(self) -> None:
        """The samples were evaluated after the last step of an epoch."""
        self._evaluation, self._step, self._epochs = self._lap(), 0, self._epochs - 1

    @property
    def left(self) -> float | None:
        """Seconds until all stages are trained; None before enough steps were timed."""
        if len(self._recent) < min(FIRST, self._steps):
            return None
        train = median(self._recent) * self._steps
        epoch = train + min(self._evaluation, train / 2)  # the first evaluation of a process also loads code
        later = sum(stage.epochs for stage in self.stages[self._number + 1 :])
        return epoch * (max(self._epochs, 0) + later) - median(self._recent) * self._step

    @property
    def alone(self) -> float:
        """The fraction of the time that would be enough if no other program used the processor."""
        wall = median(self._recent)
        share = median(self._computed) / wall if self.on_cpu and wall else 1.0
        return share if share < ALONE else 1.0

    def news(self) -> str | None:
        """The message to print now: once per stage, if it takes long enough."""
        left = self.left
        if left is None or self._told >= self._number:
            return None
        first, self._told = self._told < 0, self._number
        if left < SHORT:
            return None
        several = [f"{stage.name} {stage.epochs}" for stage in self.stages[self._number :]]
        plan = f" (epochs: {', '.join(several)})" if first and several else ""
        least = left * self.alone
        faster = f" {self.faster}" if first and self.faster and least > LONG else ""
        busy = f", or {duration(least)} without the other programs on this computer" if least < left else ""
        return f"Training takes about {duration(left)}{'' if first else ' more'}{busy}{plan}.{faster}"

    def _lap(self) -> float:
        now, before = time.perf_counter(), self._last
        self._last, self._used = now, time.process_time()
        return now - before


def faster_way(shape: Sequence[int], content: str) -> str | None:
    """A sentence about what is faster than training from scratch on samples of this shape on a CPU; None for vectors.

    >>> faster_way((3, 128, 128), "photograph").partition(":")[0]
    'For photographs a frozen encoder is much faster'
    """
    if len(shape) == 1:
        return None
    if is_detailed(content, shape):
        return (
            'For photographs a frozen encoder is much faster: encoder="efficientnet-lite0" (--encoder); so are smaller '
            "images: image_size=64 (--image-size)."
        )
    if max(shape[-2:]) > 32:
        return "Smaller images are faster: image_size=32 (--image-size)."
    return "Fewer epochs (--set), or fewer samples, take less time."
