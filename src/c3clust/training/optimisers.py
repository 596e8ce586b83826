"""Optimisers and learning rates by name, with their settings: plain values that recipes and saved models can hold.

"sgd" and {"name": "sgd", "momentum": 0.9, "weight_decay": 5e-4} are optimisers, "cosine" and {"name": "cosine",
"warmup": 10} are schedules. Any class of torch.optim.lr_scheduler that steps once per epoch is a schedule too, as
{"name": "MultiStepLR", "milestones": [300], "gamma": 0.2}; so is any function that makes one for an optimiser.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

import torch

from c3clust.errors import InputError, suggest
from c3clust.training.adam import Adam

__all__ = ["Schedule", "Spec", "make_optimiser", "rate_factor"]

Spec = str | Mapping[str, Any]
Factory = Callable[[torch.optim.Optimizer], torch.optim.lr_scheduler.LRScheduler]
Schedule = Spec | Factory
OPTIMISERS = {"adam": Adam, "adamw": torch.optim.AdamW, "rmsprop": torch.optim.RMSprop, "sgd": torch.optim.SGD}


def make_optimiser(spec: Spec, parameters: Iterable[Any], lr: float, **more: Any) -> torch.optim.Optimizer:
    """The optimiser of that name and those settings for the parameters, or groups of them."""
    name, settings = _parts("optimizer", spec)
    if name not in OPTIMISERS:
        raise InputError(f"optimizer={name!r} is unknown. {suggest(name, OPTIMISERS)}")
    try:
        return OPTIMISERS[name](parameters, lr=lr, **more, **settings)
    except (TypeError, ValueError) as error:
        raise InputError(f"optimizer={dict(settings)!r} does not fit {name}: {error}.") from None


def rate_factor(spec: Schedule, done: float, epochs: int) -> float:
    """What the learning rate is multiplied by after the fraction `done` of a stage. Warm-up is linear, in epochs."""
    if callable(spec):
        return _of_epoch(_factors(spec, epochs), done * epochs)
    name, settings = _parts("schedule", spec)
    warmup, epoch = settings.pop("warmup", 0), done * epochs
    if epoch < warmup:
        return epoch / warmup
    if name == "constant":
        return 1.0
    if name == "cosine":
        share = (epoch - warmup) / (epochs - warmup) if warmup else done
        return 0.5 * (1 + math.cos(math.pi * share))
    return _of_epoch(_named_factors(name, json.dumps(settings), epochs), epoch - warmup)


def _of_epoch(factors: list[float], epoch: float) -> float:
    return factors[min(int(epoch), len(factors) - 1)]


@lru_cache
def _named_factors(name: str, settings: str, epochs: int) -> list[float]:
    """The factor of each epoch by torch.optim.lr_scheduler.NAME."""
    known = [key for key in vars(torch.optim.lr_scheduler) if key.endswith("LR")]
    if name not in known:
        raise InputError(f"schedule={name!r} is unknown. {suggest(name, ['constant', 'cosine', *known])}")
    try:
        return _factors(partial(getattr(torch.optim.lr_scheduler, name), **json.loads(settings)), epochs)
    except (TypeError, ValueError) as error:
        raise InputError(f"schedule={settings} does not fit {name}: {error}.") from None


@lru_cache
def _factors(make: Factory, epochs: int) -> list[float]:
    """The factor of each epoch by the scheduler that `make` gives: it steps an optimiser that has nothing to train."""
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler, factors = make(optimiser), []
    if not isinstance(scheduler, torch.optim.lr_scheduler.LRScheduler):
        raise InputError(
            f"schedule={make!r} gave a {type(scheduler).__name__}: it is called with an optimiser and returns a "
            "scheduler of torch.optim.lr_scheduler."
        )
    for _ in range(max(epochs, 1)):
        factors.append(float(optimiser.param_groups[0]["lr"]))
        optimiser.step()
        scheduler.step()
    return factors


def _parts(parameter: str, spec: Spec) -> tuple[str, dict[str, Any]]:
    """The name, and the settings."""
    if isinstance(spec, str):
        return spec, {}
    if not isinstance(spec, Mapping) or not isinstance(spec.get("name"), str):
        raise InputError(f'{parameter}={spec!r} has no name: give a name, or {{"name": NAME, SETTING: VALUE, ...}}.')
    return spec["name"], {key: value for key, value in spec.items() if key != "name"}
