"""Validation of the options of policies."""

import math
from typing import Any

from c3clust.errors import InputError


def check_number(policy: Any, name: str, low: float, high: float, why: str) -> None:
    """A finite number in [low, high]."""
    value = getattr(policy, name)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high or math.isinf(value):
        raise InputError(f"{name}={value!r} is outside [{low}, {high}]: {why}.")


def check_probabilities(policy: Any, *names: str) -> None:
    """Numbers in [0, 1]."""
    for name in names:
        check_number(policy, name, 0, 1, "it is a probability")


def check_range(policy: Any, name: str, low: float, high: float, open_low: bool = False) -> None:
    """Two numbers in ascending order. Lists (from JSON and TOML) are converted to tuples."""
    value = getattr(policy, name)
    try:
        first, last = (float(v) for v in value)
    except (TypeError, ValueError):
        raise InputError(f"{name}={value!r} must be two numbers, from and to.") from None
    if not (low <= first <= last <= high and first > low - (not open_low)) or math.isinf(last):
        bracket = "(" if open_low else "["
        raise InputError(f"{name}={value!r} must be two numbers in order within {bracket}{low}, {high}].")
    object.__setattr__(policy, name, (first, last))
