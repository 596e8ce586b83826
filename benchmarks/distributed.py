"""1 -> 2 processes: the training step, encoding and prediction; and how the losses of CC grow with N and M.

    python -m benchmarks.distributed [--quick]

The growth is also written to docs/figures/growth.csv, and drawn from it; not with --quick.

Each case does the same work with one process and with two, of one thread each, which take turns. The time of a step, or
of the whole work, is that of the slower process; the best one counts, on the wall. Processor time, which leaves out the
waiting for messages, is beside it. On a busy machine, run this at a high priority.
"""

import csv
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from benchmarks import harness

FIGURE = Path(__file__).parents[1] / "docs/figures/growth"
TARGETS = {"training step": 1.6, "encoding": 1.8, "prediction": 1.8}
TURNS = 4


Times = list[tuple[float, float]]  # seconds on the wall and of the processor


def now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def between(first: tuple[float, float], last: tuple[float, float]) -> tuple[float, float]:
    return last[0] - first[0], last[1] - first[1]


class Watched:
    """CC's objective, and the times at which the training loop calls it: from one call to the next is one step."""

    def __init__(self) -> None:
        from c3clust.methods.cc import CCObjective

        self.objective, self.times = CCObjective(0.5, 1.0), []

    def __call__(self, network: object, batch: object) -> dict:
        self.times.append(now())
        return self.objective(network, batch)


def training(quick: bool, folder: Path) -> Callable[[], Times]:
    """Steps of CC on 32 px with the small network, batch 256 of all processes."""
    from c3clust import augment
    from c3clust.features.preprocess import Preprocessor
    from c3clust.methods.cc import CC
    from c3clust.training import Stage, TrainingContext

    steps, batch = (3, 64) if quick else (8, 256)
    x = np.random.default_rng(0).integers(0, 256, (steps * batch, 3, 32, 32), dtype=np.uint8)
    context = TrainingContext(x, (3, 32, 32), augment.policy("photo"), 0, torch.device("cpu"))
    method = CC(10)
    method.preprocessor_, method.choice_ = Preprocessor(), None
    network = context.build(method._build_network)

    def work() -> Times:
        watched = Watched()
        context.train(Stage("cc", 1, batch, 1e-3), network, watched)
        return [between(*pair) for pair in pairwise(watched.times)]

    return work


def timed(work: Callable[[], object]) -> Callable[[], Times]:
    """Work that is done once per round."""

    def run() -> Times:
        started = now()
        work()
        return [between(started, now())]

    return run


def encoding(quick: bool, folder: Path) -> Callable[[], Times]:
    """Features of pictures of 64 px by a ResNet-18 with random weights."""
    from c3clust import data, encoders
    from c3clust.networks import backbone

    n = 64 if quick else 1024
    samples = data.load(np.random.default_rng(0).integers(0, 256, (n, 3, 64, 64), dtype=np.uint8))
    torch.manual_seed(0)
    encoder = encoders.load(backbone("resnet18", (3, 64, 64), "imagenet")[0])
    encoder.validate(samples)
    number = iter(range(100))
    return timed(lambda: encoders.features(encoder, samples, folder=folder / f"features-{next(number)}"))


def prediction(quick: bool, folder: Path) -> Callable[[], Times]:
    """Clusters of pictures of 64 px by a network with random weights, from memory."""
    from c3clust.features.preprocess import Preprocessor
    from c3clust.methods.cc import CC

    n = 64 if quick else 2048
    x = np.random.default_rng(0).integers(0, 256, (n, 3, 64, 64), dtype=np.uint8)
    method = CC(10, backbone="resnet18", stem="imagenet")
    method.preprocessor_, method.choice_ = Preprocessor(shape=(3, 64, 64)), None
    torch.manual_seed(0)
    method.network_ = method._build_network((3, 64, 64)).eval()
    return timed(lambda: method.assign(x, shared=True))


CASES = {"training step": training, "encoding": encoding, "prediction": prediction}


