"""split, regroup: other clusters of a finished run, and its page. Features are not changed.

records/edits.py and records/changes.py have the files.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import checks, data, encoders, metrics
from c3clust.consensus.fit import fit_vectors
from c3clust.data.io.remote import is_url
from c3clust.data.samples import Dataset
from c3clust.errors import InputError, RunError
from c3clust.estimator.splits import Split
from c3clust.methods import load_model
from c3clust.records.assignments import Assignments, read_labels
from c3clust.records.changes import Change, current, new_change, states
from c3clust.records.duplicates import Duplicates
from c3clust.records.edits import Edits
from c3clust.records.embedding import keep_z, write_z
from c3clust.records.pins import Pin
from c3clust.records.record import RunRecord
from c3clust.report.editing import editing
from c3clust.runs import Result, RunConfig, build_view, trusted
from c3clust.runs.run import FEATURES

__all__ = ["OpenRun", "embed", "regroup", "split"]

SURVIVES = 0.5  # fraction of the samples of two clusters that both have, from which one keeps the name of the other


class OpenRun:
    """A finished run with its samples, as the model sees them."""

    def __init__(self, run: Path, X: Any, given: dict[str, Any]) -> None:
        self.run, self.now = run, current(run)
        self.record, self.found = RunRecord.read(self.now / "record.json"), Assignments.read(self.now)
        self.edits = Edits.read(self.now, self.record.n_clusters)
        self.labels = self.found.edited(self.edits).clusters
        named = {name: given[name] for name in ("encoder", "method") if name in given}
        self.estimator = load_model(run, **named)
        given = {name: value for name, value in given.items() if name != "method"}
        self.dataset = self._read(X, given)
        self.duplicates = Duplicates.read(run, self.found.names)
        encoder, self.features = self.estimator.preprocessor_.frozen_encoder, None
        if encoder is not None and self.dataset.kind != "vector":
            self.features = encoders.features(
                encoder.to(self.estimator.device_), self.dataset, folder=run.parent / FEATURES
            )

    def _read(self, X: Any, given: dict[str, Any]) -> Dataset:
        """The samples of the run. RunError if they are others."""
        options = self.estimator.preprocessor_.load_options()
        if X is None:
            config = trusted(self.run, RunConfig.read(self.run), **given)
            if config.source is None:
                raise RunError(f"{self.run} was fitted from Python: pass its samples as X=.")
            X, options = config.source, options | config.options
            if not data.is_name(X) and not is_url(X) and not Path(X).exists():
                raise RunError(f"{X} had the samples of {self.run} and does not exist: give their place with --source.")
        dataset = data.load(X, **options) if isinstance(X, str | Path) else self.estimator.read_samples(X)
        if [str(name) for name in dataset.names] != list(self.found.names):
            raise RunError(
                f"The samples are not those of {self.run}, which has {len(self.found.names):,}: name its source."
            )
        return dataset

    @property
    def samples(self) -> Dataset:
        return self.dataset if self.features is None else self.features

    def write(
        self, folder: Path, result: Result, n_clusters: int, edits: Edits, change: dict[str, Any], **more: Any
    ) -> None:
        """The files of a change, but for the heads or the model."""
        found = Assignments(self.found.names, result.labels, result.confidence)
        found.write(folder / "assignments.csv")
        record = replace(
            self.record,
            n_clusters=n_clusters,
            change=change,
            choice=None,
            scores=self._scores(result.labels),
            **more,
        )
        edits.write(folder)
        result = replace(result, encoder=self.estimator.encoder_, features=self.features)
        view = build_view(result, self.dataset, record)
        view.write(folder)
        record.write(folder / "record.json")

    def _scores(self, labels: np.ndarray) -> dict[str, float] | None:
        path = self.run / "labels.csv"
        return metrics.scores(read_labels(path, self.found.names, any_file=False), labels) if path.exists() else None


def embed(run: str | Path, X: Any = None, **given: Any) -> np.ndarray:
    """The representation z [n, D] of the samples of a finished run, which is written into its folder as z.npy.

    X, `source`, `cache`, `encoder`, `method`: as for `split`.
    """
    with editing(run):
        opened = OpenRun(Path(run), X, given)
        z = opened.estimator.outputs(opened.samples)[0][opened.duplicates.original]
        write_z(next(state for state in reversed(states(run)) if (state / "model.json").exists()), z)
    return z


def split(run: str | Path, cluster: int | str, into: int = 2, X: Any = None, **given: Any) -> Edits:
    """Split a cluster of a finished run into several, without new training of features: heads on its representation.

    cluster: its number or name. The largest part keeps the number, and the name where it is at least half of the
    cluster; the others get new numbers. X: the samples of a run that was fitted from Python. `source`, `cache` and
    `encoder` may be given for a run of somebody else, `method` for one of a method of your own.

    >>> from c3clust import split  # doctest: +SKIP
    >>> split("runs/photos", 3, into=2)  # doctest: +SKIP
    """
    checks.whole("into", into, 2, why="it is the number of parts. A usual value is 2.")
    with editing(run):
        opened = OpenRun(Path(run), X, given)
        estimator = opened.estimator
        cluster = opened.edits.find(cluster)
        z, c = estimator.outputs(opened.samples)
        inside = opened.duplicates.distinct[opened.labels[opened.duplicates.distinct] == cluster]
        if len(inside) < 2 * into:
            need = f"{into} parts need at least {2 * into}"
            raise InputError(f"Cluster {cluster} has {len(inside)} different samples, and {need}: ask for fewer parts.")
        heads, _ = fit_vectors(z[inside], into, scaled=False, prior="auto", seed=opened.record.seed)
        n = opened.edits.n_all
        parts = Split(cluster, tuple(range(into)), n, heads.eval()).parts(z[inside]).argmax(axis=1)
        sizes = np.bincount(parts, minlength=into)
        if (sizes == 0).any():
            raise RunError(f"Cluster {cluster} cannot be split into {into} parts: ask for fewer, or regroup the run.")
        numbers = np.empty(into, int)
        numbers[np.argsort(-sizes, kind="stable")] = [cluster, *range(n, n + into - 1)]
        new = Split(cluster, tuple(int(i) for i in numbers), n + into - 1, heads)
        estimator.add_split(new, z, c, opened.duplicates, opened.labels < 0)
        inside = [name for name, i in zip(opened.found.names, opened.labels, strict=True) if i == cluster]
        kept = opened.edits.carried(new.n_clusters, free=inside)
        if sizes.max() < SURVIVES * sizes.sum() and cluster in kept.names:
            kept = kept.label({cluster: ""})
        with new_change(opened.run) as folder:
            new.write(folder, len(kept.operations))
            described = {"op": "split", "cluster": int(cluster), "into": int(into)}
            opened.write(folder, estimator.split_result(z), new.n_clusters, kept, described)
    return kept


def regroup(run: str | Path, n_clusters: int, X: Any = None, **given: Any) -> Edits:
    """Another number of clusters for a finished run, on the features that are there: they are not trained again.

    Consensus and k-means can be regrouped. A cluster keeps its name where at least half of the samples of
    the old and the new one are in both. Samples that were discarded stay so, all others are placed by the model.
    X, `source`, `cache`, `encoder`, `method`: as for `split`.

    >>> from c3clust import regroup  # doctest: +SKIP
    >>> regroup("runs/photos", 12)  # doctest: +SKIP
    """
    checks.whole("n_clusters", n_clusters, why="it is the number of clusters. Give at least 1.")
    started = time.perf_counter()
    with editing(run):
        opened = OpenRun(Path(run), X, given)
        distinct = len(opened.duplicates.distinct)
        if distinct < n_clusters:
            raise InputError(f"{n_clusters} clusters cannot be made of {distinct} different samples: ask for fewer.")
        new, result = opened.estimator.regrouped(n_clusters, opened.samples, opened.duplicates, opened.record.seed)
        kept = Edits(n_clusters)
        if names := _surviving(opened.edits.names, opened.labels, new.labels_, n_clusters):
            kept = kept.label(names)
        nowhere = [name for name, i in zip(opened.found.names, opened.labels, strict=True) if i < 0]
        if discarded := [name for name in nowhere if name in opened.edits.person]:
            kept = kept.pin([Pin.of("nowhere", discarded)])
        with new_change(opened.run) as folder:
            new.save(folder)
            keep_z(folder, result.z)
            Change("regroup", n_clusters, len(kept.operations)).write(folder)
            described = {"op": "regroup", "before": len(opened.edits.live), "seconds": time.perf_counter() - started}
            params = opened.record.params | {"n_clusters": n_clusters}
            opened.write(folder, result, n_clusters, kept, described, params=params, quality=result.quality)
    return kept


def _surviving(names: dict[int, str], old: np.ndarray, new: np.ndarray, n_clusters: int) -> dict[int, str]:
    """The names of old clusters for the new ones that are much the same.

    >>> _surviving({0: "cats", 1: "dogs"}, np.array([0, 0, 0, 1, 1]), np.array([2, 2, 2, 0, 1]), 3)
    {2: 'cats', 0: 'dogs'}
    """
    kept: dict[int, str] = {}
    for cluster, name in names.items():
        both = np.bincount(new[(old == cluster) & (new >= 0)], minlength=n_clusters)
        either = (old == cluster).sum() + np.bincount(new[new >= 0], minlength=n_clusters) - both
        best = int((both / np.maximum(either, 1)).argmax())
        if both[best] >= SURVIVES * either[best] > 0 and best not in kept:
            kept[best] = name
    return kept
