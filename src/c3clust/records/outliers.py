"""outliers.csv: the samples that belong nowhere, with the reason."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from c3clust.files.atomic import write_atomically
from c3clust.files.text import encoded
from c3clust.records.tables import csv_text

__all__ = ["Outlier", "by_position", "write_outliers"]

FILE = "outliers.csv"
COLUMNS = ("name", "cluster", "kind", "reason")


@dataclass(frozen=True)
class Outlier:
    """Why a sample belongs nowhere.

    kind: "far" from all clusters, or "between" two. cluster: the one that it would be in. other: the nearest one of a
    far sample, else the second choice. score: of a far sample its distance in units of the limit, else the probability
    of the first choice; second: that of the second choice.
    """

    kind: str
    cluster: int
    other: int
    score: float
    second: float = 0.0

    @property
    def order(self) -> tuple[bool, float]:
        """For sorting: far samples first, the furthest first; then those between two, the least certain first."""
        return (True, self.score) if self.kind != "far" else (False, -self.score)

    def settled(self, target: Sequence[int]) -> bool:
        """Whether the two clusters are one since they were merged; target: what each cluster has become."""
        return self.kind != "far" and target[self.cluster] == target[self.other]

    def reason(self, name: Callable[[int], str]) -> str:
        """A sentence without its full stop. name: of a cluster.

        >>> Outlier("between", 3, 5, 0.375, 0.35).reason(lambda i: f"cluster {i}")
        'between two clusters: 38% cluster 3, 35% cluster 5'
        """
        if self.kind == "far":
            beyond = f"{self.score:.2f} times the distance limit"
            return f"far from all clusters: {beyond}; the nearest is {name(self.other)}"
        return f"between two clusters: {self.score:.0%} {name(self.cluster)}, {self.second:.0%} {name(self.other)}"


def by_position(found: Sequence[Outlier | None], rows: Iterable[int]) -> dict[int, Outlier]:
    """{position: Outlier} of samples that are rows of `found`; copies share a row."""
    return {i: outlier for i, row in enumerate(rows) if (outlier := found[row]) is not None}


def write_outliers(path: Path, names: Sequence[str], found: Mapping[int, Outlier]) -> None:
    """Write the list of outliers, {position: Outlier}."""
    rows = [(names[i], o.cluster, o.kind, o.reason(lambda m: f"cluster {m}")) for i, o in found.items()]
    write_atomically(path, encoded(csv_text(COLUMNS, rows)))
