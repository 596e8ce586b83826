"""Features of photographs against the bare encoder on pictures that are ready for it, and that encoder against torch.

python -m benchmarks.encoders [--quick]
"""

import tempfile
from pathlib import Path

import numpy as np
import torch

from benchmarks import harness
from c3clust import augment, data, encoders

CASES = ((128, 192), (224, 64))  # pixels, pictures


def bare(encoder: encoders.Encoder, ready: list[torch.Tensor], passes: int) -> None:
    """The network alone, batch by batch."""
    for _ in range(passes):
        for x in ready:
            encoder.features(x)


def eager(encoder: encoders.Encoder, ready: list[torch.Tensor]) -> None:
    """The network alone, by torch."""
    with torch.inference_mode():
        for x in ready:
            encoder.network(x.contiguous(memory_format=torch.channels_last))


def ours(encoder: encoders.Encoder, images: data.Dataset, views: int) -> None:
    """All that a run does: read, resize, make views, encode, write, hash."""
    with tempfile.TemporaryDirectory() as folder:
        encoders.features(encoder, images, augment.policy("photo"), views, folder=Path(folder))


def rows(quick: bool) -> list[harness.Row]:
    found = []
    for side, n in CASES:
        encoder = encoders.load("efficientnet-lite0").resize_to(side)
        n = n // 4 if quick else n
        images = data.load(np.random.default_rng(0).integers(0, 256, (n, 3, side, side), dtype=np.uint8))
        parts = [images.x[i : i + encoder.batch] for i in range(0, n, encoder.batch)]
        ready = [augment.prepare(torch.from_numpy(x), (side, side)) for x in parts]
        t = harness.best_times(
            {
                "compiled": lambda encoder=encoder, ready=ready: bare(encoder, ready, 1),
                "torch": lambda encoder=encoder, ready=ready: eager(encoder, ready),
            },
            rounds=2 if quick else 5,
        )
        gain, note = (
            t["torch"] / t["compiled"],
            f"{1e3 * n / t['compiled']:.0f} a second against {1e3 * n / t['torch']:.0f}",
        )
        figure = f"efficientnet-lite0, {side} px, against torch"
        found.append(harness.Row(figure, "≥ 2.5 times", f"{gain:.1f} times", gain >= 2.5, note))
        for views, what in ((0, "pictures as they are"), (4, "and four views of each")):
            candidates = {
                "ours": lambda encoder=encoder, images=images, views=views: ours(encoder, images, views),
                "bare": lambda encoder=encoder, ready=ready, views=views: bare(encoder, ready, 1 + views),
            }
            t = harness.best_times(candidates, rounds=2 if quick else 3)
            share, rate = t["bare"] / t["ours"], 1e3 * n * (1 + views) / t["ours"]
            note = f"{rate:.0f} a second against {1e3 * n * (1 + views) / t['bare']:.0f}"
            figure = f"features / bare efficientnet-lite0, {side} px, {what}"
            found.append(harness.Row(figure, "≥ 90 %", f"{share:.0%}", share >= 0.9, note))
    return found


if __name__ == "__main__":
    harness.run(rows, __doc__)
