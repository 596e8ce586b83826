"""Choose C3's threshold without labels: short probes from the same start.

A view's positives should be the views of its own cluster. In a batch of 2N views a cluster with share p of the data
holds 2N p of them, so a view drawn at random expects 2N sum_m p_m^2 (2N / M for equal clusters), with the shares
taken from the start's own assignment. A zeta at which positives settle well above that merges clusters; one at which
they stay well below pulls nothing together. Each candidate trains a copy of the start for a few steps at three times
the stage's learning rate, and the one whose positives come nearest to the expectation, as a ratio, is taken.

All probes together cost at most a quarter of the stage and two of its epochs.
"""

import copy
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import nn

from c3clust import augment
from c3clust.data.images import ArrayLike
from c3clust.trainer import Objective, Stage, train

__all__ = ["CANDIDATES", "choose_zeta", "expected_positives"]

CANDIDATES = (0.6, 0.7, 0.8, 0.9, 0.95)
HURRY = 3.0  # times the learning rate, so that positives settle within a probe


def expected_positives(labels: np.ndarray, views: int) -> float:
    """2N sum_m p_m^2: how many of a batch's views share a random view's cluster.

    >>> expected_positives(np.arange(1000) % 10, 256)
    25.6
    """
    shares = np.bincount(labels) / len(labels)
    return round(float(views * (shares**2).sum()), 9)


def choose_zeta(
    stage: Stage,
    network: nn.Module,
    objective: Callable[[float], Objective],
    labels: np.ndarray,
    x: ArrayLike,
    policy: augment.Policy,
    size: tuple[int, ...],
    seed: int,
) -> tuple[float, dict[str, Any]]:
    """The zeta to train `stage` with, and the account of how it was found, as the record keeps it."""
    started = time.perf_counter()
    batch = min(stage.batch_size, len(x))
    expected = expected_positives(labels, 2 * batch)
    steps = _steps(stage, len(x) // batch)
    probes = []
    for zeta in CANDIDATES:
        generator = torch.Generator().manual_seed(seed)
        part = x[np.sort(torch.randperm(len(x), generator=generator)[: steps * batch].numpy())]
        probe = replace(stage, name="probe", epochs=2, lr=HURRY * stage.lr, schedule="constant")
        curves = train(probe, copy.deepcopy(network), objective(zeta), part, policy, size, generator)
        positives = curves["positives_per_view"][-1]
        probes.append({"zeta": zeta, "positives_per_view": positives, "ratio": positives / expected})
    best = min(probes, key=lambda p: abs(math.log(p["ratio"])))
    why = (
        f"zeta {best['zeta']} was chosen of {', '.join(str(z) for z in CANDIDATES)}: in a short probe a view had "
        f"{best['positives_per_view']:.1f} positives, nearest to the {expected:.1f} that clusters of these sizes hold."
    )
    account = {"chosen": best["zeta"], "expected": expected, "probes": probes, "why": why}
    return best["zeta"], account | {"seconds": time.perf_counter() - started}


def _steps(stage: Stage, epoch: int) -> int:
    """Steps of one epoch of one probe (it has two): all probes cost a quarter of the stage and two epochs at most."""
    return max(1, min(epoch, int((0.25 * stage.epochs + 2) * epoch) // (2 * len(CANDIDATES))))
