"""Pin: what a person decided about samples of a finished run. records/edits.py has the history of all decisions."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from c3clust.errors import RunError

__all__ = ["KINDS", "NOWHERE", "Pin"]

KINDS = ("in", "nowhere", "not", "together", "apart")
NOWHERE = -1  # the label of samples that are in no cluster
PAIRED = ("together", "apart")


@dataclass(frozen=True)
class Pin:
    """A decision about samples, by their names in assignments.csv.

    kind: "in": each is in `cluster`, or all in one new cluster if that is None; "nowhere": none belongs to a cluster;
    "not": none is in `cluster`; "together": all are in one cluster; "apart": no two of them are in one cluster.

    >>> Pin("in", ("a.jpg",), 3).plain()
    {'kind': 'in', 'samples': ['a.jpg'], 'cluster': 3}
    """

    kind: str
    samples: tuple[str, ...]
    cluster: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise RunError(f"{str(self.kind)[:40]!r} is not a kind of pin: use one of {', '.join(KINDS)}.")
        if not self.samples or not all(isinstance(name, str) for name in self.samples):
            raise RunError(f"A pin of the kind {self.kind!r} needs the names of samples.")
        if self.kind in PAIRED and len(set(self.samples)) < 2:
            raise RunError(f"A pin of the kind {self.kind!r} needs two different samples.")
        if self.kind == "not" and self.cluster is None:
            raise RunError("A pin of the kind 'not' needs a cluster.")
        if self.kind not in ("in", "not") and self.cluster is not None:
            raise RunError(f"A pin of the kind {self.kind!r} has no cluster.")

    @classmethod
    def of(cls, kind: str, samples: Iterable[str], cluster: int | None = None) -> "Pin":
        """A pin of samples in any iterable; each is listed once."""
        return cls(kind, tuple(dict.fromkeys(samples)), cluster)

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        named = {} if self.cluster is None else {"cluster": self.cluster}
        return {"kind": self.kind, "samples": list(self.samples), **named}

    @classmethod
    def from_plain(cls, raw: Any) -> "Pin":
        """The pin that `plain` described; RunError of anything else."""
        cluster = raw.get("cluster") if isinstance(raw, dict) else None
        whole = cluster is None or (isinstance(cluster, int) and not isinstance(cluster, bool))
        if not isinstance(raw, dict) or not isinstance(raw.get("samples"), list) or not whole:
            raise RunError(f"{str(raw)[:80]} is not a pin.")
        return cls(str(raw.get("kind")), tuple(raw["samples"]), cluster)
