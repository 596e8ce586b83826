"""Peak memory of fit and predict for 5,000, 20,000 and 80,000 pictures of 32 px, as Markdown.

    python -m benchmarks.peak [--quick]

Pictures are colour bytes in one .npy file. Each fit has a process of its own, as has each predict; a figure is VmHWM of
Linux, libraries and the pages of the file included. C3 makes one epoch of each stage with a tiny network: the network,
its batches and the epochs do not depend on the number of pictures. No report is written: what it needs is bounded by
the samples that it shows. docs/RELIABILITY.md has the results.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
from torch import nn

from benchmarks import harness

CASES = {
    "k-means": ("kmeans", {"n_init": 1}, None),
    "k-means, `--memory 100`": ("kmeans", {"n_init": 1}, 100 * 2**20),
    "C3": ("c3", {"cc_epochs": 1, "epochs": 1}, None),
}
BLOCK = 1000


def write_pictures(path: Path, n: int) -> None:
    """Noise around ten pictures, a block at a time."""
    random = np.random.default_rng(0)
    kinds = random.integers(40, 216, (10, 3, 32, 32))
    x = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=(n, 3, 32, 32))
    for i in range(0, n, BLOCK):
        rows = kinds[random.integers(0, 10, min(BLOCK, n - i))]
        x[i : i + BLOCK] = np.clip(rows + random.normal(0, 30, rows.shape), 0, 255)
    x.flush()


def tiny() -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(192, 32))


def child(what: str, case: str, path: str, run: str) -> None:
    from c3clust import data, methods

    method, params, memory = CASES[case]
    if method == "c3":
        params = params | {"backbone": tiny(), "device": "cpu"}
    samples = data.load(path, memory=memory)
    if what == "fit":
        methods.load(method)(10, random_state=0, **params).fit(samples).save(run)
    else:
        given = {"backbone": tiny()} if method == "c3" else {}
        methods.load_model(run, **given).predict(samples)
    print(json.dumps(harness.peak_resident() / 1024))


def rows(quick: bool) -> list[harness.Row]:
    found = []
    for n in (500, 2000) if quick else (5000, 20_000, 80_000):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "x.npy")
            write_pictures(path, n)
            for number, case in enumerate(CASES):
                run = Path(folder, str(number))
                fit, predict = (harness.in_process("peak", what, case, path, run) for what in ("fit", "predict"))
                sizes = f"as bytes {n * 3072 / 2**20:.0f} MB, as float32 {n * 12288 / 2**20:.0f} MB"
                note = f"predict {predict:.0f} MB; {sizes}"
                found.append(harness.Row(f"{case}, {n:,} pictures", "", f"fit {fit:.0f} MB", None, note))
    return found


if __name__ == "__main__":
    harness.run(rows, __doc__, child)
