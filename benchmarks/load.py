"""CPU time and peak memory of whole fits over the number of samples n and of clusters K, and how fast they grow.

    python -m benchmarks.load [--quick] [--draw] [--methods kmeans consensus] [--sizes 1000 ...] [--clusters 10 ...]

n normal vectors of 64 features around K random centres, in one .npy file; `c3clust fit` in a process of its own, with
one thread. Seconds are those of the processor (user and system), which a busy machine hardly changes; the peak is the
largest resident size, libraries included. A row that is in docs/figures/load.csv is replaced when it is measured again.
The exponent of a step from n to n' is log(t' / t) / log(n' / n): 1 is growth in proportion. `--draw` draws
docs/figures/load.png and prints the tables from that file.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
from itertools import pairwise
from math import log
from pathlib import Path

import numpy as np

from benchmarks import harness

METHODS, SIZES, CLUSTERS = ("kmeans", "consensus"), (1_000, 10_000, 100_000, 1_000_000), (10, 100, 1000)
WIDTH, BLOCK, SPREAD = 64, 50_000, 0.5
FEWEST = 4  # samples per cluster
FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "load"
Row = dict[str, str]


def write_vectors(path: Path, n: int, clusters: int) -> np.ndarray:
    """Write the vectors, a block at a time; their clusters."""
    random = np.random.default_rng(0)
    centres, y = random.normal(0, 1, (clusters, WIDTH)), random.integers(0, clusters, n)
    x = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, WIDTH))
    for i in range(0, n, BLOCK):
        rows = centres[y[i : i + BLOCK]]
        x[i : i + BLOCK] = rows + random.normal(0, SPREAD, rows.shape)
    x.flush()
    return y


def child(*words: str) -> None:
    """One command, and what it took."""
    from c3clust import cli

    sys.argv = ["c3clust", *words]
    try:
        cli.main()
    except SystemExit as stop:
        if stop.code:
            raise
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps([used.ru_utime + used.ru_stime, harness.peak_resident() / 2**20]))


def measure(method: str, n: int, clusters: int) -> Row:
    """One fit in a process of its own."""
    from c3clust import metrics
    from c3clust.records.assignments import Assignments

    with tempfile.TemporaryDirectory() as folder:
        path, run = Path(folder, "x.npy"), Path(folder, "run")
        y = write_vectors(path, n, clusters)
        words = ["fit", path, "-k", clusters, "--method", method, "-o", run, "--quiet"]
        line = [sys.executable, "-m", "benchmarks.load", "--child", *map(str, words)]
        one = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        root = Path(__file__).parents[1]
        out = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True, cwd=root, env=one).stdout
        seconds, peak = json.loads(out.splitlines()[-1])
        ari = metrics.scores(y, Assignments.read(run).clusters)["ari"]
    named = {"method": method, "n": str(n), "clusters": str(clusters)}
    return named | {"seconds": f"{seconds:.2f}", "peak_gib": f"{peak:.3f}", "ari": f"{ari:.4f}"}


def read() -> dict[tuple[str, int, int], Row]:
    path = FIGURE.with_suffix(".csv")
    if not path.exists():
        return {}
    with path.open() as file:
        return {(row["method"], int(row["n"]), int(row["clusters"])): row for row in csv.DictReader(file)}


def write(rows: dict[tuple[str, int, int], Row]) -> None:
    ordered = [rows[key] for key in sorted(rows)]
    with FIGURE.with_suffix(".csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(ordered[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(ordered)


def exponents(seconds: dict[int, float]) -> list[float]:
    """Of each step between neighbouring sizes."""
    return [log(seconds[b] / seconds[a]) / log(b / a) for a, b in pairwise(sorted(seconds))]


def lines(rows: dict[tuple[str, int, int], Row], column: str, by: str) -> dict[tuple[str, int], dict[int, float]]:
    """Values of a column over n (one line per method and K) or over K (one per method and n)."""
    found: dict[tuple[str, int], dict[int, float]] = {}
    for (method, n, clusters), row in sorted(rows.items()):
        fixed, moving = (clusters, n) if by == "n" else (n, clusters)
        found.setdefault((method, fixed), {})[moving] = float(row[column])
    return found


def show(rows: dict[tuple[str, int, int], Row]) -> None:
    """The tables of docs/SCALING.md."""
    sizes = sorted({n for _, n, _ in rows})
    print("| method, K | " + " | ".join(f"n = {n:,}" for n in sizes) + " | exponents in n |")
    print("|---" * (len(sizes) + 2) + "|")
    peaks = lines(rows, "peak_gib", "n")
    for (method, clusters), seconds in lines(rows, "seconds", "n").items():
        cells = [f"{seconds[n]:.1f} s, {peaks[method, clusters][n]:.2f} GiB" if n in seconds else "" for n in sizes]
        print(f"| {method}, {clusters} | {' | '.join(cells)} | {_joined(exponents(seconds))} |")
    print("\n| method, n | exponents in K |\n|---|---|")
    for (method, n), seconds in lines(rows, "seconds", "K").items():
        print(f"| {method}, {n:,} | {_joined(exponents(seconds))} |")


def _joined(values: list[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


def draw(rows: dict[tuple[str, int, int], Row]) -> None:
    """Seconds and memory over n and over K, from the CSV file alone."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), sharey="row")
    for row, (column, label) in zip(axes, (("seconds", "seconds of CPU time"), ("peak_gib", "GiB")), strict=True):
        for axis, by in zip(row, ("n", "K"), strict=True):
            for (method, fixed), values in lines(rows, column, by).items():
                name = f"{method}, {'K' if by == 'n' else 'n'} = {fixed:,}"
                axis.loglog(*zip(*values.items(), strict=True), "o-" if method == "consensus" else "s--", label=name)
            axis.set(xlabel="samples n" if by == "n" else "clusters K", ylabel=label)
    axes[0][0].legend(fontsize=6)
    axes[0][1].legend(fontsize=6)
    figure.tight_layout()
    figure.savefig(FIGURE.with_suffix(".png"), dpi=110)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        return child(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, nothing is written: the script is tried out")
    parser.add_argument("--draw", action="store_true", help="draw the figure from the CSV file, measure nothing")
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--clusters", nargs="+", type=int, default=CLUSTERS)
    chosen = parser.parse_args()
    rows = {} if chosen.quick else read()
    sizes, clusters = ((1000, 2000), (10,)) if chosen.quick else (chosen.sizes, chosen.clusters)
    for method, n, k in [(m, n, k) for n in sizes for k in clusters for m in chosen.methods if n >= FEWEST * k]:
        if not chosen.draw:
            rows[method, n, k] = measure(method, n, k)
            print(rows[method, n, k], flush=True)
            if not chosen.quick:
                write(rows)
    show(rows)
    if not chosen.quick:
        draw(rows)
    return None


if __name__ == "__main__":
    main()
