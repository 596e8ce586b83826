"""1 -> 2 processes: the training step, encoding and prediction; and how the losses of CC grow with N and M.

    python -m benchmarks.distributed [--quick]

Each case does the same work with one process and with two, of one thread each. Times are the longest of the processes':
on the wall, and of the processor, which on an idle machine with two cores is about the same. On a busy machine the time
on the wall says little; processor time leaves out the waiting for messages.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from benchmarks import harness

TARGETS = {"training step": 1.6, "encoding": 1.8, "prediction": 1.8}


def training(quick: bool, folder: Path) -> Callable[[], object]:
    """Steps of CC on 32 px with the small network, batch 256 of all processes."""
    from c3clust import augment
    from c3clust.methods.cc import CC, CCObjective
    from c3clust.preprocess import Preprocessor
    from c3clust.training import Stage, TrainingContext

    steps, batch = (1, 64) if quick else (6, 256)
    x = np.random.default_rng(0).integers(0, 256, (steps * batch, 3, 32, 32), dtype=np.uint8)
    context = TrainingContext(x, (3, 32, 32), augment.policy("photo"), 0, torch.device("cpu"))
    method = CC(10)
    method.preprocessor_, method.choice_ = Preprocessor(), None
    network = context.build(method._build_network)
    return lambda: context.train(Stage("cc", 1, batch, 1e-3), network, CCObjective(0.5, 1.0))


def encoding(quick: bool, folder: Path) -> Callable[[], object]:
    """Features of pictures of 64 px by a ResNet-18 with random weights."""
    from c3clust import data, encoders
    from c3clust.networks import backbone

    n = 64 if quick else 1024
    samples = data.load(np.random.default_rng(0).integers(0, 256, (n, 3, 64, 64), dtype=np.uint8))
    torch.manual_seed(0)
    encoder = encoders.load(backbone("resnet18", (3, 64, 64), "imagenet")[0])
    encoder.validate(samples)
    number = iter(range(100))
    return lambda: encoders.features(encoder, samples, folder=folder / f"features-{next(number)}")


def prediction(quick: bool, folder: Path) -> Callable[[], object]:
    """Clusters of pictures of 64 px by a network with random weights, from memory."""
    from c3clust.methods.cc import CC
    from c3clust.preprocess import Preprocessor

    n = 64 if quick else 2048
    x = np.random.default_rng(0).integers(0, 256, (n, 3, 64, 64), dtype=np.uint8)
    method = CC(10, backbone="resnet18", stem="imagenet")
    method.preprocessor_, method.choice_ = Preprocessor(shape=(3, 64, 64)), None
    torch.manual_seed(0)
    method.network_ = method._build_network((3, 64, 64)).eval()
    return lambda: method._predict(x, shared=True)


CASES = {"training step": training, "encoding": encoding, "prediction": prediction}


def child(case: str, quick: str, rounds: str, folder: str) -> None:
    """One of the processes: the best round, on the wall and of the processor."""
    from c3clust import dist

    dist.join()
    work, best = CASES[case](quick == "1", Path(folder)), [float("inf")] * 2
    for _ in range(int(rounds) + 1):  # the first round warms up
        dist.wait()
        start = time.perf_counter(), time.process_time()
        work()
        took = time.perf_counter() - start[0], time.process_time() - start[1]
        best = [min(pair) for pair in zip(best, took, strict=True)]
    longest = [max(times) for times in zip(*dist.gather_objects(best), strict=True)]
    if dist.rank() == 0:
        print(json.dumps(longest))


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

    sizes, numbers = ((256,), (10,)) if quick else ((512, 1024, 2048, 4096), (10, 100, 1000, 4000))
    cases = {f"instance loss, N = {n}, D = 128": loss(instance_loss, n, 128) for n in sizes}
    cases |= {f"cluster loss, N = 256, M = {m}": loss(cluster_loss, 256, m) for m in numbers}
    times = harness.best_times(cases, 1 if quick else 3)
    return [harness.Row(case, "reported", f"{times[case]:.1f} ms", None) for case in cases]


def rows(quick: bool) -> list[harness.Row]:
    found, rounds = growth(quick), 1 if quick else 3
    for case, target in TARGETS.items():
        one, two = (measure(case, world, quick, rounds) for world in (1, 2))
        note = f"on the wall {one[0]:.2f} s against {two[0]:.2f} s ({one[0] / two[0]:.2f}×), " + (
            f"of the processor {one[1]:.2f} s against {two[1]:.2f} s each"
        )
        found.append(harness.at_least(f"{case}, 1 → 2 processes, processor time", one[1] / two[1], target, note))
    return found


if __name__ == "__main__":
    harness.run(rows, __doc__, child)
