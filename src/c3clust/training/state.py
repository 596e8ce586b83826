"""TrainingState: all that changes while a stage is trained, as a snapshot of plain values and tensors and back."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from c3clust.data.samples import ArrayLike
from c3clust.files.model_io import not_finite, with_prefix, without_prefix
from c3clust.files.schema import Count, Number, build
from c3clust.training.embed import device_of
from c3clust.training.objective import Monitor

__all__ = ["Place", "Snapshot", "TrainingState", "random_state", "restore_random_state"]

Snapshot = tuple[dict[str, Any], dict[str, Tensor]]  # plain values, tensors


@dataclass
class TrainingState:
    """All that changes while a stage is trained, and what it is trained on."""

    network: nn.Module
    optimisers: dict[str, torch.optim.Optimizer]
    objective: Any
    generator: torch.Generator
    x: ArrayLike
    size: tuple[int, ...]
    monitor: Monitor | None = None
    epochs: int | None = None  # of the stage
    steps: int | None = None  # of an epoch
    epoch: int = 0  # finished ones
    step: int = 0  # finished ones of the current epoch
    seconds: float = 0.0  # spent on the current epoch
    labels: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))  # after the last epoch
    order: Tensor = field(default_factory=lambda: torch.empty(0, 0, dtype=torch.int64))  # of the current epoch
    sums: dict[str, Tensor] = field(default_factory=dict)
    curves: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def snapshot(self) -> Snapshot:
        """The whole state, as plain values and tensors."""
        tensors = with_prefix("network", self.network.state_dict()) | with_prefix("sums", self.sums)
        tensors |= random_state(self.generator, device_of(self.network)) | {"labels": self.labels}
        if self.step:
            tensors["order"] = self.order
        for name, optimiser in self._distinct_optimisers():
            tensors |= with_prefix(f"optimiser.{name}", _optimiser_state(optimiser))
        for name, part in self._stateful():
            tensors |= with_prefix(name, part.state_dict())
        plain = {"epoch": self.epoch, "step": self.step, "seconds": self.seconds, "curves": dict(self.curves)}
        return plain, tensors

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the state of the snapshot; ValueError if it cannot be one of this stage."""
        plain, tensors = snapshot
        place = build(Place, plain, "the checkpoint")
        self._check(place, tensors)
        device = device_of(self.network)
        self.network.load_state_dict(without_prefix("network", tensors))
        restore_random_state(tensors, self.generator, device)
        for name, optimiser in self._distinct_optimisers():
            _load_optimiser_state(optimiser, without_prefix(f"optimiser.{name}", tensors))
        for name, part in self._stateful():
            part.load_state_dict(without_prefix(name, tensors))
        self.epoch, self.step, self.seconds = place.epoch, place.step, place.seconds
        self.labels = tensors["labels"]
        self.order = tensors["order"] if self.step else self.order
        self.sums = {name: total.to(device) for name, total in without_prefix("sums", tensors).items()}
        self.curves = defaultdict(list, place.curves)

    def _check(self, place: "Place", tensors: Mapping[str, Tensor]) -> None:
        if self.epochs is not None and place.epoch >= max(self.epochs, 1):
            raise ValueError(f"epoch {place.epoch:,} of a stage of {self.epochs:,} epochs")
        if self.steps is not None and place.step >= max(self.steps, 1):
            raise ValueError(f"step {place.step:,} of an epoch of {self.steps:,} steps")
        if any(len(curve) != place.epoch for curve in place.curves.values()):
            raise ValueError(f"curves that are not of {place.epoch:,} epochs")
        if broken := not_finite(without_prefix("network", tensors)):
            raise ValueError(f"NaN or infinity in {broken}")
        n, order = len(self.x), tensors.get("order", torch.empty(0))
        if tensors["labels"].shape != (n,) and self.epochs is not None:
            raise ValueError(f"labels of another number of samples than {n:,}")
        if place.step and (order.ndim != 2 or len(order) != self.steps or not 0 <= order.min() <= order.max() < n):
            raise ValueError("an order of other samples")

    def _distinct_optimisers(self) -> Iterator[tuple[str, torch.optim.Optimizer]]:
        """Each optimiser once, by its first name: one may be used for several losses."""
        first = {id(optimiser): name for name, optimiser in reversed(self.optimisers.items())}
        return ((name, self.optimisers[name]) for name in first.values())

    def _stateful(self) -> Iterator[tuple[str, Any]]:
        if hasattr(self.objective, "state_dict"):
            yield "objective", self.objective
        if self.monitor is not None:
            yield "monitor", self.monitor


@dataclass(frozen=True)
class Place:
    """The plain values of a checkpoint within a stage."""

    epoch: Count
    step: Count
    seconds: Number
    curves: dict[str, list[Number | list[Number] | None]]
    notes: list[str] = field(default_factory=list)


def _optimiser_state(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state of each parameter, by its number: for Adam the step count and two moments."""
    state: dict[int, dict[str, Any]] = optimiser.state_dict()["state"]
    return {
        f"{i}.{name}": torch.as_tensor(value)
        for i, values in state.items()
        for name, value in values.items()
        if value is not None
    }


def _load_optimiser_state(optimiser: torch.optim.Optimizer, saved: Mapping[str, Tensor]) -> None:
    """The same, each tensor in the memory layout of its parameter."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    for i, parameter in enumerate(parameters):
        values = without_prefix(str(i), saved)
        if values:
            optimiser.state[parameter] = {
                name: value if value.ndim == 0 else torch.empty_like(parameter).copy_(value)
                for name, value in values.items()
            }


def random_state(generator: torch.Generator, device: torch.device) -> dict[str, Tensor]:
    """The states of our own generator and of torch's, which networks draw from."""
    states = {"generator": generator.get_state(), "torch": torch.get_rng_state()}
    return states | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def restore_random_state(tensors: Mapping[str, Tensor], generator: torch.Generator, device: torch.device) -> None:
    """Draw from here on what would have been drawn."""
    generator.set_state(tensors["generator"])
    torch.set_rng_state(tensors["torch"])
    if device.type == "cuda" and "cuda" in tensors:
        torch.cuda.set_rng_state(tensors["cuda"], device)
