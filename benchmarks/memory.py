"""Peak memory while fitting n and 4n images from a folder, streamed, as Markdown.

    python -m benchmarks.memory [--quick]

Each fit has a process of its own; its peak resident size is VmHWM of Linux, libraries included. The network is tiny:
it is the pictures that are not to pile up. Held at 128 px, 4n of them would take 4n · 48 kB.
"""

import json
import os
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from torch import nn

from benchmarks import harness
from c3clust import CC, data

SIDE, DISTINCT = 128, 50


def write_pictures(folder: Path, n: int) -> None:
    """n JPEGs of noise on a few shades, most of them links to the same files."""
    random = np.random.default_rng(0)
    for i in range(n):
        path = folder / f"{i:05d}.jpg"
        if i < DISTINCT:
            coarse = random.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(coarse).resize((SIDE, SIDE)).save(path, quality=80)
        else:
            os.link(folder / f"{i % DISTINCT:05d}.jpg", path)


def child(folder: str) -> None:
    images = data.load(folder, image_size=SIDE, memory=4 * 2**20, workers=1)
    if isinstance(images.x, np.ndarray):
        raise SystemExit("the pictures were not streamed")
    network = nn.Sequential(nn.AdaptiveAvgPool2d(8), nn.Flatten(), nn.Linear(192, 32))
    CC(4, backbone=network, epochs=1, batch_size=128, random_state=0, device="cpu").fit(images)
    print(json.dumps(harness.peak_resident() / 1024))


def rows(quick: bool) -> list[harness.Row]:
    n, figure = 250 if quick else 1000, "peak memory of fit, 4n against n, streamed"
    if not Path("/proc/self/status").exists():
        return [harness.skipped(figure, "grows < 10 %", "only Linux reports the peak")]
    peaks = []
    for count in (n, 4 * n):
        with tempfile.TemporaryDirectory() as folder:
            write_pictures(Path(folder), count)
            peaks.append(harness.in_process("memory", folder))
    growth = peaks[1] / peaks[0] - 1
    note = f"n = {n}: {peaks[0]:.0f} MB, {4 * n}: {peaks[1]:.0f} MB; all decoded: {4 * n * 3 * SIDE**2 / 2**20:.0f} MB"
    return [harness.Row(figure, "grows < 10 %", f"{100 * growth:.1f} %", growth < 0.10, note)]


if __name__ == "__main__":
    harness.run(rows, __doc__, child)
