"""Whole fits: the digits demo, and how well the time of a fit is forecast, as Markdown.

    python -m benchmarks.fits [--quick]

`c3clust demo` is a process of its own with all cores. Its time is that on the wall, so it needs an idle machine; the
processor time of all threads is beside it. mnist.py has MNIST-10k, which takes minutes.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import Tensor

from benchmarks import harness
from c3clust import augment
from c3clust.methods.cc import CCObjective
from c3clust.networks import ClusterNet
from c3clust.networks import backbone as make_backbone
from c3clust.training import Batch, Stage, TrainingContext
from c3clust.training.forecast import FIRST, Forecast

SHAPE = (1, 8, 8)
DEMO = 30  # seconds


def timed(words: list[str]) -> tuple[float, float]:
    """Seconds on the wall and of processor time that a command takes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "c3clust", *words], check=True, capture_output=True)
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def demo_row() -> harness.Row:
    with tempfile.TemporaryDirectory() as folder:
        wall, processor = timed(["demo", "-o", str(Path(folder, "run"))])
    note = f"on the wall; {processor:.0f} s of processor time"
    return harness.Row(
        "digits demo: k-means, CC, C3, default, report", f"≤ {DEMO} s", f"{wall:.0f} s", wall <= DEMO, note
    )


class Estimated:
    """An objective that remembers the first estimate of the time that is left, and when it was made."""

    def __init__(self, forecast: Forecast) -> None:
        self.objective, self.forecast = CCObjective(0.5, 1.0), forecast
        self.left, self.when = 0.0, 0.0

    def __call__(self, network: ClusterNet, batch: Batch) -> dict[str, Tensor]:
        if not self.left and (left := self.forecast.left) is not None:
            self.left, self.when = left, time.perf_counter()
        return self.objective(network, batch)


def forecast_row(quick: bool) -> harness.Row:
    """Two stages on digits: what was forecast after the first steps, against the time that they took."""
    stages = [Stage("first", 3 if quick else 8, 128, 1e-3), Stage("second", 2 if quick else 4, 128, 1e-3)]
    x = (load_digits().images[:, None] / 16).astype("float32")
    forecast = Forecast(stages)
    context = TrainingContext(x, SHAPE, augment.policy("digit"), 0, torch.device("cpu"), True, forecast=forecast)
    estimated = Estimated(forecast)

    def make(shape: tuple[int, ...]) -> ClusterNet:
        return ClusterNet(*make_backbone("convnet", shape), 128, 10)

    network = context.build(make)
    for stage in stages:
        context.train(stage, network, estimated)
    ratio = estimated.left / (time.perf_counter() - estimated.when)
    note = f"{estimated.left:.0f} s were forecast after {FIRST} steps"
    return harness.Row("forecast of a fit / time it took", "0.75 to 1.33", f"{ratio:.2f}", 0.75 <= ratio <= 1.33, note)


def rows(quick: bool) -> list[harness.Row]:
    return [demo_row(), forecast_row(quick)]


if __name__ == "__main__":
    harness.run(rows, __doc__)
