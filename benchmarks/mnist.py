"""The time of Consensus on MNIST-10k, with the accuracy that it reaches, as Markdown.

    python -m benchmarks.mnist [--quick]

One process with all cores, seed 0; the time on the wall, so it needs an idle machine. `--quick` makes one epoch.
"""

import json
import os
import tempfile
from pathlib import Path

from benchmarks import harness
from benchmarks.fits import timed

LIMIT, LEAST = 150, 0.957  # seconds, ACC


def rows(quick: bool) -> list[harness.Row]:
    figure = "Consensus on mnist-10k"
    if not (harness.SHARED / "mnist").exists():
        return [harness.skipped(figure, f"≤ {LIMIT} s", "mnist is not here")]
    os.environ.setdefault("C3CLUST_DATA", str(harness.SHARED))
    short = ["--set", "epochs=1", "--set", "guided_epochs=1"] if quick else []
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        wall, processor = timed(
            ["fit", "mnist-10k", "-k", "10", "--method", "consensus", "--seed", "0", "-o", str(run), *short]
        )
        acc = json.loads((run / "record.json").read_text())["scores"]["acc"]
    note = f"on the wall, ACC {acc:.3f}; {processor:.0f} s of processor time"
    target = f"≤ {LIMIT} s, ACC ≥ {LEAST}"
    return [harness.Row(figure, target, f"{wall:.0f} s", wall <= LIMIT and acc >= LEAST, note)]


if __name__ == "__main__":
    harness.run(rows, __doc__)
