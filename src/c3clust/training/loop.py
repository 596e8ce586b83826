"""The only training loop, and its counterpart without gradient.

`train` runs one stage: shuffle, two views of each batch, one step down the objective, and once an epoch a look at the
clean data. Everything random comes from one generator on the CPU, so the same seed gives the same network bit for bit.
Under several processes each takes its share of every batch and the objective gathers what it needs (dist.py).
True labels never come here.
"""

import copy
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from c3clust import augment, dist
from c3clust.data.io.batches import batches
from c3clust.data.samples import ArrayLike
from c3clust.errors import TrainingError
from c3clust.ops import entropy
from c3clust.progress import bar
from c3clust.training.checkpoint import Checkpoints, Training
from c3clust.training.objective import Monitor

__all__ = ["Objective", "Stage", "auto_epochs", "embed", "encode_views", "train"]

Curves = dict[str, list[Any]]
PIXELS = 2**21  # of a batch without gradient: 512 images up to 64 px, 41 at 224 px


class Objective(Protocol):
    """What one step minimises: "loss" is differentiated, further keys are only logged.

    An objective with memory may add `refresh(network, x)`, called before each epoch. What it remembers of earlier steps
    goes into checkpoints by `memory()`, tensors by name, and comes back by `recall(network, tensors)`.
    """

    def __call__(self, network: Any, x_a: Tensor, x_b: Tensor) -> dict[str, Tensor]: ...


@dataclass(frozen=True)
class Stage:
    """How long and how fast to train."""

    name: str
    epochs: int
    batch_size: int
    lr: float
    schedule: str = "constant"

    def learning_rate(self, done: float) -> float:
        """The rate when the share `done` of the stage lies behind."""
        return self.lr * 0.5 * (1 + math.cos(math.pi * done)) if self.schedule == "cosine" else self.lr


