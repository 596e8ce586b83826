"""A finished run for `c3clust review`: its samples, its representation, and what changes its clusters."""

from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from c3clust import data
from c3clust.data.samples import Dataset
from c3clust.errors import RunError
from c3clust.files.lock import MOMENT, locked
from c3clust.methods import _changes
from c3clust.records.assignments import Assignments
from c3clust.records.changes import current, states
from c3clust.records.embedding import read_z, write_z
from c3clust.records.record import RunRecord
from c3clust.runs import RunConfig, trusted

__all__ = ["ReviewedRun"]


class ReviewedRun:
    """given: `source`, `encoder` and `method`, as for `split`. RunError at once if the samples may not be read."""

    def __init__(self, folder: str | Path, **given: Any) -> None:
        self.folder, self.given = Path(folder), given
        named = {name: value for name, value in given.items() if name != "method"}
        config = trusted(self.folder, RunConfig.read(self.folder), **named)
        if config.source is None:
            raise RunError(f"{folder} was fitted from Python: name its samples with --source.")
        self.source, self.outside = config.source, bool(config.options.get("outside"))
        self.options = {name: config.options[name] for name in ("kind", "columns") if name in config.options}
        self._opened: _changes.OpenRun | None = None
        self._lock = Lock()

    def listed(self) -> Dataset:
        """The samples to look at: image files are listed, and read when they are shown."""
        kind = self.options.get("kind")
        if self.options.get("columns"):
            return self._open().dataset
        found = data.load_listed(self.source, kind, self.outside)
        return found if found.kind == "image" else self._open().dataset

    def z(self) -> np.ndarray:
        """[n, D], from the run folder, or computed and written there: `predict` follows corrections with it."""
        known = read_z(self.folder, len(Assignments.read(current(self.folder)).names))
        if known is not None:
            return known
        self._opened = None  # the model may be another one, after a regrouping
        opened = self._open()
        z = opened.estimator.outputs(opened.samples)[0][opened.duplicates.original]
        with locked(self.folder, MOMENT):
            write_z(next(state for state in reversed(states(self.folder)) if (state / "model.json").exists()), z)
        return z

    def z_of(self, text: str) -> np.ndarray | None:
        """[D]: the representation of words, of a run of texts; None of other runs, whose encoders cannot read."""
        opened = self._open() if RunRecord.read(self.folder / "record.json").data.get("kind") == "text" else None
        return None if opened is None else opened.estimator.transform([text])[0]

    def split(self, cluster: int, into: int) -> object:
        return _changes.split(self.folder, cluster, into, **self.given)

    def regroup(self, n_clusters: int) -> object:
        return _changes.regroup(self.folder, n_clusters, **self.given)

    def _open(self) -> _changes.OpenRun:
        with self._lock:
            if self._opened is None:
                self._opened = _changes.OpenRun(self.folder, None, self.given)
            return self._opened
