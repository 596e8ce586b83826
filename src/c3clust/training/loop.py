"""The only training loop.

`train` runs one stage: shuffle, make two views of each batch, take one step of the objective, and once per epoch
evaluate the un-augmented samples, unless the objective does not train the assignments. All random numbers come from
one generator on the CPU, so the same seed gives the same network bit for bit. With several processes, each one trains
on its part of every batch, draws other views than the others, and the objective gathers what it needs (dist). True
labels never come here.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from c3clust import augment, dist
from c3clust.errors import InputError, TrainingError
from c3clust.losses.terms import entropy
from c3clust.networks.norms import synchronised
from c3clust.progress import bar
from c3clust.training.batch import Batch, channels_last, local_part, source_of_views, tensors
from c3clust.training.checkpoint import TrainingState
from c3clust.training.embed import device_of, embed, rows_per_batch
from c3clust.training.log import log_epoch
from c3clust.training.objective import Alternating, Monitor, Objective
from c3clust.training.optimisers import Schedule, Spec, make_optimiser, rate_factor
from c3clust.training.order import epoch_order, in_passes

if TYPE_CHECKING:
    from c3clust.training.context import TrainingContext

__all__ = ["Stage", "auto_epochs", "train"]

Curves = dict[str, list[Any]]
Optimisers = dict[str, torch.optim.Optimizer]
FEW = 16  # samples that show whether training has diverged, where all are not evaluated


@dataclass(frozen=True)
class Stage:
    """How long and how fast to train."""

    name: str
    epochs: int
    batch_size: int
    lr: float
    schedule: Schedule = "constant"
    optimiser: Spec = "adam"

    def __post_init__(self) -> None:
        """Unknown names and settings are found here, before anything is trained."""
        self.learning_rate(1.0)
        make_optimiser(self.optimiser, [torch.zeros(1, requires_grad=True)], self.lr)

    def learning_rate(self, done: float) -> float:
        """The learning rate after the share `done` of the stage."""
        return self.lr * rate_factor(self.schedule, done, self.epochs)


def auto_epochs(n: int, batch_size: int, steps: int, low: int, high: int) -> int:
    """Epochs that come to about `steps` steps, within [low, high]: small datasets need more passes than large ones."""
    return min(max(math.ceil(steps / max(n // batch_size, 1)), low), high)


def train(
    stage: Stage,
    network: nn.Module,
    objective: Objective | Alternating,
    context: "TrainingContext",
    monitor: Monitor | None = None,
) -> Curves:
    """Train `network` in place for one stage and return its curves, one entry per epoch.

    Where context.x has stored views (x.views) or original files (x.crops), pairs are drawn from these. With
    checkpoints, training continues from the newest one. A monitor may end it early and restore an earlier network.
    """
    x, size, generator = context.x, context.size, context.generator
    checkpoints, number = context.checkpoints, len(context.stages)
    device = device_of(network)
    batch = min(stage.batch_size, len(x))
    together = getattr(objective, "together", 0) // batch  # batches with the same targets
    passes = getattr(objective, "passes", 1) if together else 1
    steps = len(x) // batch * passes  # the last short batch is dropped
    optimisers = _optimisers(objective, network, stage)
    now = TrainingState(network, optimisers, objective, generator, x, size, monitor, stage.epochs, steps)
    assigns = getattr(objective, "assigns", True)
    restored = checkpoints is not None and checkpoints.restore(number, now)
    context.forecast.begin(number, stage.epochs - now.epoch, steps)
    if not restored:
        now.labels, m = torch.zeros(len(x), dtype=torch.int64), 0
        if assigns:
            now.labels, m, _ = _evaluate(network, x, size)
        if monitor is not None:
            monitor.begin(network, now.labels, m, 2 * batch)
    progress_bar = bar(stage.name, stage.epochs, steps, context.verbose, now.epoch, context.forecast)
    with progress_bar as progress, synchronised(network):
        for epoch in range(now.epoch, stage.epochs):
            started = time.perf_counter() - now.seconds
            if now.step == 0:
                if hasattr(objective, "refresh"):
                    objective.refresh(network, context)
                now.order = epoch_order(x, steps // passes, batch, generator)
                if together:
                    now.order = in_passes(now.order, together, passes, generator)
                now.sums = {}
            network.train()
            first = now.step
            index = local_part(now.order.numpy())[first : None if checkpoints is None else checkpoints.most_steps]
            source = source_of_views(x, context.policy, size, (context.seed, number, epoch))
            for step, raw in enumerate(tensors(source, index, device), first):
                lr = stage.learning_rate((epoch * steps + step) / (stage.epochs * steps))
                _set_learning_rate(optimisers, lr)
                if hasattr(objective, "refresh_targets") and together and step % (together * passes) == 0:
                    objective.refresh_targets(network, context, now.order[step : step + together].unique())
                views = _views(objective, context, source, raw, torch.from_numpy(index[step - first]))
                for name, value in _step(objective, network, views, optimisers):
                    now.sums[name] = now.sums.get(name, 0) + value.detach()
                progress.step(batch)
                if checkpoints is not None and checkpoints.due() and step + 1 < steps:
                    now.step, now.seconds = step + 1, time.perf_counter() - started
                    checkpoints.save(number, now)
            dist.average_buffers(network)
            for name, total in now.sums.items():
                now.curves[name].append(total.item() / steps)
            now.curves["learning_rate"].append(lr)
            if assigns:
                now.labels = _log_assignment(now.curves, network, x, size, now.labels)
            now.curves["seconds"].append(time.perf_counter() - started)
            if monitor is not None and monitor.stops(network, now.curves, epoch + 1):
                break
            _check_finite(stage, now, epoch)
            progress.epoch(now.curves["loss"][-1])
            log_epoch(stage.name, epoch + 1, now.curves)
            now.epoch, now.step, now.seconds = epoch + 1, 0, 0.0
            if checkpoints is not None:
                (checkpoints.save if now.epoch < stage.epochs else checkpoints.save_last)(number, now)
    if monitor is not None:
        monitor.restore(network)
    return _finite(now.curves)


def _optimisers(objective: Any, network: nn.Module, stage: Stage) -> Optimisers:
    """The objective's own optimisers, or that of the stage for all parameters.

    Parameters below a module with a `rate` learn at that fraction of the learning rate.
    """
    lr = stage.lr
    if hasattr(objective, "optimisers"):
        if stage.optimiser != "adam":
            raise InputError(f"Stage {stage.name} has optimisers of its own: omit optimizer={stage.optimiser!r}.")
        optimisers: Optimisers = objective.optimisers(network, lr)
    else:
        slow = {id(p): float(m.rate) for m in network.modules() if hasattr(m, "rate") for p in m.parameters()}  # type: ignore[arg-type]
        groups: dict[float, list[nn.Parameter]] = {}
        for parameter in network.parameters():
            groups.setdefault(slow.get(id(parameter), 1.0), []).append(parameter)
        fused = {"fused": True} if stage.optimiser == "adam" and device_of(network).type in ("cpu", "cuda") else {}
        parts = [{"params": parameters, "rate": rate} for rate, parameters in groups.items()]
        optimisers = {"loss": make_optimiser(stage.optimiser, parts, lr, **fused)}
    for optimiser in optimisers.values():
        for group in optimiser.param_groups:
            group.setdefault("rate", group["lr"] / lr if lr else 1.0)
    return optimisers


def _set_learning_rate(optimisers: Optimisers, lr: float) -> None:
    for optimiser in optimisers.values():
        for group in optimiser.param_groups:
            group["lr"] = lr * group["rate"]


def _views(objective: Any, context: Any, source: Any, raw: Tensor, index: Tensor) -> Batch:
    """Two views of each sample; or one, and one of its partner where the objective chooses partners."""
    generator = dist.own_generator(context.generator)
    if (repeats := getattr(objective, "repeats", 1)) > 1:
        raw, index = raw.repeat(repeats, *[1] * (raw.ndim - 1)), index.repeat(repeats)
    if hasattr(objective, "partners"):
        partners = objective.partners(index, generator).numpy()
        others = next(tensors(source, [partners], raw.device))
        x_a, x_b = (augment.view(context.policy, each, context.size, generator) for each in (raw, others))
    else:
        x_a, x_b = augment.views(context.policy, raw, context.size, generator)
    return Batch(channels_last(x_a), channels_last(x_b), index.to(raw.device), raw, context.size, context.x)


def _step(objective: Any, network: nn.Module, batch: Batch, optimisers: Optimisers) -> Iterator[tuple[str, Tensor]]:
    """One step of each optimiser; the values to log."""
    if not hasattr(objective, "losses"):
        terms = objective(network, batch)
        _descend(terms["loss"], optimisers["loss"])
        yield from terms.items()
        return
    total = torch.zeros((), device=batch.x_a.device)
    for name, loss in objective.losses(network, batch):
        _descend(loss, optimisers[name])
        total = total + loss.detach()
        yield f"{name}_loss", loss
    yield "loss", total


def _descend(loss: Tensor, optimiser: torch.optim.Optimizer) -> None:
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    dist.sum_gradients(parameter for group in optimiser.param_groups for parameter in group["params"])
    optimiser.step()


def _finite(curves: Curves) -> Curves:
    """The curves without a last epoch that is not finite."""
    values = [curve[-1] for curve in curves.values() if curve and isinstance(curve[-1], float)]
    kept = None if all(map(math.isfinite, values)) else -1
    return {name: curve[:kept] for name, curve in curves.items()}


def _check_finite(stage: Stage, now: TrainingState, epoch: int) -> None:
    """A last gradient that is not finite, or too large, shows in what the network gives for samples only."""
    curves = now.curves
    if "assignment_entropy" in curves:
        finite = math.isfinite(curves["assignment_entropy"][-1])
    else:
        few = now.x[: min(len(now.x), FEW)]
        finite = all(bool(part.isfinite().all()) for pair in embed(now.network, few, now.size) for part in pair)
    if not (finite and math.isfinite(curves["loss"][-1])):
        raise TrainingError(
            f"The loss of stage {stage.name} is not finite after epoch {epoch + 1}: training has diverged. "
            f"Use a learning rate below {stage.lr:g}."
        )


def _log_assignment(curves: Curves, network: nn.Module, x: Any, size: tuple[int, ...], before: Tensor) -> Tensor:
    """Evaluate the un-augmented samples: sizes, entropy, and the fraction of labels that changed in this epoch."""
    labels, m, uncertainty = _evaluate(network, x, size)
    curves["cluster_sizes"].append(torch.bincount(labels, minlength=m).tolist())
    curves["assignment_entropy"].append(uncertainty)
    curves["labels_changed"].append((labels != before).double().mean().item())
    return labels


def _evaluate(network: nn.Module, x: Any, size: tuple[int, ...]) -> tuple[Tensor, int, float]:
    """Labels, number of clusters, and mean entropy of the assignments."""
    labels, total, m, block = [], 0.0, 0, rows_per_batch(size)
    for _, c in embed(network, x, size, part=dist.part(len(x), block)):
        labels.append(c.argmax(dim=1).numpy())
        total += entropy(c.double()).sum().item()
        m = c.shape[1]
    own = np.concatenate(labels) if labels else np.empty(0, np.int64)
    totals, widths = zip(*dist.gather_objects((total, m)), strict=True)
    return torch.from_numpy(dist.gather_arrays(own, len(x), block)), max(widths), sum(totals) / len(x)
