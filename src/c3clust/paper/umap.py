"""UMAP, then HDBSCAN, on the features that the methods of the study cluster. Runs where umap-learn is installed.

The settings are those of UMAP's own page on clustering: 30 neighbours, min_dist 0; 10 components; clusters of at least
15 samples. HDBSCAN is not given the number of clusters, and leaves samples out as noise, which count as wrong.
"""

import importlib.util
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import torch

from c3clust import augment, data, metrics
from c3clust.features.preprocess import InputOptions, Preprocessor
from c3clust.paper.cases import Case
from c3clust.paper.values import Rows, read_rows, write_rows

NAME = "UMAP + HDBSCAN"
NEIGHBOURS, COMPONENTS, LEAST = 30, 10, 15


def installed() -> bool:
    return importlib.util.find_spec("umap") is not None


def run(cases: Iterable[Case], seeds: Sequence[int], out: Path, features: Path) -> Rows:
    """A row for each case and seed, stored in out/umap.csv one by one; without umap-learn, those that are there."""
    path = out / "umap.csv"
    rows = read_rows(path) if path.is_file() else []
    done = {(row["case"], row["seed"]) for row in rows}
    for case in cases if installed() else ():
        if missing := [seed for seed in seeds if (case.name, seed) not in done]:
            x, y, metric = vectors(case, out, features)
            for seed in missing:
                rows.append({"case": case.name, "n": len(y), "seed": seed, **scores(x, y, metric, seed)})
                write_rows(path, rows)
    return rows


def vectors(case: Case, out: Path, folder: Path) -> tuple[np.ndarray, np.ndarray, str]:
    """Vectors [n, F] of a case, its labels [n] and the metric: features of the encoder, columns, or pixels."""
    options = InputOptions(case.params.get("encoder"), case.params.get("image_size"))
    dataset = data.load(case.place(out / "cases"), **case.options | options.load_options())
    preprocessor, _ = Preprocessor.choose(dataset, options)
    prepared = preprocessor.fit(dataset, options, augment.policy("none"), device=torch.device("cpu"), folder=folder)
    learned = preprocessor.encoder is not None and not preprocessor.encoder.scaled
    x = np.asarray(prepared.x[:], dtype=np.float32).reshape(len(dataset), -1)
    return x, np.asarray(dataset.y), "cosine" if learned else "euclidean"


def scores(x: np.ndarray, y: np.ndarray, metric: str, seed: int) -> dict[str, float]:
    """ACC with noise counted as wrong, the clusters found and the share of noise."""
    from sklearn.cluster import HDBSCAN
    from umap import UMAP

    few = min(NEIGHBOURS, len(x) - 1)
    embedding = UMAP(
        n_neighbors=few, min_dist=0.0, n_components=COMPONENTS, metric=metric, random_state=seed, n_jobs=1
    ).fit_transform(x)
    labels = HDBSCAN(min_cluster_size=LEAST, copy=True).fit_predict(embedding)
    kept = labels >= 0
    acc = float(metrics.acc(y[kept], labels[kept]) * kept.mean()) if kept.any() else 0.0
    return {"acc": acc, "found": int(labels.max()) + 1, "noise": float(1 - kept.mean())}
