"""RunRecord <-> record.json: the parameters, the training and the results of a run.

The record is plain data: numbers, strings, lists and dicts. It contains no array of the size of the dataset.
Fields that other parts of the package read:

    data     {"place", "kind": "image" | "vector" | "text" | "table", "n", "shape", "fingerprint", "content": what the
              samples show (data/content.py), "classes" (or null), "skipped": [[name, reason], ...], "copies": how many
              samples duplicates.csv lists, "taken": the part of the source that was clustered, "" for all, "left":
              what was not, one text each}
    stages   one dict per training stage, in order:
             {"name": "cc" | "c3" | ..., "epochs": int, "seconds": float,
              "curves": {"loss": [one float per epoch], "instance_loss": [...], "positives_per_view": [...],
                         "cluster_sizes": [[int, M of them], ...], "assignment_entropy": [...],
                         "labels_changed": [...], "learning_rate": [...]}}
             A curve that a stage does not have is absent; every curve of a stage has one entry per epoch.
    encoder  of a run on the features of an encoder: {"name", "what", "weights", "licence",
             "labels": "yes" | "no" | "unknown", "trained_on", "views", "features", "finetuned", "seconds", ...}; else
             null. Runs whose encoder was trained with labels do not belong in the same table as others.
    augment  how the views were made that the network was trained with: {"policy", and its parameters}; "none" for a
             method without views. Views that an encoder was given are those of encoder["augment"]
    quality  without labels, of a method that estimates it: {"estimated_accuracy", "interval": [low, high], "prior",
             "source": who made the labels, "members" or "k-means",
             "agreement": {member: fraction of samples in the same cluster; of images without an encoder, prior:
             mean adjusted Rand index of the members}, "comparison" with k-means:
             {"agreement", "kept": [members, k-means], "supported": [members, k-means], "simple_is_as_good",
             "doubtful"}}; else null
    choice   of a run that found its number of clusters: {"chosen", "runner_up", "others", "doubt", "reason", "ks": the
             numbers tried, and one value for each of them in "chance", "score", "low", "high", "above_cloud", "kept",
             "stability"; "structure", "looked_at", "seconds" (n_clusters/choice.py; earlier versions wrote no
             "others", "doubt" and "chance"); "merges": [[clusters], [clusters], distance] and
             "splits": [cluster, size, size, silhouette] (n_clusters/tree.py)}; else null
    scores   {"acc", "nmi", "ari"} of the final labels, if true labels are known; else null
    suggested_names   of the clusters of the model, by number: {"name", "source"}; guesses, which nothing uses by itself
    change   of a run that was split or regrouped: {"op": "split", "cluster", "into"} or {"op": "regroup", "before"};
             it has no `choice`
    notes    messages for the user, one sentence each
"""

import json
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from c3clust.checks import SEEDS
from c3clust.errors import RunError
from c3clust.files.atomic import read_json, write_atomically
from c3clust.files.schema import Clusters, Count, Layout, Limits, Number, build, open_ended
from c3clust.records.ownership import is_own, seal

__all__ = ["RunRecord", "Seed", "versions"]

FORMAT = 1
NAME = "record.json"
Seed = Annotated[int, Limits(ge=0, lt=SEEDS)]


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that affect results."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and edits do not need it

    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in ("c3clust", "torch", "numpy", "scipy", "scikit-learn", "pillow"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


@open_ended
class Data(TypedDict, total=False):
    """The entry `data`."""

    place: str
    kind: Literal["image", "vector", "text", "table"]
    n: Count
    shape: list[Count]
    fingerprint: str
    content: str
    classes: list[str] | None
    skipped: list[Annotated[list[str], Limits(min_length=2, max_length=2)]]
    copies: Count
    taken: str
    left: list[str]


@open_ended
class Guard(TypedDict, total=False):
    returned: Count
    limits: dict[str, Number]
    messages: list[str]
    decision: dict[str, Any] | None


@open_ended
class Stage(TypedDict, total=False):
    """One entry of `stages`."""

    name: str
    epochs: Count
    batch_size: Count
    seconds: Number
    curves: dict[str, list[Number | list[Number] | None]]
    guard: Guard
    scores: dict[str, Number]


@open_ended
class EncoderNote(TypedDict, total=False):
    """The entry `encoder`."""

    name: str
    what: str
    weights: str
    licence: str
    labels: str
    trained_on: str


Group = list[Count]  # numbers of clusters


@open_ended
class ChoiceNote(TypedDict):
    """The entry `choice`."""

    chosen: Clusters
    runner_up: Clusters | None
    reason: str
    ks: list[Clusters]
    score: list[Number]
    low: list[Number]
    high: list[Number]
    above_cloud: list[Number]
    kept: list[Number]
    stability: list[Number]
    merges: list[Annotated[list[Group | Number], Limits(min_length=3, max_length=3)]]
    splits: list[Annotated[list[Number], Limits(min_length=4, max_length=4)]]


@dataclass
class RunRecord:
    """One run, as written to record.json."""

    method: str
    n_clusters: Clusters
    params: dict[str, Any]
    seed: Seed
    data: Annotated[dict[str, Any], Layout(Data)]
    stages: list[Annotated[dict[str, Any], Layout(Stage)]] = field(default_factory=list)
    seconds: Number = 0.0
    encoder: Annotated[dict[str, Any], Layout(EncoderNote)] | None = None
    augment: dict[str, Any] | None = None
    quality: dict[str, Any] | None = None
    choice: Annotated[dict[str, Any], Layout(ChoiceNote)] | None = None
    scores: dict[str, Number] | None = None
    suggested_names: dict[str, dict[str, str]] = field(default_factory=dict)
    change: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=versions)
    device: str = "cpu"
    command: str = ""
    created: str = ""
    format: int = FORMAT
    seal: str = field(default="", compare=False)

    def write(self, path: Path) -> None:
        """Write as JSON; NaN and infinity are rejected, so that every reader can read it."""
        content = self._content()
        self.seal = seal(NAME, content)
        sealed = content | {"seal": self.seal}
        write_atomically(path, (json.dumps(sealed, indent=1, allow_nan=False) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> "RunRecord":
        """Read and check; the field that is wrong is named."""
        try:
            raw = read_json(path)
        except FileNotFoundError:
            raise RunError(f"{path} does not exist: {path.parent} is not a finished run.") from None
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(f"{path} is not a run record: {error}.") from None
        return cls.from_dict(raw, str(path))

    @classmethod
    def from_dict(cls, raw: Any, where: str = "the record") -> "RunRecord":
        """Check the fields of a parsed record and build it."""
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise RunError(f"{where} is not a run record of format {FORMAT}.")
        return build(cls, raw, where)

    def is_own(self) -> bool:
        """Whether this user made the run: only then is the place of the data in it used."""
        return is_own(NAME, self._content(), self.seal)

    def _content(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "seal"}
