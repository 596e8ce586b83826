"""Rename and merge the clusters of a finished run, and place single samples, without training again.

The model and its cluster numbers never change. RUN/edits.json lists the operations, in order:

    {"format": 1, "operations": [
     {"op": "label", "names": {"3": "cats"}},
     {"op": "merge", "clusters": [3, 5]},
     {"op": "pin", "pins": [{"kind": "in", "samples": ["a.jpg"], "cluster": 10}], "new": ["lynxes"],
      "moved": {"b.jpg": [10, 0.8]}}]}

A merge keeps the first number; the others are not in use until the merge is undone. The merged cluster gets the first
name that one of them has. A pin (records/pins.py) is a decision of a person about samples; `new` are the names of the
clusters that it makes, whose numbers follow the last one, and `moved` are the samples that the model moves because of
it, with cluster and confidence. It never moves a sample that a person has placed. `undo` drops the last operation.

A sample changes its cluster only if it was placed elsewhere, or its cluster was merged into another: labels follow the
numbers, not the largest of the added probabilities.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from c3clust.errors import RunError
from c3clust.files.atomic import read_json, write_atomically
from c3clust.files.limits import limit
from c3clust.records.pins import NOWHERE, Pin
from c3clust.records.record import RunRecord

__all__ = ["Edits", "Moved"]

FORMAT = 1
FILE = "edits.json"
MAX_NAME = 100
Moved = Mapping[str, tuple[int, float]]  # sample: the cluster that the model moves it to, and its confidence


@dataclass
class Edits:
    """The operations on the clusters 0..n_clusters-1, and their result.

    target[i] is the cluster that i has become, also of new clusters, whose numbers begin at n_clusters; names contains
    the names that were given. pins: in order. placed: the cluster of each sample that was placed, before later merges.
    person: the samples that a person has placed; confidence: of the others.

    >>> edits = Edits(4).merge([3, 1]).label({3: "cats"})
    >>> labels, names = edits.apply([0, 1, 2, 3])
    >>> labels.tolist(), names
    ([0, 3, 2, 3], {0: 'cluster 0', 2: 'cluster 2', 3: 'cats'})
    """

    n_clusters: int
    operations: list[dict[str, Any]] = field(default_factory=list)
    target: list[int] = field(init=False)
    names: dict[int, str] = field(init=False, default_factory=dict)
    pins: list[Pin] = field(init=False, default_factory=list)
    placed: dict[str, int] = field(init=False, default_factory=dict)
    person: set[str] = field(init=False, default_factory=set)
    confidence: dict[str, float] = field(init=False, default_factory=dict)

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

    def pin(self, pins: Iterable[Pin], new: Sequence[str] = (), moved: Moved | None = None) -> "Edits":
        """These edits and the decisions of a person, as one step.

        new: names of the new clusters that pins "in" no cluster make, in order; "" for none. Further names are of
        clusters that only `moved`, what the model changes because of the pins, fills.
        """
        pins = list(pins)
        made = [i for i, pin in enumerate(pins) if pin.kind == "in" and pin.cluster is None]
        for number, i in enumerate(made, self.n_all):
            pins[i] = replace(pins[i], cluster=number)
        operation: dict[str, Any] = {"op": "pin", "pins": [pin.plain() for pin in pins]}
        if made or new:
            operation["new"] = [*new, *[""] * (len(made) - len(new))]
        if moved:
            operation["moved"] = {name: [int(i), float(c)] for name, (i, c) in moved.items()}
        return Edits(self.n_clusters, [*self.operations, operation])

    def undo(self) -> "Edits":
        """These edits without the last."""
        if not self.operations:
            raise RunError("There is nothing to undo: no cluster was renamed, merged or split, and no sample moved.")
        return Edits(self.n_clusters, self.operations[:-1])

    def without_samples(self) -> "Edits":
        """The same clusters and names, without the names of samples."""
        new = [{"op": "pin", "pins": [], "new": [""] * (self.n_all - self.n_clusters)}]
        return Edits(self.n_clusters, [*(new if self.n_all > self.n_clusters else []), *self._clusters()])

    def carried(self, n_clusters: int, free: Iterable[str] = ()) -> "Edits":
        """What still holds when these clusters are the first of n_clusters: merges, names, and pins.

        free: samples that a person had placed, and that are not placed any more.
        """
        free, at = set(free), dict[int, list[str]]()
        for name in self.placed:
            if name in self.person and name not in free:
                at.setdefault([*self.target, NOWHERE][self.placed[name]], []).append(name)
        pins = [Pin.of("nowhere", names) if i == NOWHERE else Pin.of("in", names, i) for i, names in at.items()]
        pins += [
            pin if pin.cluster is None else replace(pin, cluster=self.target[pin.cluster])
            for pin in self.pins
            if pin.kind not in ("in", "nowhere")
        ]
        kept = Edits(n_clusters, self._clusters())
        return kept.pin(pins) if pins else kept

    def _clusters(self) -> list[dict[str, Any]]:
        """Operations that merge and name the clusters as they are now."""
        merged = {i: [k for k, t in enumerate(self.target) if t == i and k != i] for i in self.live}
        merges = [{"op": "merge", "clusters": [i, *others]} for i, others in merged.items() if others]
        names = {str(i): name for i, name in self.names.items()}
        return [*merges, *([{"op": "label", "names": names}] if names else [])]

    @property
    def n_all(self) -> int:
        """The numbers of clusters there are, in use or not, with the new ones."""
        return len(self.target)

    def find(self, cluster: int | str) -> int:
        """The number of a cluster in use, from its number or its name."""
        names = {name: i for i, name in self.names.items()}
        if isinstance(cluster, str) and cluster.strip() in names:
            return names[cluster.strip()]
        try:
            number = _number(cluster)
        except RunError:
            known = ", ".join(repr(name) for name in sorted(names)[:20]) or "none has a name"
            raise RunError(
                f"No cluster is called {str(cluster)[:40]!r}: use its number, or a name ({known})."
            ) from None
        self.check(number)
        return number

    def place(self, samples: Sequence[str], labels: Any) -> np.ndarray:
        """The clusters [n] of samples that have the labels of the model, with those that were placed; before merges."""
        placed = np.array(labels, dtype=np.int64)
        if self.placed:
            for i, name in enumerate(samples):
                placed[i] = self.placed.get(name, placed[i])
        return placed

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
        if labels.size and not NOWHERE <= labels.min() <= labels.max() < self.n_all:
            raise RunError(f"Some labels are outside of the {self.n_all} clusters of this run.")
        target = np.asarray([*self.target, NOWHERE], dtype=np.int64)
        return target[labels.astype(np.int64)], {i: self.name(i) for i in self.live}

    def apply_proba(self, proba: Any) -> np.ndarray:
        """Add the columns of merged clusters. [n, M] to [n, n_all]; those of new ones or not in use are zero."""
        proba = np.asarray(proba)
        if proba.ndim != 2 or proba.shape[1] != self.n_clusters:
            raise RunError(
                f"Probabilities of shape {proba.shape} do not fit the {self.n_clusters} clusters of this run."
            )
        out = np.zeros((len(proba), self.n_all), proba.dtype)
        np.add.at(out.T, np.asarray(self.target[: self.n_clusters]), proba.T)
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
            return cls(n_clusters, _operations(read_json(path)))
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
        elif kind == "pin" and isinstance(operation.get("pins"), list):
            self._pin([Pin.from_plain(raw) for raw in operation["pins"]], operation)
        else:
            raise RunError(f"{str(operation)[:80]} is not an edit: a label, a merge or a pin is needed.")
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

    def _pin(self, pins: list[Pin], operation: dict[str, Any]) -> None:
        new, moved = operation.get("new", []), operation.get("moved", {})
        if not isinstance(new, list) or not isinstance(moved, dict):
            raise RunError(f"{str(operation)[:80]} is not a pin.")
        if self.n_all + len(new) > (most := limit("C3CLUST_MAX_CLUSTERS")):
            raise RunError(f"{self.n_all + len(new):,} clusters are more than {most:,}, the limit of a run.")
        for name in new:
            self.target.append(self.n_all)
            if name != "":
                self._label({self.n_all - 1: name})
        for name, (cluster, confidence) in ((name, _place(place)) for name, place in moved.items()):
            if name not in self.person:
                self._put((name,), cluster)
                self.confidence[name] = confidence
        for pin in pins:
            if pin.kind in ("in", "nowhere"):
                self._put(pin.samples, NOWHERE if pin.cluster is None else pin.cluster)
                self.person.update(pin.samples)
            elif pin.cluster is not None:
                self.check(pin.cluster)
        self.pins += pins

    def _put(self, samples: Iterable[str], cluster: int) -> None:
        if cluster != NOWHERE:
            self.check(cluster)
        self.placed.update(dict.fromkeys(samples, cluster))

    def check(self, cluster: int) -> None:
        """RunError unless this cluster is in use."""
        if not 0 <= cluster < self.n_all:
            raise RunError(f"There is no cluster {cluster}: this run has the clusters 0 to {self.n_all - 1}.")
        if self.target[cluster] != cluster:
            raise RunError(
                f"Cluster {cluster} was merged into {self.target[cluster]}: name that one, or undo the merge."
            )


def _operations(raw: Any) -> list[Any]:
    if not isinstance(raw, dict) or raw.get("format") != FORMAT or not isinstance(raw.get("operations"), list):
        raise RunError(f"it is not a list of edits of format {FORMAT}")
    return raw["operations"]


def _place(raw: Any) -> tuple[int, float]:
    """Cluster and confidence of a sample that the model moved."""
    whole = isinstance(raw, list | tuple) and len(raw) == 2 and type(raw[0]) is int
    if not whole or not isinstance(raw[1], int | float) or not 0 <= raw[1] <= 1:
        raise RunError(f"{str(raw)[:40]} is not a cluster and a confidence.")
    return raw[0], float(raw[1])


def _number(value: Any) -> int:
    """The number of a cluster, from an integer or its digits."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return int(value)
    raise RunError(f"{str(value)[:40]!r} is not the number of a cluster.")


def _check_name(cluster: int, name: Any) -> None:
    if not isinstance(name, str) or len(name) > MAX_NAME or not (name.isprintable()):
        raise RunError(
            f"The name for cluster {cluster} must be one line of at most {MAX_NAME} printable characters, in UTF-8."
        )
