"""Checks of parameters. Each failure is one InputError with the value, what is required, and how to fix it."""

import math
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from c3clust.errors import InputError, suggest

__all__ = ["SEEDS", "choice", "flag", "number", "seed", "stage", "whole"]

SEEDS = 2**31  # a process or a start may add its own number, and NumPy takes 32 bits


def number(name: str, value: Any, low: float = -math.inf, high: float = math.inf, *, why: str) -> float:
    """A finite real number in [low, high]."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise InputError(f"{name}={value!r} is not a finite number: {why}")
    if not low <= float(value) <= high:
        raise InputError(f"{name}={value!r} is outside {_interval(low, high)}: {why}")
    return float(value)


def whole(name: str, value: Any, low: int = 1, *, why: str) -> int:
    """An integer of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise InputError(f"{name}={value!r} is not an integer of at least {low}: {why}")
    return int(value)


def seed(value: Any) -> int:
    """A seed of all random draws."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < SEEDS:
        raise InputError(f"random_state={value!r} is not an integer from 0 to {SEEDS - 1}: it is the random seed.")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise InputError(f"{name}={value!r} is neither True nor False.")
    return value


def choice(name: str, value: Any, known: Iterable[str]) -> str:
    """One of a few names."""
    known = list(known)
    if value not in known:
        raise InputError(f"{name}={value!r} is unknown. {suggest(str(value), known)}")
    return str(value)


def stage(epochs: Any, batch_size: Any, lr: Any, schedule: Any, prefix: str = "", *, auto_lr: bool = False) -> None:
    """The four parameters of a training stage; `prefix` is what their names begin with, as "cc_" for stage 1 of C3.

    auto_lr: the learning rate may be "auto".
    """
    if epochs != "auto":
        whole(
            f"{prefix}epochs", epochs, 0, why='it is the number of passes over the data. "auto" sets it from the data.'
        )
    whole(f"{prefix}batch_size", batch_size, 2, why="it is the number of samples per step. A usual value is 256.")
    if not (auto_lr and lr == "auto"):
        number(f"{prefix}lr", lr, 0.0, why="it is a learning rate. A usual value is 1e-3.")
    if not isinstance(schedule, dict) and not callable(schedule):  # these are checked where they are used
        choice(f"{prefix}schedule", schedule, ("constant", "cosine"))


def _interval(low: float, high: float) -> str:
    left = "(-inf" if low == -math.inf else f"[{low:g}"
    return f"{left}, " + ("inf)" if high == math.inf else f"{high:g}]")
