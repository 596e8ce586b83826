"""ACC and time of the CPU recipes: k-means on pixels, CC (C3's first stage) and C3, as Markdown.

    python -m benchmarks.accuracy [--quick] [--seeds 0 1 2]

Labels are used for the scores only. `--quick` runs one epoch a stage, which tries the script out and says nothing else.
"""

import argparse
import time
from typing import Any

import numpy as np

from benchmarks import harness
from c3clust import C3, KMeans, acc, data, recipes
from c3clust.errors import DataError

CASES = (("c3-mnist-10k", "mnist", 3), ("c3-cifar10-10k", "cifar-10-subset-binary.tar.gz", 1))  # recipe, file, seeds


def images_of(place: str, file: str) -> data.Images:
    """The recipe's own place, or the same fixed subset of the shared file."""
    try:
        return data.load(place)
    except DataError:
        return data.load(place, root=harness.SHARED / file)


def scores(params: dict[str, Any], images: data.Images, k: int, seed: int) -> dict[str, tuple[float, float]]:
    """(ACC, seconds) of each method; CC's seconds are those of C3's first stage."""
    assert images.y is not None
    started = time.perf_counter()
    kmeans = KMeans(k, random_state=seed).fit(images)
    between = time.perf_counter()
    c3 = C3(k, random_state=seed, **params).fit(images)
    whole, last = time.perf_counter() - between, c3.stages_[-1]["seconds"]
    return {
        "k-means": (acc(images.y, kmeans.labels_), between - started),
        "CC": (acc(images.y, c3.start_labels_), whole - last),
        "C3": (acc(images.y, c3.labels_), whole),
    }


def rows(quick: bool, seeds: list[int] | None = None) -> list[harness.Row]:
    found = []
    for name, file, count in CASES:
        recipe = recipes.load(name)
        figure = f"ACC, {recipe['data']}"
        chosen = seeds or list(range(1 if quick else count))
        try:
            images = images_of(recipe["data"], file)
        except DataError:
            found.append(harness.skipped(figure, "reported", f"{recipe['data']} is not here"))
            continue
        params = recipe["params"] | ({"cc_epochs": 1, "epochs": 1} if quick else {})
        runs = [scores(params, images, recipe["n_clusters"], seed) for seed in chosen]
        for method in runs[0]:
            a, seconds = np.array([run[method] for run in runs]).T
            spread = f" ± {a.std(ddof=1):.3f}" if len(a) > 1 else ""
            note = f"{seconds.mean():.0f} s, recipe {name}, seeds {' '.join(map(str, chosen))}"
            found.append(harness.Row(f"{figure}, {method}", "reported", f"{a.mean():.3f}{spread}", None, note))
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+")
    arguments = parser.parse_args()
    print(harness.table(rows(arguments.quick, arguments.seeds)))