def auto_epochs(n: int, batch_size: int, steps: int, low: int, high: int) -> int:
    """Epochs that come to about `steps` steps, within [low, high]: small sets need more passes than large ones."""
    return min(max(math.ceil(steps / max(n // batch_size, 1)), low), high)


def train(
    stage: Stage,
    network: nn.Module,
    objective: Objective,
    x: ArrayLike,
    policy: augment.Policy,
    size: tuple[int, ...],
    generator: torch.Generator,
    verbose: bool = False,
    checkpoints: Checkpoints | None = None,
    number: int = 0,
    guard: Monitor | None = None,
) -> Curves:
    """Train `network` in place for one stage, the run's `number`th, and return its curves, one entry an epoch.

    Where x has stored views (x.views), pairs are drawn from these. With checkpoints, it goes on where the newest one
    stands. A guard may end it early and take the network back.
    """
    device = next(network.parameters()).device
    optimiser = torch.optim.Adam(_groups(network), lr=stage.lr, fused=device.type in ("cpu", "cuda"))
    batch, seen = min(stage.batch_size, len(x)), getattr(x, "views", x)
    steps = len(x) // batch  # the last short batch is dropped
    now = Training(network, optimiser, objective, generator, guard)
    if checkpoints is None or not checkpoints.restore(number, now):
        now.labels, m, _ = _look(network, x, size)
        if guard is not None:
            guard.begin(network, now.labels, m, 2 * batch)
    with bar(stage.name, stage.epochs, steps, verbose, now.epoch) as progress:
        for epoch in range(now.epoch, stage.epochs):
            started = time.perf_counter() - now.seconds
            if now.step == 0:
                if hasattr(objective, "refresh"):
                    objective.refresh(network, x)
                now.order = torch.randperm(len(x), generator=generator)[: steps * batch].view(steps, batch)
                now.sums = {}
            network.train()
            shares = _shares(now.order.numpy())
            for step, x_batch in enumerate(_tensors(seen, shares[now.step :], device), now.step):
                lr = stage.learning_rate((epoch * steps + step) / (stage.epochs * steps))
                for group in optimiser.param_groups:
                    group["lr"] = lr * group["rate"]
                x_a, x_b = augment.views(policy, x_batch, size, generator)
                terms = objective(network, _layout(x_a), _layout(x_b))
                optimiser.zero_grad(set_to_none=True)
                terms["loss"].backward()
                dist.sum_gradients(network.parameters())
                optimiser.step()
                for name, value in terms.items():
                    now.sums[name] = now.sums.get(name, 0) + value.detach()
                progress.step(batch)
                if checkpoints is not None and checkpoints.due() and step + 1 < steps:
                    now.step, now.seconds = step + 1, time.perf_counter() - started
                    checkpoints.save(number, now)
            dist.average_buffers(network)
            for name, total in now.sums.items():
                now.curves[name].append(total.item() / steps)
            now.curves["learning_rate"].append(lr)
            now.labels = _log_assignment(now.curves, network, x, size, now.labels)
            now.curves["seconds"].append(time.perf_counter() - started)
            if guard is not None and guard.stops(network, now.curves, epoch + 1):
                break
            _check_finite(stage, now.curves, epoch)
            progress.epoch(now.curves["loss"][-1])
            now.epoch, now.step, now.seconds = epoch + 1, 0, 0.0
            if checkpoints is not None and now.epoch < stage.epochs:
                checkpoints.save(number, now)
    if guard is not None:
        guard.settle(network)
    return _finite(now.curves)


def embed(
    network: nn.Module,
    x: ArrayLike,
    size: tuple[int, ...],
    read: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None,
    batch: int = 512,
) -> Iterator[tuple[Tensor, Tensor]]:
    """(z, c) of the un-augmented samples, batch by batch on the CPU: no gradient, memory bounded by the batch.

    `read` takes other pairs from the network than its forward pass gives.
    """
    device = next((t.device for t in network.state_dict().values()), torch.device("cpu"))
    was_training = network.training
    network.eval()
    if len(size) == 2:
        batch = min(batch, max(16, PIXELS // (size[0] * size[1])))
    with torch.no_grad():
        index = [np.arange(i, min(i + batch, len(x))) for i in range(0, len(x), batch)]
        for x_batch in _tensors(x, index, device):
            z, c = (read or network)(_layout(augment.prepare(_layout(x_batch), size)))  # bytes are turned faster
            yield z.cpu(), c.cpu()
    network.train(was_training)


@torch.no_grad()
def encode_views(
    network: Any, x: ArrayLike, policy: augment.Policy, size: tuple[int, ...], batch: int, most: int, seed: int
) -> tuple[Tensor, Tensor]:
    """Features h_a, h_b [n, F] of two views of at most `most` samples, as a training step would see them.

    In training mode, in whole batches; the running statistics of `network` stay as they are.
    """
    network, device = copy.deepcopy(network).train(), next(network.parameters()).device
    generator = torch.Generator().manual_seed(seed)
    batch = min(batch, len(x))
    order = torch.randperm(len(x), generator=generator)[: max(min(most, len(x)) // batch, 1) * batch]
    pairs = []
    for x_batch in _tensors(getattr(x, "views", x), list(order.view(-1, batch).numpy()), device):
        x_a, x_b = augment.views(policy, x_batch, size, generator)
        pairs.append((network.encode(_layout(x_a)), network.encode(_layout(x_b))))
    return torch.cat([h_a for h_a, _ in pairs]), torch.cat([h_b for _, h_b in pairs])


def _groups(network: nn.Module) -> list[dict[str, Any]]:
    """All parameters; those below a module with a `rate` learn at that share of the learning rate."""
    slow: dict[int, Any] = {id(p): m.rate for m in network.modules() if hasattr(m, "rate") for p in m.parameters()}
    groups: dict[float, list[nn.Parameter]] = {}
    for parameter in network.parameters():
        groups.setdefault(float(slow.get(id(parameter), 1.0)), []).append(parameter)
    return [{"params": parameters, "rate": rate} for rate, parameters in groups.items()]


def _finite(curves: Curves) -> Curves:
    """The curves without a last epoch that is not finite."""
    values = [curve[-1] for curve in curves.values() if curve and isinstance(curve[-1], float)]
    kept = None if all(map(math.isfinite, values)) else -1
    return {name: curve[:kept] for name, curve in curves.items()}


def _check_finite(stage: Stage, curves: Curves, epoch: int) -> None:
    """A last gradient that is not finite shows in the assignments only."""
    if not math.isfinite(curves["loss"][-1] + curves["assignment_entropy"][-1]):
        raise TrainingError(
            f"The loss of stage {stage.name} is not finite after epoch {epoch + 1}: training has diverged. "
            f"Use a learning rate below {stage.lr:g}."
        )


def _log_assignment(curves: Curves, network: nn.Module, x: ArrayLike, size: tuple[int, ...], before: Tensor) -> Tensor:
    """Look at the clean data once an epoch: sizes, entropy, and the share of labels changed since the last look."""
    labels, m, uncertainty = _look(network, x, size)
    curves["cluster_sizes"].append(torch.bincount(labels, minlength=m).tolist())
    curves["assignment_entropy"].append(uncertainty)
    curves["labels_changed"].append((labels != before).double().mean().item())
    return labels


def _look(network: nn.Module, x: ArrayLike, size: tuple[int, ...]) -> tuple[Tensor, int, float]:
    """Labels, number of clusters, and mean entropy of the assignments."""
    labels, total, m = [], 0.0, 0
    for _, c in embed(network, x, size):
        labels.append(c.argmax(dim=1))
        total += entropy(c.double()).sum().item()
        m = c.shape[1]
    return torch.cat(labels), m, total / len(x)


def _shares(order: np.ndarray) -> list[np.ndarray]:
    """This process's part of every batch; all parts are equally long."""
    world, rank = dist.world_size(), dist.rank()
    each = order.shape[1] // world
    return list(order[:, rank * each : (rank + 1) * each])


def _tensors(x: ArrayLike, index: list[np.ndarray], device: torch.device) -> Iterator[Tensor]:
    for x_batch in batches(x, index):
        yield torch.from_numpy(x_batch).to(device, non_blocking=True)


def _layout(x: Tensor) -> Tensor:
    """Samples channels-last, which convolutions prefer."""
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x