def child(case: str, quick: str, rounds: str, folder: str) -> None:
    """One of the processes. The first prints the best time, on the wall and of the processor."""
    from c3clust import dist

    joined = dist.join()
    work, took = CASES[case](quick == "1", Path(folder)), []
    for number in range(int(rounds) + 1):
        dist.wait()
        own = work()
        took += own if number else []  # the first round warms up
    longest = [
        [max(clock) for clock in zip(*each, strict=True)] for each in zip(*dist.gather_objects(took), strict=True)
    ]
    if dist.rank() == 0:
        print(json.dumps([min(clock) for clock in zip(*longest, strict=True)]))
    if joined:
        dist.leave()


def measure(case: str, world: int, quick: bool, rounds: int) -> list[float]:
    """Seconds on the wall and of the processor, of one process or several."""
    with socket.socket() as taken, tempfile.TemporaryDirectory() as folder:
        taken.bind(("127.0.0.1", 0))
        shared = {"WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(taken.getsockname()[1])}
        taken.close()
        words = ["--child", case, str(int(quick)), str(rounds), folder]
        started = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.distributed", *words],
                env=os.environ | shared | {"RANK": str(rank), "OMP_NUM_THREADS": "1"},
                cwd=Path(__file__).parents[1],
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(world)
        ]
        first, *_ = [process.communicate()[0] for process in started]
        return json.loads(first)


def growth(quick: bool) -> list[harness.Row]:
    """The losses of CC with their gradients in one process, over N and over M."""
    from c3clust.methods.cc import cluster_loss, instance_loss

    def loss(function: Callable, n: int, width: int) -> Callable[[], None]:
        pair = [torch.randn(n, width).softmax(dim=1).requires_grad_() for _ in range(2)]
        return lambda: function(*pair).backward()

    sizes, numbers = ((256,), (10,)) if quick else ((512, 1024, 2048, 4096, 8192), (10, 100, 500, 1000, 2000, 4000))
    cases = {("instance", n, 128): loss(instance_loss, n, 128) for n in sizes}
    cases |= {("cluster", 256, m): loss(cluster_loss, 256, m) for m in numbers}
    times = harness.best_times(cases, 1 if quick else 3)
    if not quick:
        lines = [",".join(map(str, (*case, f"{times[case]:.2f}"))) for case in cases]
        FIGURE.with_suffix(".csv").write_text("\n".join(["loss,rows,columns,milliseconds", *lines, ""]))
        draw()
    names = {"instance": "instance loss, N = {}, D = {}", "cluster": "cluster loss, N = {}, M = {}"}
    return [harness.Row(names[case[0]].format(*case[1:]), "reported", f"{times[case]:.1f} ms", None) for case in cases]


def draw() -> None:
    """Milliseconds over N and over M, from the CSV file alone."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with FIGURE.with_suffix(".csv").open() as file:
        lines = list(csv.DictReader(file))
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4))
    for axis, loss, size, label in zip(
        axes, ("instance", "cluster"), ("rows", "columns"), ("N, images per batch", "M, clusters"), strict=True
    ):
        some = [line for line in lines if line["loss"] == loss]
        x, y = ([float(line[name]) for line in some] for name in (size, "milliseconds"))
        axis.loglog(x, y, "ko-", label="measured")
        axis.loglog(
            x, [y[-1] * (value / x[-1]) ** 2 for value in x], ":", color="grey", label="in proportion to the square"
        )
        axis.set(title=f"{loss} loss with its gradient", xlabel=label, ylabel="milliseconds of one core")
        axis.set_xticks(x, [f"{value:,.0f}" for value in x], fontsize=7)
        axis.minorticks_off()
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(FIGURE.with_suffix(".png"), dpi=110)


def compare(case: str, quick: bool) -> list[list[float]]:
    """The best times of one process and of two, which take turns."""
    turns, rounds = (1, 1) if quick else (TURNS, 2)
    found = [[measure(case, world, quick, rounds) for world in (1, 2)] for _ in range(turns)]
    return [[min(clock) for clock in zip(*of_world, strict=True)] for of_world in zip(*found, strict=True)]


def rows(quick: bool) -> list[harness.Row]:
    found = growth(quick)
    for case, target in TARGETS.items():
        one, two = compare(case, quick)
        note = f"{one[0]:.3g} s against {two[0]:.3g} s; of the processor {one[1]:.3g} s against {two[1]:.3g} s each"
        found.append(harness.at_least(f"{case}, 1 → 2 processes, on the wall", one[0] / two[0], target, note))
    return found


if __name__ == "__main__":
    harness.run(rows, __doc__, child)
