"""A job and what came of it, as files:

    OUT/runs/DATA/METHOD-sSEED-KEY/
        job.json        what was asked for
        result.json     status, reason, scores, seconds: the job is done
        epochs.jsonl    scores and pairs after each epoch, where true labels are known (watch.py)
        log.txt         what the process said
        run/            the run folder (runs.py), without a report page

The key is a hash of all that decides the result: data, method, every parameter (defaults too, so that a changed default
is another job), seed and the start's key. It knows no version: after a change of a method's code, take another OUT.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import methods
from c3clust.errors import RunError
from c3clust.files import write_atomically
from c3clust.records.assignments import Assignments
from c3clust.records.record import RunRecord
from c3clust.runs.lock import locked

__all__ = ["DONE", "Job", "Result", "folder_of", "remember", "result_of", "write_result"]

FREE = ("random_state", "verbose", "device", "compile", "start")  # parameters that decide nothing, or are told apart
DONE = ("ok", "diverged", "collapsed")  # would end the same way again; what failed is tried again


@dataclass(frozen=True)
class Job:
    """One run to be had: a method with its parameters on a data set, from one seed.

    data: a name or place, `options` go to `data.load`. name: what tables call it; the method's if left empty. It is
    no part of the key: two studies that name the same job differently share its run. start: the job whose network C3
    starts from.
    """

    data: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    name: str = field(default="", compare=False)
    start: "Job | None" = None
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.method)

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        """Names the job by its content."""
        known = {name: p.default for name, p in signature(methods.load(self.method)).parameters.items()} | self.params
        content = {
            "data": self.data,
            "options": {name: value for name, value in self.options.items() if value is not None},
            "method": self.method,
            "params": {name: value for name, value in known.items() if name not in FREE},
            "seed": self.seed,
            "start": self.start and self.start.key,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]

    def plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        named = ("data", "method", "params", "seed", "name", "options")
        return {name: getattr(self, name) for name in named} | {"start": self.start and self.start.plain()}

    @classmethod
    def from_plain(cls, raw: dict[str, Any]) -> "Job":
        """What `plain` gave."""
        try:
            return cls(**{**raw, "start": raw["start"] and cls.from_plain(raw["start"])})
        except (TypeError, KeyError) as error:
            raise RunError(f"A job cannot be read: {error}.") from None


@dataclass(frozen=True)
class Result:
    """What came of a job.

    status: "ok"; "collapsed" or "diverged": it went wrong in training, `reason` says how, and the scores are those of
    the labels it still gave, if any; "failed": it ended without a result; "missing": it has not been run.
    scores_z: of spherical k-means in z, for CC and C3. seconds: of this run on the wall, without its start;
    processor_seconds: by the processor's clock, which other programs do not disturb; 0 if it was interrupted.
    encoder: what made the features it was given, if any. Such results have tables of their own: an encoder that was
    trained with labels makes them another kind than those of methods that start from nothing.
    """

    job: Job
    folder: Path
    status: str
    reason: str = ""
    scores: dict[str, float] | None = None
    scores_z: dict[str, float] | None = None
    seconds: float = 0.0
    processor_seconds: float = 0.0
    encoder: str = ""

    @property
    def run(self) -> Path:
        """The run folder: its model can be loaded, and be the start of others."""
        return self.folder / "run"

    @property
    def start(self) -> "Result | None":
        """What the run started from."""
        return result_of(self.folder.parents[2], self.job.start) if self.job.start else None

    def total(self, clock: str = "seconds") -> float:
        """The time of this run and all that it started from; 0 if it is not known of all."""
        own, before = float(getattr(self, clock)), self.start.total(clock) if self.start else None
        return own if before is None else own + before if own and before else 0.0

    @property
    def labels(self) -> np.ndarray:
        """Cluster of each sample: [n]."""
        return Assignments.read(self.run).clusters

    @cached_property
    def record(self) -> RunRecord:
        """Stages with their curves, notes, versions."""
        return RunRecord.read(self.run / "record.json")

    @property
    def notes(self) -> list[str]:
        return self.record.notes

    def curve(self, stage: str, name: str) -> list[Any]:
        """A curve of a stage, one entry an epoch: "loss", "positives_per_view", "cluster_sizes", ..."""
        return [value for s in self.record.stages if s["name"] == stage for value in s["curves"].get(name, [])]

    def epochs(self, stage: str) -> list[dict[str, Any]]:
        """acc, nmi, ari and pairs after each epoch of a stage, the first one's first (watch.py)."""
        names = [s["name"] for s in self.record.stages]
        path = self.folder / "epochs.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        found = {(seen["stage"], seen["epoch"]): seen for seen in map(json.loads, lines)}  # the last of equals counts
        return [seen for (number, _), seen in sorted(found.items()) if names[number] == stage]


def folder_of(out: str | Path, job: Job) -> Path:
    """Where the job's files are, or will be."""
    place = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in Path(job.data).name)
    return Path(out) / "runs" / (place or "data") / f"{job.method}-s{job.seed}-{job.key}"


def result_of(out: str | Path, job: Job) -> Result:
    """What came of the job so far."""
    folder = folder_of(out, job)
    path = folder / "result.json"
    if not path.exists():
        begun = "it was begun and not finished" if folder.exists() else "it has not been run"
        return Result(job, folder, "missing", begun)
    try:
        return Result(job, folder, **json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        raise RunError(f"{path} cannot be read: {error}. Remove it to have the run done again.") from None


def write_result(folder: Path, status: str, reason: str = "", **found: Any) -> None:
    """The job is done."""
    content = json.dumps({"status": status, "reason": reason, **found}, indent=1)
    write_atomically(folder / "result.json", (content + "\n").encode())


def remember(out: str | Path, jobs: Sequence[Job]) -> list[Job]:
    """Add the jobs to OUT/jobs.json, the list of all that tables of OUT show, and give the whole list.

    A job takes the place of one of the same data set, encoder, name and seed: its parameters have changed since.
    """
    path = Path(out) / "jobs.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        try:
            before = [Job.from_plain(raw) for raw in json.loads(path.read_bytes())] if path.exists() else []
        except (OSError, ValueError, TypeError) as error:
            raise RunError(f"{path} cannot be read: {error}. Remove it; finished runs are found again.") from None
        known = {(job.data, job.params.get("encoder"), job.name, job.seed): job for job in [*before, *jobs]}
        content = json.dumps([job.plain() for job in known.values()], indent=1)
        write_atomically(path, (content + "\n").encode())
    return list(known.values())
