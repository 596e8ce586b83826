"""Rename and merge the clusters of a finished run, without training again.

The model and its cluster numbers never change. RUN/edits.json lists the operations, in order:

    {"format": 1, "operations": [{"op": "label", "names": {"3": "cats"}}, {"op": "merge", "clusters": [3, 5]}]}

A merge keeps the first number; the others are not in use until the merge is undone. The merged cluster gets the first
name that one of them has. `undo` drops the last operation. A sample changes its cluster only if that was merged into
another: labels follow the numbers, not the largest of the added probabilities.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import RunError
from c3clust.files.atomic import read_json, write_atomically
from c3clust.records.record import RunRecord

__all__ = ["Edits"]

FORMAT = 1
FILE = "edits.json"
MAX_BYTES = 1_000_000
MAX_NAME = 100


@dataclass
class Edits:
    """The operations on the clusters 0..n_clusters-1, and their result.

    target[i] is the cluster that i has become; names contains the names that were given.

    >>> edits = Edits(4).merge([3, 1]).label({3: "cats"})
    >>> labels, names = edits.apply([0, 1, 2, 3])
    >>> labels.tolist(), names
    ([0, 3, 2, 3], {0: 'cluster 0', 2: 'cluster 2', 3: 'cats'})
    """

    n_clusters: int
    operations: list[dict[str, Any]] = field(default_factory=list)
    target: list[int] = field(init=False)
    names: dict[int, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        operations, self.operations, self.target = self.operations, [], list(range(self.n_clusters))
        for operation in operations:
            self._apply(operation)

    def label(self, names: Mapping[int, str]) -> "Edits":
        """These edits and new names; an empty name removes a name."""
        operation = {"op": "label", "names": {str(_number(i)): name for i, name in names.items()}}
        return Edits(self.n_clusters, [*self.operations, operation])

    def merge(self, clusters: Iterable[int]) -> "Edits":
        """These edits and a merge into the first of the clusters."""
        operation = {"op": "merge", "clusters": [_number(i) for i in clusters]}
        return Edits(self.n_clusters, [*self.operations, operation])

    def undo(self) -> "Edits":
        """These edits without the last."""
        if not self.operations:
            raise RunError("There is nothing to undo: no cluster was renamed, merged or split.")
        return Edits(self.n_clusters, self.operations[:-1])

    @property
    def live(self) -> list[int]:
        """The numbers of the clusters in use."""
        return [i for i, t in enumerate(self.target) if i == t]

    def name(self, cluster: int) -> str:
        """The name that a cluster was given, or "cluster" and its number."""
        return self.names.get(cluster, f"cluster {cluster}")

    def plain(self, labels: Any) -> list[dict[str, Any]]:
        """The clusters in use as JSON can hold them: number, name given or null, clusters merged into it, size.

        labels: [n], edited.
        """
        merged = {i: [k for k, t in enumerate(self.target) if t == i and k != i] for i in self.live}
        sizes = Counter(np.asarray(labels).tolist())
        return [{"cluster": i, "name": self.names.get(i), "merged": merged[i], "size": sizes[i]} for i in self.live]

    def apply(self, labels: Any) -> tuple[np.ndarray, dict[int, str]]:
        """The edited labels for the labels of the model, and the name of each cluster in use. -1, no cluster, stays."""
        labels = np.asarray(labels)
        if labels.size and not -1 <= labels.min() <= labels.max() < self.n_clusters:
            raise RunError(f"Some labels are outside of the {self.n_clusters} clusters of this run.")
        target = np.asarray([*self.target, -1], dtype=np.int64)
        return target[labels.astype(np.int64)], {i: self.name(i) for i in self.live}

    def apply_proba(self, proba: Any) -> np.ndarray:
        """Add the columns of merged clusters. [n, M] to [n, M]; columns of clusters not in use are zero."""
        proba = np.asarray(proba)
        if proba.ndim != 2 or proba.shape[1] != self.n_clusters:
            raise RunError(
                f"Probabilities of shape {proba.shape} do not fit the {self.n_clusters} clusters of this run."
            )
        out = np.zeros_like(proba)
        np.add.at(out.T, np.asarray(self.target), proba.T)
        return out

    def write(self, run_dir: Path) -> None:
        """Write run_dir/edits.json atomically."""
        text = json.dumps({"format": FORMAT, "operations": self.operations}, indent=1, allow_nan=False) + "\n"
        write_atomically(Path(run_dir) / FILE, text.encode())

    @classmethod
    def read(cls, run_dir: Path, n_clusters: int | None = None) -> "Edits":
        """The edits of a run; none if there is no file. n_clusters is read from the record unless given."""
        if n_clusters is None:
            n_clusters = RunRecord.read(Path(run_dir) / "record.json").n_clusters
        path = Path(run_dir) / FILE
        try:
            return cls(n_clusters, _operations(read_json(path, MAX_BYTES)))
        except FileNotFoundError:
            return cls(n_clusters)
        except (OSError, ValueError, RecursionError) as error:
            reason = str(error).rstrip(".")
            raise RunError(f"{path} is damaged: {reason}. Delete it to restore the clusters of the model.") from None

    def _apply(self, operation: Any) -> None:
        kind = operation.get("op") if isinstance(operation, dict) else None
        if kind == "label" and isinstance(operation.get("names"), dict):
            self._label({_number(i): name for i, name in operation["names"].items()})
        elif kind == "merge" and isinstance(operation.get("clusters"), list):
            self._merge([_number(i) for i in operation["clusters"]])
        else:
            raise RunError(f"{str(operation)[:80]} is not an edit: a label or a merge is needed.")
        self.operations.append(operation)

    def _label(self, names: dict[int, Any]) -> None:
        if not names:
            raise RunError("No name was given: give a cluster and its name, for example 3=cats.")
        for cluster, name in names.items():
            self.check(cluster)
            _check_name(cluster, name)
            self.names.pop(cluster, None)
        for cluster, name in names.items():
            name = name.strip()
            taken = [i for i, other in self.names.items() if other == name]
            if taken:
                raise RunError(
                    f"Cluster {taken[0]} is already called {name!r}: merge it with {cluster}, or choose another."
                )
            if name:
                self.names[cluster] = name

    def _merge(self, clusters: list[int]) -> None:
        for cluster in clusters:
            self.check(cluster)
        if len(clusters) < 2 or len(set(clusters)) < len(clusters):
            raise RunError(f"Clusters {clusters} cannot be merged: give two or more different ones.")
        names = [name for name in (self.names.pop(i, None) for i in clusters) if name]
        self.target = [clusters[0] if t in clusters else t for t in self.target]
        if names:
            self.names[clusters[0]] = names[0]

    def check(self, cluster: int) -> None:
        """RunError unless this cluster is in use."""
        if not 0 <= cluster < self.n_clusters:
            raise RunError(f"There is no cluster {cluster}: this run has the clusters 0 to {self.n_clusters - 1}.")
        if self.target[cluster] != cluster:
            raise RunError(
                f"Cluster {cluster} was merged into {self.target[cluster]}: name that one, or undo the merge."
            )


def _operations(raw: Any) -> list[Any]:
    if not isinstance(raw, dict) or raw.get("format") != FORMAT or not isinstance(raw.get("operations"), list):
        raise RunError(f"it is not a list of edits of format {FORMAT}")
    return raw["operations"]


def _number(value: Any) -> int:
    """The number of a cluster, from an integer or its digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise RunError(f"{str(value)[:40]!r} is not the number of a cluster.")


def _check_name(cluster: int, name: Any) -> None:
    if not isinstance(name, str) or len(name) > MAX_NAME or not (name.isprintable()):
        raise RunError(f"The name for cluster {cluster} must be one line of at most {MAX_NAME} characters.")
