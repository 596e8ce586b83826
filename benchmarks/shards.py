"""A million vectors through `c3clust predict shards/ --to parts/`, with one worker and with two.

    python -m benchmarks.shards [--quick] [--rounds 3]

Twenty Parquet shards of 64 features; the workers are real commands of one thread each. Seconds on the wall (until the
last worker ends) and of the processor (of the busiest worker), the best round of each; beside them the same for a
worker that finds every part there: what a command needs to start. The parts of two workers must be those of one, byte
for byte, and nothing may be missing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import parquet

from c3clust import Consensus
from c3clust.batch import merge_parts

WIDTH, CLUSTERS, SHARDS = 64, 20, 20
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1"}


def write_shards(folder: Path, n: int) -> np.ndarray:
    """The vectors of the first shard; all are normal around random centres."""
    random = np.random.default_rng(0)
    centres = random.normal(0, 1, (CLUSTERS, WIDTH))
    folder.mkdir()
    first: list[np.ndarray] = []
    for i in range(SHARDS):
        y = random.integers(0, CLUSTERS, n // SHARDS)
        x = (centres[y] + random.normal(0, 0.5, (len(y), WIDTH))).astype(np.float32)
        column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(x.reshape(-1)), WIDTH)
        names = [f"{i}-{j}" for j in range(len(x))]
        parquet.write_table(pyarrow.table({"id": names, "embedding": column}), folder / f"{i:03}.parquet")
        first = first or [x]
    return first[0]


def run_workers(model: Path, shards: Path, parts: Path, count: int) -> tuple[float, float]:
    """Seconds on the wall until the last of the workers ends, and of the processor of the busiest one."""
    started = time.perf_counter()
    line = [sys.executable, "-m", "c3clust", "predict", str(model), str(shards), "--to", str(parts), "--workers", "1"]
    workers = [
        subprocess.Popen([*line, "--part", f"{i}/{count}"], env=ENVIRONMENT, stdout=subprocess.DEVNULL)
        for i in range(1, count + 1)
    ]
    used = []
    for worker in workers:
        _, code, usage = os.wait4(worker.pid, 0)
        if code:
            raise SystemExit(f"A worker ended with {code}.")
        used.append(usage.ru_utime + usage.ru_stime)
    return time.perf_counter() - started, max(used)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="20,000 vectors, one round: the script is tried out")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    n, rounds = (20_000, 1) if chosen.quick else (1_000_000, chosen.rounds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        x = write_shards(folder / "shards", n)
        Consensus(CLUSTERS, random_state=0).fit(x[:2000]).save(folder / "run")
        Consensus(CLUSTERS, random_state=0).fit(x[:2000]).to_onnx(folder / "run.onnx")
        for model in ("run", "run.onnx"):
            found: dict[object, list[tuple[float, float]]] = {1: [], 2: [], "start": []}
            for r in range(rounds):
                for count in (1, 2):
                    parts = folder / f"parts-{model}-{r}-{count}"
                    found[count].append(run_workers(folder / model, folder / "shards", parts, count))
                found["start"].append(run_workers(folder / model, folder / "shards", parts, 1))
                one = folder / f"parts-{model}-{r}-1"
                same = all(path.read_bytes() == (parts / path.name).read_bytes() for path in one.iterdir())
                whole = merge_parts(parts).samples == n
                print(f"{model}: identical {same}, complete {whole}, load {os.getloadavg()[0]:.1f}", found, flush=True)
            for what, column in (("on the wall", 0), ("of the processor", 1)):
                one, two, start = (min(each[column] for each in found[key]) for key in (1, 2, "start"))
                alone = (one - start) / (two - start)
                print(
                    f"{model}, {what}: {one:.1f} s, {two:.1f} s, {one / two:.2f} x; start {start:.1f} s, {alone:.2f} x"
                )


if __name__ == "__main__":
    main()
