"""Decisions: what the pins of a person say about single samples, and which clusters they merge.

A pin has a `kind`, `samples` and a `cluster`:

- "in": the samples are in the cluster; without one, in one new cluster;
- "not": none of them is in the cluster; "nowhere": they are in no cluster;
- "together": all are in one cluster. Two clusters become one if this is said twice, both samples are pinned or at the
  core of their cluster, and no samples of them are known to be apart; else one sample moves, not one at the core if the
  other is not;
- "apart": no two are in one cluster. Of two that are, the second moves to a new cluster, or the first if only the
  second is pinned.

The result depends on the pins and their order alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from c3clust.errors import InputError

__all__ = ["Decision", "Decisions"]

PAIRED = ("together", "apart")
CONFIRMED = 2  # answers that make two clusters one


class Decision(Protocol):
    """What is read of a pin. Samples are rows, or names."""

    @property
    def kind(self) -> str: ...
    @property
    def samples(self) -> Sequence[Any]: ...
    @property
    def cluster(self) -> int | None: ...


class Decisions:
    """The pins of one history, applied to clusters `labels` [n] of which `core` [n] tells the typical samples."""

    def __init__(
        self, labels: np.ndarray, n_clusters: int, core: np.ndarray, rows: Mapping[Any, int] | None = None
    ) -> None:
        self.labels, self.core, self.rows = labels, core, rows
        self.target = list(range(n_clusters))  # of a cluster: the one that it was merged into
        self.placed: dict[int, int] = {}  # row -> cluster, -1 is nowhere
        self.said: dict[int, list[int]] = {}  # row -> all clusters that it was placed in, the last one holds
        self.banned: dict[int, set[int]] = {}  # row -> clusters that it is not in
        self.apart: list[tuple[int, int]] = []  # rows
        self.whole: list[tuple[int, int]] = []  # rows of one cluster that belong together
        self.parted: list[int] = []  # of samples that were taken out of their cluster at once, the first
        self.merges: dict[tuple[int, int], int] = {}  # rows whose clusters became one -> how often that was said
        self.count = 0
        self.times = 1  # how often the pin that is added was said

    def add(self, pin: Decision) -> None:
        """Apply the next pin."""
        rows, self.count = [self._row(sample) for sample in pin.samples], self.count + 1
        if pin.kind in ("in", "confirm"):
            own = [self.cluster_of(row) for row in rows] if pin.kind == "confirm" else None
            self._place(rows, own or [self._cluster(pin.cluster)] * len(rows))
        elif pin.kind == "nowhere":
            self._place(rows, [-1] * len(rows))
        elif pin.kind in ("not", "not_in"):
            self._ban(rows, self._cluster(pin.cluster))
        elif pin.kind == "together":
            for row in rows[1:]:
                self._join(rows[0], row)
        elif pin.kind == "apart":
            for a, b in combinations(rows, 2):
                self._part(a, b)
        else:
            raise InputError(f"{pin.kind!r} is not a kind of pin: use in, not, nowhere, together, apart or confirm.")

    def add_all(self, pins: Sequence[Decision]) -> None:
        """Apply pins in order. Of pins whether the same samples are in one cluster, the last holds."""
        last = {tuple(pin.samples): i for i, pin in enumerate(pins) if pin.kind in PAIRED}
        said = Counter((pin.kind, tuple(pin.samples)) for pin in pins)
        for i, pin in enumerate(pins):
            if pin.kind not in PAIRED or last[tuple(pin.samples)] == i:
                self.times = said[pin.kind, tuple(pin.samples)]
                self.add(pin)
        self.count = len(pins)

    @property
    def waiting(self) -> set[int]:
        """The rows of pairs whose clusters become one if that is said again."""
        return {row for rows, times in self.merges.items() if times < CONFIRMED for row in rows}

    def cluster_of(self, row: int) -> int:
        """Where a sample is by the pins, else by the clusters that they are applied to."""
        cluster = self.placed.get(row, int(self.labels[row]))
        return cluster if cluster < 0 else self.target[cluster]

    def _row(self, sample: Any) -> int:
        row = self.rows.get(sample, -1) if self.rows is not None else int(sample)
        if not 0 <= row < len(self.labels):
            raise InputError(f"There is no sample {sample!r} among the {len(self.labels):,} samples.")
        return row

    def _cluster(self, cluster: int | None) -> int:
        """The cluster that a number means now; None, and the first number that is not in use, is a new one."""
        if cluster is None or cluster == len(self.target):
            self.target.append(len(self.target))
            return len(self.target) - 1
        if not 0 <= cluster < len(self.target):
            raise InputError(f"There is no cluster {cluster}: the clusters are 0 to {len(self.target) - 1}.")
        return self.target[cluster]

    def _place(self, rows: Sequence[int], clusters: Sequence[int]) -> None:
        for row, cluster in zip(rows, clusters, strict=True):
            self.placed[row] = cluster
            self.said.setdefault(row, []).append(cluster)
            self.banned.pop(row, None)

    def _ban(self, rows: Sequence[int], cluster: int) -> None:
        self.parted += rows[:1] if len(rows) > 1 else []
        for row in rows:
            if self.placed.get(row, -1) == cluster:
                del self.placed[row]
            self.banned.setdefault(row, set()).add(cluster)

    def _join(self, a: int, b: int) -> None:
        one, two = self.cluster_of(a), self.cluster_of(b)
        if one == two:
            self.whole.append((a, b))
        fixed = [row in self.placed or bool(self.core[row]) for row in (a, b)]
        if one != two and all(fixed) and min(one, two) >= 0 and not self._known_apart(one, two):
            self.merges[a, b] = self.times
            if self.times >= CONFIRMED:
                self.target = [min(one, two) if t == max(one, two) else t for t in self.target]
        final = self.cluster_of(b if fixed[1] and not fixed[0] else a)
        self._place([a, b], [final, final])

    def _known_apart(self, one: int, two: int) -> bool:
        return any({self.cluster_of(a), self.cluster_of(b)} == {one, two} for a, b in self.apart)

    def _part(self, a: int, b: int) -> None:
        if self.cluster_of(a) == self.cluster_of(b) and self.cluster_of(a) >= 0:
            leaves = a if b in self.placed and a not in self.placed else b
            self._place([leaves], [self._cluster(None)])
        self._place([a, b], [self.cluster_of(a), self.cluster_of(b)])
        self.apart += [(a, b)] * self.times
