"""A job and its result, as files:

    OUT/runs/DATA/METHOD-sSEED-KEY/
        job.json        the job
        last/           the last checkpoint of a CC that can be trained on (worker.py)
        result.json     status, reason, scores, seconds; written when the job is done
        epochs.jsonl    scores and counts of pairs after each epoch, if true labels are known (epoch_scores.py)
        log.txt         output of the worker process
        run/            the run folder (runs/), without a report page

The key is a hash of everything that decides the result: data, method, every parameter (defaults too, so that a changed
default gives another job), seed, budget, and the network that C3 starts from. The version of the code is not part of
it: after a change of a method, use another OUT.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import methods
from c3clust.errors import RunError
from c3clust.files.atomic import read_bytes, read_json, write_atomically
from c3clust.files.lock import locked
from c3clust.records.assignments import Assignments
from c3clust.records.ownership import is_own, seal
from c3clust.records.record import RunRecord

# Parameters that do not affect the result, or have their own field.
NOT_IN_KEY = ("random_state", "verbose", "device", "compile", "start")
DONE = ("ok", "diverged", "collapsed")  # would end the same way again; failed jobs are run again


@dataclass(frozen=True)
class Job:
    """One run: a method with its parameters on a dataset, with one seed.

    data: the name or path of a dataset; `options` go to `data.load`. name: the name in tables, by default the method's;
    it is not part of the key, so two studies that name the same job differently share its run. start: the job whose
    network C3 starts from. after: the same job with fewer epochs, from whose last checkpoint this one is trained on;
    the result is the same without it, bit for bit, so it is not part of the key. budget: CPU seconds that the fit
    may take; its epochs are fewer where it needs more (budget.py). share: the fraction of its own epochs that a method
    trains, whatever they cost.
    """

    data: str
    method: str
    params: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    name: str = field(default="", compare=False)
    start: "Job | None" = None
    options: dict[str, Any] = field(default_factory=dict)
    after: "Job | None" = field(default=None, compare=False)
    budget: float | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.method)

    def __hash__(self) -> int:
        return hash(self.key)

    @cached_property
    def key(self) -> str:
        params = {name: p.default for name, p in signature(methods.find(self.method)).parameters.items()} | self.params
        content: dict[str, Any] = {"data": self.data, "method": self.method, "seed": self.seed}
        content["options"] = {name: value for name, value in self.options.items() if value is not None}
        content["params"] = {name: value for name, value in params.items() if name not in NOT_IN_KEY}
        content["start"] = self.start.key if self.start else _start_key(self.params.get("start"))
        content |= {} if self.budget is None else {"budget": float(self.budget)}
        content |= {} if self.share is None else {"share": float(self.share)}
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:12]

    @property
    def is_limited(self) -> bool:
        """Whether it trains fewer epochs than its own."""
        return self.budget is not None or self.share is not None

    def plain(self) -> dict[str, Any]:
        named = ("data", "method", "params", "seed", "name", "options", "budget", "share")
        others = {"start": self.start and self.start.plain(), "after": self.after and self.after.plain()}
        return {name: getattr(self, name) for name in named} | others

    @classmethod
    def from_plain(cls, raw: dict[str, Any]) -> "Job":
        try:
            others = {name: raw.get(name) and cls.from_plain(raw[name]) for name in ("start", "after")}
            return cls(**{**raw, **others})
        except (TypeError, KeyError) as error:
            raise RunError(f"A job cannot be read: {error}.") from None


@dataclass(frozen=True)
class Result:
    """The result of a job.

    status: "ok"; "collapsed" or "diverged": training failed, `reason` states how, and the scores are those of the
    labels it still produced, if any; "failed": it ended without a result; "missing": it has not been run.
    scores_z: of spherical k-means in z, for CC and C3 without an encoder. seconds: wall-clock time of this run, without
    its start; processor_seconds: CPU time, which other programs do not affect; 0 if the run was interrupted.
    encoder: the encoder whose features were clustered, if any. Such results have separate tables, since an encoder
    may have been trained with labels. memory, memory_before: bytes in use at most, and before training.
    allowed, share: of a job with a budget or share, epochs by parameter, and their fraction of the method's own.
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
    memory: float = 0.0
    memory_before: float = 0.0
    allowed: dict[str, int] | None = None
    share: float | None = None

    @property
    def run(self) -> Path:
        """The run folder, with the saved model."""
        return self.folder / "run"

    @property
    def start(self) -> "Result | None":
        return result_of(self.folder.parents[2], self.job.start) if self.job.start else None

    def total(self, clock: str = "seconds") -> float:
        """The time of this run and of all runs that it started from; 0 if one of them is not known."""
        own, before = float(getattr(self, clock)), self.start.total(clock) if self.start else None
        return own if before is None else own + before if own and before else 0.0

    @property
    def labels(self) -> np.ndarray:
        """Cluster of each sample: [n]."""
        return Assignments.read(self.run).clusters

    @cached_property
    def record(self) -> RunRecord:
        return RunRecord.read(self.run / "record.json")

    @property
    def notes(self) -> list[str]:
        return self.record.notes

    def curve(self, stage: str, name: str) -> list[Any]:
        """A curve of a stage, one entry per epoch: "loss", "positives_per_view", "cluster_sizes", ..."""
        return [value for s in self.record.stages if s["name"] == stage for value in s["curves"].get(name, [])]

    def epochs(self, stage: str) -> list[dict[str, Any]]:
        """acc, nmi, ari and pairs after each epoch of a stage, in order (epoch_scores.py)."""
        names = [s["name"] for s in self.record.stages]
        path = self.folder / "epochs.jsonl"
        entries = map(json.loads, read_bytes(path).splitlines() if path.exists() else [])
        last = {(entry["stage"], entry["epoch"]): entry for entry in entries}  # a resumed run may repeat an epoch
        return [entry for (number, _), entry in sorted(last.items()) if names[number] == stage]


