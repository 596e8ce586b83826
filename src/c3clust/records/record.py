"""RunRecord <-> record.json: the parameters, the training and the results of a run.

The record is plain data: numbers, strings, lists and dicts. It contains no array of the size of the dataset.
Fields that other parts of the package read:

    data     {"place", "kind": "image" | "vector" | "text" | "table", "n", "shape", "fingerprint", "policy",
              "classes" (or null), "skipped": [[name, reason], ...], "copies": how many samples duplicates.csv lists}
    stages   one dict per training stage, in order:
             {"name": "cc" | "c3" | ..., "epochs": int, "seconds": float,
              "curves": {"loss": [one float per epoch], "instance_loss": [...], "positives_per_view": [...],
                         "cluster_sizes": [[int, M of them], ...], "assignment_entropy": [...],
                         "labels_changed": [...], "learning_rate": [...]}}
             A curve that a stage does not have is absent; every curve of a stage has one entry per epoch.
    encoder  of a run on the features of an encoder: {"name", "what", "weights", "licence",
             "labels": "yes" | "no" | "unknown", "trained_on", "views", "features", "finetuned", "seconds", ...}; else
             null. Runs whose encoder was trained with labels do not belong in the same table as others.
    quality  without labels, of a C3 run that is guided by neighbours: {"estimated_accuracy", "interval": [low, high],
             "prior", "agreement": {prior: mean adjusted Rand index of the members}, "comparison" with k-means:
             {"agreement", "kept": [C3, k-means], "supported": [C3, k-means], "simple_is_as_good", "doubtful"}}; else
             null
    scores   {"acc", "nmi", "ari"} of the final labels, if true labels are known; else null
    notes    messages for the user, one sentence each
"""

import json
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from c3clust.errors import RunError
from c3clust.files import read_json, write_atomically

__all__ = ["RunRecord", "versions"]

FORMAT = 1


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that affect results."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in ("c3clust", "torch", "numpy", "scipy", "scikit-learn", "pillow"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


@dataclass
class RunRecord:
    """One run, as written to record.json."""

    method: str
    n_clusters: int
    params: dict[str, Any]
    seed: int
    data: dict[str, Any]
    stages: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    encoder: dict[str, Any] | None = None
    quality: dict[str, Any] | None = None
    scores: dict[str, float] | None = None
    notes: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=versions)
    device: str = "cpu"
    command: str = ""
    created: str = ""
    format: int = FORMAT

    def write(self, path: Path) -> None:
        """Write as JSON; NaN and infinity are refused, so that every reader can read it."""
        write_atomically(path, (json.dumps(asdict(self), indent=1, allow_nan=False) + "\n").encode())

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
        known = get_type_hints(cls)
        for name in ("method", "n_clusters", "params", "seed", "data"):
            if name not in raw:
                raise RunError(f"{where} lacks the field {name!r}.")
        for name, value in raw.items():
            if name not in known:
                raise RunError(f"{where} has an unknown field {name!r}.")
            if not _fits(value, known[name]):
                raise RunError(f"{where}: field {name!r} is a {type(value).__name__}, which it cannot be.")
        for name, kind in (("stages", dict), ("notes", str)):
            if not all(isinstance(entry, kind) for entry in raw.get(name, [])):
                raise RunError(f"{where}: field {name!r} has an entry that is not a {kind.__name__}.")
        return cls(**raw)


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value read from JSON has the type that the field declares; contents of dicts and lists are ignored."""
    if isinstance(hint, UnionType):
        return any(_fits(value, option) for option in get_args(hint))
    kind = get_origin(hint) or hint
    return isinstance(value, (int, float) if kind is float else kind) and not isinstance(value, bool)
