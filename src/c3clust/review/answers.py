"""relabel: which samples of a finished run follow a table of answers (`c3clust answer`)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from c3clust.records.duplicates import Duplicates
from c3clust.records.edits import Moved
from c3clust.records.embedding import read_z
from c3clust.records.pins import NOWHERE, Pin
from c3clust.records.state import State
from c3clust.review.learner import Learner

__all__ = ["relabel"]


def relabel(run: str | Path, pins: Sequence[Pin], new: Sequence[str] = ()) -> tuple[list[str], Moved]:
    """The names of all new clusters, and the samples that the model moves because of the pins.

    What was decided before holds. Copies are where their original is. Nothing moves in a run without z.npy.
    """
    now = State.read(run)
    names, before = now.assignments.names, now.assignments.clusters
    trial, z = now.edits.pin(pins, new), read_z(run, len(names))
    named = [*new, *[""] * (trial.n_all - now.edits.n_all - len(new))]
    if z is None:
        return named, {}
    at = dict(zip(names, before.tolist(), strict=True))
    held = [name for name in now.edits.placed if name in now.edits.person]
    earlier = [Pin("nowhere", (name,)) if at[name] == NOWHERE else Pin("in", (name,), at[name]) for name in held]
    rows, n_clusters = {name: i for i, name in enumerate(names)}, now.edits.n_all
    chance = _chances(before, now.assignments.confidence, n_clusters)
    learner = Learner(z, before, n_clusters, chance, now.record.seed, rows)
    given = trial.pins[len(now.edits.pins) :]
    learner.correct([*earlier, *given, *given])  # what is written in a table is as certain as two answers
    original = Duplicates.read(run, names).original
    labels, chances = learner.labels[original], learner.probabilities[original]
    changed = np.flatnonzero((labels != before) & (labels != NOWHERE)).tolist()
    moved = {names[i]: (int(labels[i]), float(np.clip(chances[i, labels[i]], 0, 1))) for i in changed}
    return named + [""] * (learner.n_clusters - trial.n_all), moved


def _chances(labels: np.ndarray, confidence: np.ndarray, n_clusters: int) -> np.ndarray:
    """Probabilities [n, M] by the confidence alone: the rest is spread evenly."""
    sure = np.nan_to_num(np.asarray(confidence, dtype=np.float64), nan=0.9)
    chance = np.repeat(((1 - sure) / max(n_clusters - 1, 1))[:, None], n_clusters, axis=1)
    inside = np.flatnonzero(labels >= 0)
    chance[inside, labels[inside]] = np.maximum(sure[inside], 1 / n_clusters)
    return chance / np.maximum(chance.sum(axis=1, keepdims=True), 1e-12)
