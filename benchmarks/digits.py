"""The README's table: k-means, CC, CC with C3's extra epochs, and C3 on scikit-learn's digits, over seeds.

    python -m benchmarks.digits --seeds 0 1 2 3 4

Each C3 starts from the CC of its seed. Labels are used for the scores only.
"""

import argparse
import time

import numpy as np

from c3clust import C3, CC, KMeans, acc, ari, data, nmi


def variants(seed, images):
    """(name, labels) of each row, for one seed."""
    yield "k-means on pixels", KMeans(10, random_state=seed).fit(images).labels_
    yield "CC as published (no warm-up)", CC(10, warmup=0, random_state=seed).fit(images).labels_
    cc = CC(10, random_state=seed).fit(images)
    yield "CC", cc.labels_
    c3 = C3(10, start=cc, random_state=seed).fit(images)
    epochs = sum(stage["epochs"] for stage in cc.stages_ + c3.stages_)
    yield "CC + C3's extra epochs", CC(10, epochs=epochs, random_state=seed).fit(images).labels_
    extra = sum(stage["epochs"] for stage in c3.stages_)
    frozen = C3(10, start=cc, zeta=0.6, head="frozen", epochs=extra, random_state=seed).fit(images)
    yield "C3 with the paper's stage 2 (zeta 0.6, frozen head)", frozen.labels_
    yield "C3, head follows", C3(10, start=cc, settle=0, epochs=extra, random_state=seed).fit(images).labels_
    yield "C3 (default): head follows, then settles", c3.labels_


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    images, started = data.load("digits"), time.perf_counter()
    seeds = parser.parse_args().seeds
    scores = {}
    for seed in seeds:
        for name, labels in variants(seed, images):
            scores.setdefault(name, []).append([metric(images.y, labels) for metric in (acc, nmi, ari)])
            print(seed, name, f"{scores[name][-1][0]:.3f}", flush=True)
    print("\n| method | ACC | NMI | ARI | ACC by seed |\n|---|---|---|---|---|")
    for name, rows in scores.items():
        mean, std = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=min(1, len(rows) - 1))
        cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, std, strict=True)]
        print(f"| {name} | {' | '.join(cells)} | {' '.join(f'{row[0]:.3f}' for row in rows)} |")
    print(f"\nseeds {seeds}, {time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
