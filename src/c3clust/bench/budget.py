"""Budgets: how many epochs of a method fit into a given CPU time.

Before the first run of a method on a dataset, a fit is measured: each stage trains the last two of its epochs, a few
steps of each, and everything around the stages is done once. The second epoch of a stage and the rest give the cost of
the whole fit. Where that is above the budget, all parameters of epochs are multiplied by one share below 1, so that
learning rates and schedules follow the smaller number. The epochs are computed once for all seeds and written down in

    OUT/runs/DATA/METHOD-s0-KEY.budget/budget.json

so a run that is resumed or repeated has the same ones. True labels are not known here. A job may name that share
itself, instead of a budget: its epochs then do not depend on the speed of the machine.
"""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from torch import Generator, nn

from c3clust import methods
from c3clust.bench.job import Job, write_json
from c3clust.errors import RunError
from c3clust.files.atomic import read_json
from c3clust.training.checkpoint import Checkpoints, TrainingState

__all__ = ["Allowance", "Cost", "Meter", "allowance", "share_of"]

Fit = Callable[[Path, Callable[[Path, float], Checkpoints]], Any]
EPOCHS = 2  # of a stage that are trained; the second is measured
STEPS = 6  # of each of them
_warm: set[tuple[str, str]] = set()  # data and encoders of which this process has measured a fit


@dataclass(frozen=True)
class Allowance:
    """The epochs by parameter, the fraction of the method's own epochs that they are, and seconds by forecast."""

    epochs: dict[str, int] = field(default_factory=dict)
    share: float = 1.0
    seconds: float = 0.0


@dataclass(frozen=True)
class Cost:
    """A stage: its epochs, CPU seconds of one, and the seconds that were spent on measuring it."""

    epochs: int
    seconds: float
    spent: float


class Meter(Checkpoints):
    """Checkpoints that measure the stages of a fit, and let it train EPOCHS epochs of STEPS steps of each."""

    most_steps = STEPS

    def __init__(self, run: str | Path, minutes: float = 10.0) -> None:
        super().__init__(run, minutes)
        self.costs: list[Cost] = []
        self._ends: list[float] = []  # of epochs; the first is the beginning of the stage
        self._steps: list[float] = []  # ends of the steps of this epoch
        self._step = 0.0  # seconds of a step of the epoch before
        self._planned = self._left_out = 0

    def restore(self, stage: int, training: TrainingState) -> bool:
        """A stage begins: leave out its first epochs."""
        self._planned = training.epochs or 0
        self._left_out = max((training.steps or 0) - STEPS, 0)
        self._ends, self._steps, self._step = [time.process_time()], [], 0.0
        training.epoch = max(self._planned - EPOCHS, 0)
        return False

    def restore_end(self, stage: int, network: nn.Module, generator: Generator) -> None:
        return None

    def due(self) -> bool:
        """A step has ended."""
        self._steps.append(time.process_time())
        return False

    def save(self, stage: int, training: TrainingState) -> None:
        """An epoch has ended; to write a checkpoint is a part of it."""
        super().save(stage, training)
        self._ends.append(time.process_time())
        laps = [after - before for before, after in pairwise(self._steps)]
        self._step, self._steps = median(laps) if laps else 0.0, []

    def save_last(self, stage: int, training: TrainingState) -> None:
        self.save(stage, training)

    def save_end(self, stage: int, network: nn.Module, context: Any, note: dict[str, Any]) -> None:
        self.costs.append(self._cost())
        super().save_end(stage, network, context, note)

    def _cost(self) -> Cost:
        if len(self._ends) < 2:
            return Cost(self._planned, 0.0, 0.0)
        short = self._ends[-1] - self._ends[-2]
        return Cost(self._planned, short + self._step * self._left_out, short * (len(self._ends) - 1))


def allowance(place: Path, job: Job, fit: Fit) -> Allowance:
    """The epochs within the budget of the job; `fit` fits it in a folder, with checkpoints of a given kind."""
    path = place / "budget.json"
    if not path.exists():
        write_json(path, asdict(_measure(job, place / "run", fit)))
    try:
        return Allowance(**read_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise RunError(f"{path} cannot be read: {error}. Remove it to measure again.") from None


def _measure(job: Job, run: Path, fit: Fit) -> Allowance:
    """One fit is measured; before the first on some data, another one loads code, and the features of an encoder."""
    if not (own := _parameters(job)):
        return Allowance(share=job.share or 1.0)
    if job.share is None and (place := (job.data, str(job.params.get("encoder")))) not in _warm:
        _timed(run, fit)
        _warm.add(place)
    fitted, seconds, costs = _timed(run, fit)
    fixed = seconds - sum(cost.spent for cost in costs)
    share = share_of(job.budget or 0.0, fixed, costs) if job.share is None else job.share
    given = {name: value for name, value in own.items() if isinstance(value, int)}
    epochs = given | {name: value for name, value in fitted.epochs_.items() if name in own}
    forecast = fixed + share * sum(cost.epochs * cost.seconds for cost in costs)
    return Allowance({name: _reduced(value, share) for name, value in epochs.items()}, share, forecast)


def _timed(run: Path, fit: Fit) -> tuple[Any, float, list[Cost]]:
    """The fitted estimator, CPU seconds in all, and those of each stage."""
    shutil.rmtree(run, ignore_errors=True)  # of a process that was killed
    meters: list[Meter] = []

    def meter(folder: Path, minutes: float) -> Meter:
        meters.append(Meter(folder, minutes))
        return meters[-1]

    began = time.process_time()
    fitted = fit(run, meter)
    seconds = time.process_time() - began
    shutil.rmtree(run, ignore_errors=True)
    return fitted, seconds, meters[-1].costs


def share_of(budget: float, fixed: float, costs: Sequence[Cost]) -> float:
    """The fraction of all epochs that fits into the budget, after what is done once.

    >>> share_of(60, 10, [Cost(20, 4.0, 0), Cost(10, 2.0, 0)]), share_of(600, 10, [Cost(20, 4.0, 0)])
    (0.5, 1.0)
    """
    training = sum(cost.epochs * cost.seconds for cost in costs)
    return min(max((budget - fixed) / training, 0.0), 1.0) if training else 1.0


def _parameters(job: Job) -> dict[str, Any]:
    """The parameters of epochs that the method has, with their values."""
    known = methods.parameters(job.method)
    values = methods.find(job.method)(**job.params).get_params(deep=False)
    return {name: values[name] for name in known if name.endswith("epochs")}


def _reduced(epochs: int, share: float) -> int:
    """At least one, unless there are none."""
    return max(int(epochs * share), 1) if epochs else 0
