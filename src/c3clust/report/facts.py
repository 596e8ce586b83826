"""Facts: what the rules of findings.py and the verdict know about a finished run."""

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.report.view import View

__all__ = ["Facts", "Quality"]

LISTED = 6  # clusters that are listed by name


@dataclass(frozen=True)
class Quality:
    """`quality` of the record, checked. Pairs are [members, k-means]."""

    estimate: float
    interval: tuple[float, float]
    prior: float
    agreement: Mapping[str, float]
    same: float  # fraction of samples on which members and k-means agree
    kept: tuple[float, float]
    supported: tuple[float, float]
    simple: bool  # k-means is as good, and the result is its
    doubtful: bool  # k-means is another result, as well supported
    source: str  # who made the labels: "members" or "k-means"

    @classmethod
    def of(cls, raw: Any) -> "Quality | None":
        """None if the record has none, or one that cannot be read: then nothing is claimed."""
        try:
            low, high = raw["interval"]
            numbers = [raw["estimated_accuracy"], low, high, raw["prior"]]
            estimate, low, high, prior = (float(value) for value in numbers)
            comparison = raw["comparison"]
            simple = comparison["simple_is_as_good"] is True
            if not all(math.isfinite(value) for value in (estimate, low, high, prior)):
                return None
            return cls(
                estimate,
                (low, high),
                prior,
                {str(name): float(value) for name, value in raw["agreement"].items()},
                float(comparison["agreement"]),
                (float(comparison["kept"][0]), float(comparison["kept"][1])),
                (float(comparison["supported"][0]), float(comparison["supported"][1])),
                simple,
                comparison["doubtful"] is True and not simple,
                str(raw["source"]),
            )
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            return None


@dataclass(frozen=True)
class Facts:
    """The input of the rules.

    sizes: {cluster: samples} of the current clusters; confidence: mean, None if not known; distinct: samples
    that differ, None if not known; merged: how many clusters fewer there are since the user merged some; copies:
    samples that are copies of others.
    """

    record: RunRecord
    sizes: Mapping[int, int]
    confidence: float | None = None
    names: Mapping[int, str] = field(default_factory=dict)
    alike: tuple[tuple[int, int, float], ...] = ()
    run: str = "RUN"
    noun: str = "image"
    distinct: int | None = None
    merged: int = 0
    copies: int = 0

    @classmethod
    def of(cls, record: RunRecord, view: View, edits: Edits, run: str = "RUN") -> "Facts":
        """The facts of a run, after the edits."""
        view, live = view.merged(np.asarray(edits.target)), edits.live
        confidence = float(view.certain.sum() / view.n)
        return cls(
            record,
            sizes={i: int(view.sizes[i]) for i in live},
            confidence=confidence if math.isfinite(confidence) else None,
            names={i: edits.name(i) for i in live},
            alike=_alike(view.similarity()) if view.unit else (),
            run=shlex.quote(run),
            noun=view.noun,
            distinct=view.distinct,
            merged=edits.n_all - len(live),
            copies=view.n_copies,
        )

    @property
    def n(self) -> int:
        return sum(self.sizes.values())

    @property
    def share(self) -> float:
        """Samples per cluster if all clusters had the same size."""
        return self.n / max(len(self.sizes), 1)

    @property
    def filled(self) -> int:
        """Clusters that hold samples."""
        return sum(size > 0 for size in self.sizes.values())

    @property
    def quality(self) -> Quality | None:
        return Quality.of(self.record.quality)

    @property
    def split(self) -> bool:
        """Whether a cluster was split after the fit."""
        return (self.record.change or {}).get("op") == "split"

    @property
    def from_scratch(self) -> bool:
        """Whether the features were learned by the run itself."""
        return any(stage.get("name") == "guided" for stage in self.record.stages)

    @property
    def by_kmeans(self) -> bool:
        """Whether the labels are those of k-means, although another method was asked for."""
        return self.quality is not None and self.quality.source == "k-means"

    def name(self, cluster: int) -> str:
        return self.names.get(cluster, f"cluster {cluster}")

    def listing(self, clusters: list[int]) -> str:
        """The names of clusters as the beginning of a sentence."""
        names = [self.name(cluster) for cluster in clusters[:LISTED]]
        if all(name == f"cluster {cluster}" for name, cluster in zip(names, clusters, strict=False)) and len(names) > 1:
            names = ["clusters " + str(clusters[0]), *map(str, clusters[1:LISTED])]
        rest = len(clusters) - LISTED
        if rest > 0:
            return capital(", ".join(names)) + f" and {rest} more"
        return capital(" and ".join(filter(None, [", ".join(names[:-1]), names[-1]])))


def capital(text: str) -> str:
    """Names that the user gave are not changed."""
    return text[:1].upper() + text[1:] if text.startswith("cluster") else text


def _alike(similarity: np.ndarray) -> tuple[tuple[int, int, float], ...]:
    a, b = np.nonzero(np.triu(np.isfinite(similarity), 1))
    return tuple((int(i), int(j), float(similarity[i, j])) for i, j in zip(a, b, strict=True))
