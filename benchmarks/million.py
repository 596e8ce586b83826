"""Time and memory of Consensus for 100,000 to a million vectors of 64 features in 100 clusters, stage by stage.

    python -m benchmarks.million [--quick] [--draw]

The vectors are normal around random centres, in one .npy file. fit and predict are real commands in processes of their
own; times are CPU time, which a busy machine hardly changes, and beside it on the wall.
Peak memory is VmHWM of Linux, libraries and the pages of the file included. The results go to
docs/figures/million.csv, and `--draw` draws docs/figures/million.png from that file.
"""

import argparse
import contextlib
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import harness

SIZES = (100_000, 300_000, 1_000_000)
CLUSTERS, WIDTH, BLOCK = 100, 64, 50_000
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "million"
# stage: where the function is that does it
FIT = {
    "read": "c3clust.data:load",
    "scale": "c3clust.features.preprocess:Preprocessor.fit",
    "train heads": "c3clust.methods.consensus:Consensus._fit",
    "assign": "c3clust.training.context:TrainingContext.outputs",
    "outliers": "c3clust.estimator.prediction:Fitted._judge",
    "write": "c3clust.runs.run:Run._write",
    "report": "c3clust.report.page:write",
}
PREDICT = {"read": "c3clust.data:load", "predict": "c3clust.estimator.prediction:Fitted.assign"}


def write_vectors(path: Path, n: int) -> np.ndarray:
    """Write the vectors, a block at a time; their clusters."""
    random = np.random.default_rng(0)
    centres, y = random.normal(0, 1, (CLUSTERS, WIDTH)), random.integers(0, CLUSTERS, n)
    x = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, WIDTH))
    for i in range(0, n, BLOCK):
        rows = centres[y[i : i + BLOCK]]
        x[i : i + BLOCK] = rows + random.normal(0, 0.5, rows.shape)
    x.flush()
    return y


Times = dict[str, list[float]]  # of the processor and on the wall, by stage


def now() -> list[float]:
    return [time.process_time(), time.perf_counter()]


def timed(stages: dict[str, str], seconds: Times) -> None:
    """Wrap the function of each stage, so that it adds its time."""
    import importlib

    for stage, where in stages.items():
        module, _, path = where.partition(":")
        owner, (*parts, name) = importlib.import_module(module), path.split(".")
        for part in parts:
            owner = getattr(owner, part)
        setattr(owner, name, _timed(getattr(owner, name), stage, seconds))


def _timed(function, stage, seconds):
    def call(*args, **named):
        start = now()
        try:
            return function(*args, **named)
        finally:
            before = seconds.get(stage, [0.0, 0.0])
            seconds[stage] = [b + n - s for b, n, s in zip(before, now(), start, strict=True)]

    return call


def child(what: str, *words: str) -> None:
    """One command, and what it took."""
    from c3clust import cli

    seconds: Times = {}
    timed(FIT if what == "fit" else PREDICT, seconds)
    start, sys.argv = now(), ["c3clust", what, *words]
    with contextlib.suppress(SystemExit):
        cli.main()
    seconds["whole command"] = [n - s for n, s in zip(now(), start, strict=True)]
    print(json.dumps({"seconds": seconds, "peak": harness.peak_resident() / 2**20}))


def command(what: str, *words: object) -> dict:
    """The command in a process of its own."""
    line = [sys.executable, "-m", "benchmarks.million", "--child", what, *map(str, words)]
    root = Path(__file__).parents[1]
    out = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True, cwd=root).stdout
    return json.loads(out.splitlines()[-1])


def measure(sizes: tuple[int, ...]) -> list[dict]:
    from c3clust import metrics
    from c3clust.records.assignments import Assignments

    rows = []
    for n in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path, run = Path(folder, "x.npy"), Path(folder, "run")
            y = write_vectors(path, n)
            load = os.getloadavg()[0]
            fit = command("fit", path, "-k", CLUSTERS, "-o", run, "--quiet")
            predict = command("predict", run, path, "-o", Path(folder, "found.csv"))
            found = Assignments.read(run).clusters
            for what, took in (("fit", fit), ("predict", predict)):
                peak = {"peak_gib": round(took["peak"], 3), "load": round(load, 1)}
                scores = {"ari": round(metrics.scores(y, found)["ari"], 4)}
                rows += [
                    {"n": n, "command": what, "stage": stage, "seconds": round(of_processor, 2)}
                    | {"wall": round(on_wall, 2), **peak, **scores}
                    for stage, (of_processor, on_wall) in took["seconds"].items()
                ]
        print(json.dumps(rows[-1]), flush=True)
    return rows


def draw() -> None:
    """Seconds of each stage over n, from the CSV file alone."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with FIGURE.with_suffix(".csv").open() as file:
        rows = list(csv.DictReader(file))
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6))
    for axis, what in zip(axes, ("fit", "predict"), strict=False):
        for stage in dict.fromkeys(row["stage"] for row in rows if row["command"] == what):
            some = [row for row in rows if (row["command"], row["stage"]) == (what, stage)]
            n, seconds = ([float(row[name]) for row in some] for name in ("n", "seconds"))
            axis.plot(n, seconds, "ko-" if stage == "whole command" else "o-", label=stage)
        axis.set(title=what, xlabel="vectors", ylabel="seconds of CPU time", xlim=0)
        axis.set_ylim(0, 1.4 * axis.get_ylim()[1])  # room for the legend
        axis.legend(fontsize=7, ncols=2, loc="upper left")
    for what in ("fit", "predict"):
        some = [row for row in rows if (row["command"], row["stage"]) == (what, "whole command")]
        axes[2].plot([float(row["n"]) for row in some], [float(row["peak_gib"]) for row in some], "o-", label=what)
    axes[2].axhline(4, color="grey", linestyle=":")
    axes[2].set(title="peak memory", xlabel="vectors", ylabel="GiB", xlim=0, ylim=0)
    axes[2].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(FIGURE.with_suffix(".png"), dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing is written: the script is tried out")
    parser.add_argument("--draw", action="store_true", help="draw the figure from the CSV file, measure nothing")
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:])
    arguments = parser.parse_args()
    if arguments.draw:
        return draw()
    rows = measure((5_000, 30_000) if arguments.quick else SIZES)
    if not arguments.quick:
        with FIGURE.with_suffix(".csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        draw()
    return None


if __name__ == "__main__":
    main()
