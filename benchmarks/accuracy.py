"""ACC and time of the CPU recipes: k-means on pixels, CC, and C3 and C3Adaptive from it, as Markdown.

    python -m benchmarks --only accuracy [--quick]

The runs are those of `c3clust paper departures -o runs/paper`: finished ones in that folder are used, the others run.
$C3CLUST_RUNS names another folder. Labels are used for the scores only. `--quick` runs digits alone, one seed.
"""

import os
from pathlib import Path

import numpy as np

from benchmarks import harness
from c3clust import bench
from c3clust.errors import DataError
from c3clust.paper import Setting, departures

CASES = {"mnist-10k": range(3), "cifar10-10k": range(1)}  # seeds
STUDIED = (departures.START, departures.PUBLISHED, departures.ADAPTIVE)
RUNS = Path(os.environ.get("C3CLUST_RUNS", "runs/paper"))


def jobs(setting: Setting) -> list[bench.Job]:
    """k-means, and of the study CC, C3 and C3Adaptive."""
    study = [job for job in departures.jobs(setting) if job.name in STUDIED]
    plain = {"n_clusters": setting.n_clusters}
    return [*(bench.Job(setting.data, "kmeans", plain, seed, "k-means") for seed in setting.seeds), *study]


def rows(quick: bool) -> list[harness.Row]:
    os.environ.setdefault("C3CLUST_DATA", str(harness.SHARED))
    found = []
    for name, seeds in {"digits": range(1)}.items() if quick else CASES.items():
        setting = Setting(name, list(seeds))
        try:
            results = bench.run(jobs(setting), RUNS)
        except DataError:
            found.append(harness.skipped(f"ACC, {name}", "reported", f"{name} is not here"))
            continue
        for method in dict.fromkeys(r.job.name for r in results):
            members = [r for r in results if r.job.name == method and r.scores]
            if not members:
                found.append(harness.skipped(f"ACC, {name}, {method}", "reported", "no run came to an end"))
                continue
            a = np.array([r.scores["acc"] for r in members if r.scores])
            spread = f" ± {a.std(ddof=1):.3f}" if len(a) > 1 else ""
            seconds = np.mean([r.processor_seconds for r in members if r.processor_seconds])
            extra = " after CC" if method in STUDIED[1:] else ""
            note = f"{seconds:.0f} s of one core{extra}, seeds {' '.join(str(r.job.seed) for r in members)}"
            found.append(harness.Row(f"ACC, {name}, {method}", "reported", f"{a.mean():.3f}{spread}", None, note))
    return found


if __name__ == "__main__":
    harness.run(rows, __doc__)