def _start_key(start: Any) -> str | None:
    """The content of a model or checkpoint that is given as the parameter `start`; its path if it cannot be read."""
    if start is None:
        return None
    path = Path(start) if Path(start).is_file() else Path(start) / "model.json"  # contains the hash of the weights
    return _digest(path, path.stat().st_mtime_ns) if path.is_file() else str(start)


@lru_cache
def _digest(path: Path, changed: int) -> str:
    """The hash of a file, computed once as long as it does not change: a checkpoint is large, and jobs are many."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_of(out: str | Path, job: Job) -> Path:
    place = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in Path(job.data).name)
    method = job.method.replace(":", "-")
    return Path(out) / "runs" / (place or "data") / f"{method}-s{job.seed}-{job.key}"


def result_of(out: str | Path, job: Job) -> Result:
    folder = folder_of(out, job)
    path = folder / "result.json"
    if not path.exists():
        reason = "it was started and not finished" if folder.exists() else "it has not been run"
        return Result(job, folder, "missing", reason)
    try:
        return Result(job, folder, **read_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise RunError(f"{path} cannot be read: {error}. Remove it to run the job again.") from None


def write_json(path: Path, content: Any) -> None:
    write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())


def write_result(folder: Path, status: str, reason: str = "", **numbers: Any) -> None:
    """Write result.json: the job is done."""
    write_json(folder / "result.json", {"status": status, "reason": reason, **numbers})


def remember(out: str | Path, jobs: Sequence[Job]) -> list[Job]:
    """Add the jobs to OUT/jobs.json, the list of all jobs in the tables of OUT, and return the whole list.

    A job replaces one with the same dataset, encoder, budget, share, name and seed, whose parameters were others.
    """
    path = Path(out) / "jobs.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.parent):
        before = _remembered(path)
        every = [*before, *jobs]
        known = {(job.data, job.params.get("encoder"), job.budget, job.share, job.name, job.seed): job for job in every}
        plain = [job.plain() for job in known.values()]
        write_json(path, {"jobs": plain, "seal": seal("jobs.json", plain)})
    return list(known.values())


def _remembered(path: Path) -> list[Job]:
    """The jobs of jobs.json, which name data, encoders and starts: only those of this user are run."""
    if not path.exists():
        return []
    try:
        raw = read_json(path)
        own = isinstance(raw, dict) and is_own("jobs.json", raw["jobs"], raw["seal"])
        jobs = [Job.from_plain(each) for each in raw["jobs"]] if own else []
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise RunError(f"{path} cannot be read: {error}. Remove it; finished runs are found again.") from None
    if not own:
        raise RunError(
            f"{path} was not written by you on this computer, so its jobs are not run. Remove it and name the data "
            "again; finished runs are found again."
        )
    return jobs
