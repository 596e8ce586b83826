"""What the training loop requires of a method: an objective, and perhaps a monitor."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from c3clust.training.batch import Batch

__all__ = ["Alternating", "Monitor", "Objective", "Stateful"]


class Objective(Protocol):
    """What one step minimises: "loss" is differentiated, further entries are logged.

    An objective may define any of the following, and the loop uses what it finds:

    refresh(network, context)               called before each epoch
    together = 1000, passes = 5             its targets are those of 1,000 samples, on which the steps train five times:
    refresh_targets(network, context, index)     called before the first of these steps, with their positions, rising
    partners(index, generator) -> index     x_b is a view of these samples instead of a second view of the same ones
    optimisers(network, lr), losses(network, batch)   see `Alternating`
    repeats = 3                             a batch has each sample so often, each time with other views
    assigns = False                         the assignments are not trained, and not evaluated after each epoch
    state_dict(), load_state_dict(state)    what it remembers between steps, as tensors, for checkpoints
    """

    def __call__(self, network: Any, batch: Batch) -> dict[str, Tensor]: ...


class Alternating(Protocol):
    """An objective with its own optimisers, for example an adversarial one.

    `optimisers` returns them by name; one optimiser may have several names. `losses` is a generator of (name, loss):
    after each one the loop takes a step of that optimiser, and the code behind the `yield` sees the updated network.
    Values are logged as "NAME_loss", and their sum as "loss".
    """

    def optimisers(self, network: Any, lr: float) -> dict[str, torch.optim.Optimizer]: ...

    def losses(self, network: Any, batch: Batch) -> Iterator[tuple[str, Tensor]]: ...


class Stateful(Protocol):
    """Anything whose state goes into a checkpoint."""

    def state_dict(self) -> dict[str, Tensor]: ...

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None: ...


class Monitor(Stateful, Protocol):
    """Watches a stage epoch by epoch. It may end the stage early and restore an earlier network."""

    def begin(self, network: nn.Module, labels: Tensor, n_clusters: int, views: int) -> None: ...

    def stops(self, network: nn.Module, curves: Mapping[str, list[Any]], epoch: int) -> bool: ...

    def restore(self, network: nn.Module) -> None: ...

    def report(self, curves: Mapping[str, list[Any]], name: str) -> dict[str, Any]: ...
