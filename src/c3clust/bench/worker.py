"""One job in a worker process of pool.py: train or resume, score, and write the result."""

import ctypes
import gc
import math
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from c3clust import data, methods, metrics
from c3clust.bench.budget import Allowance, allowance
from c3clust.bench.epoch_scores import EpochScores
from c3clust.bench.job import Job, folder_of, write_result
from c3clust.data.samples import Dataset
from c3clust.errors import RunError, TrainingError
from c3clust.files.atomic import append_to, make_folder, read_bytes, read_json, write_atomically
from c3clust.files.lock import locked
from c3clust.methods.c3_adaptive.guard import effective_clusters
from c3clust.methods.cc import CC
from c3clust.networks.readouts import nearest, spherical_kmeans
from c3clust.recipes.resolve import load_options
from c3clust.records.assignments import Assignments
from c3clust.records.record import RunRecord
from c3clust.runs import Run
from c3clust.runs.run import FEATURES
from c3clust.training.checkpoint import Checkpoints

SCORED = ("cc", "c3")  # their z has unit rows, and their heads give labels at every epoch
SUPERVISION = {"yes": "trained with labels", "no": "trained without labels"}
LAST = "last"  # next to the run folder: its last checkpoint
PATIENCE = 30.0  # seconds to wait for another process to release the folder


def end_with(parent: int) -> None:
    """End this process soon after its parent, which may have been killed."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def work(out: Path, folder: Path) -> None:
    """Run or resume the job in FOLDER/job.json, and write result.json. The output goes to FOLDER/log.txt."""
    with append_to(folder / "log.txt") as log:
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
    job = Job.from_plain(read_json(folder / "job.json"))
    try:
        with _owned(folder):
            status, reason, numbers = _fit(out, folder, job)
    except TrainingError as error:
        write_result(folder, "diverged", str(error))
    except Exception as error:
        traceback.print_exc()
        write_result(folder, "failed", _sentence(error))
    else:
        write_result(folder, status, reason, **numbers)


def _fit(out: Path, folder: Path, job: Job) -> tuple[str, str, dict[str, Any]]:
    """Status, reason, and the numbers of a finished run."""
    options = load_options(job.method, job.params, job.options)
    samples, run = data.load(job.data, **options), folder / "run"
    features = folder.parent / FEATURES  # all jobs on the same data share them
    open_run = partial(Run, source=job.data, options=options, page=False, features=features)
    y = samples.y if job.method in SCORED and not job.is_limited else None  # which takes CPU time
    checkpoints = partial(_checkpoints, out, folder, job, Checkpoints if y is None else partial(EpochScores, y))
    finished = (run / "record.json").exists()
    before = _base_memory()
    peak_memory(reset=True)
    allowed = _allowance(job, out, samples, open_run)
    seconds = 0.0 if finished else _train(job, out, samples, open_run(run, checkpoints=checkpoints), allowed.epochs)
    record, labels = RunRecord.read(run / "record.json"), Assignments.read(run).clusters
    # the record of a resumed run counts from there on, its stages count everything
    wall = max(record.seconds, sum(stage["seconds"] for stage in record.stages))
    numbers: dict[str, Any] = {"scores": record.scores, "seconds": wall, "processor_seconds": seconds}
    numbers |= {"memory": peak_memory(), "memory_before": before}
    if job.is_limited:
        numbers |= {"allowed": allowed.epochs, "share": allowed.share}
    if record.encoder is not None:
        training = SUPERVISION.get(record.encoder["labels"], "training unknown")
        numbers["encoder"] = f"{record.encoder['name']}, {training}"
    if y is not None and record.encoder is None:  # with an encoder, transform would encode all samples again
        z = methods.load_model(run).transform(samples)
        in_z = nearest(z, spherical_kmeans(z, record.n_clusters, job.seed))
        numbers["scores_z"] = metrics.scores(y, in_z)
    return *_judge(record, labels), numbers


def _train(job: Job, out: Path, samples: Dataset, folder: Run, epochs: dict[str, int]) -> float:
    """Train or resume, and return the CPU time; 0 for a resumed run, of which only a part was measured."""
    is_new = not ((folder.folder / "request.json").exists() or _last(out, job.after))
    began = time.process_time()
    _estimator(job, out, epochs).fit(samples, run_dir=folder)
    return time.process_time() - began if is_new else 0.0


def _estimator(job: Job, out: Path, epochs: dict[str, int]) -> Any:
    """The estimator of the job, with the epochs that it is allowed."""
    params = job.params | epochs
    if job.start is not None:
        params["start"] = str((folder_of(out, job.start) / "run").absolute())
    return methods.find(job.method)(**params, random_state=job.seed)


def _allowance(job: Job, out: Path, samples: Dataset, run: Callable[..., Run]) -> Allowance:
    """The epochs that the job may train, found once for all seeds. True labels are left out."""
    if not job.is_limited:
        return Allowance()
    first = folder_of(out, replace(job, seed=0))
    place = first.with_name(f"{first.name}.budget")
    make_folder(place)

    def fit(folder: Path, checkpoints: Any) -> Any:
        return _estimator(job, out, {}).fit(replace(samples, y=None), run_dir=run(folder, checkpoints=checkpoints))

    with _owned(place, math.inf):
        return allowance(place, job, fit)


def _base_memory() -> float:
    """Bytes in use before a job, without those that earlier jobs of this process have freed."""
    gc.collect()
    if torch.cuda.is_available():
        return float(torch.cuda.memory_allocated())
    with suppress(OSError, AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
    return _status("VmRSS")


def peak_memory(reset: bool = False) -> float:
    """The most bytes that were in use since the last reset: of the GPU if there is one, else of this process.

    0 if the system does not report it.
    """
    if torch.cuda.is_available():
        if reset:
            torch.cuda.reset_peak_memory_stats()
        return float(torch.cuda.max_memory_allocated())
    if reset:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    return _status("VmHWM")


def _status(name: str) -> float:
    """Bytes by the name that Linux has for them; 0 on another system."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith(name))
    except (OSError, StopIteration):
        return 0.0


def _checkpoints(out: Path, folder: Path, job: Job, make: Any, run: Path, minutes: float) -> Checkpoints:
    """The checkpoints of a run. A CC that trains on begins with the last one of the run with fewer epochs.

    That needs a constant rate from the first epoch on; such a run keeps its last place for a longer one.
    """
    found: Checkpoints = make(run, minutes)
    if job.method == "cc" and job.params.get("schedule", CC.schedule) == "constant":
        found.last = folder / LAST
    if (kept := _last(out, job.after)) and not found.folder.exists():
        make_folder(found.folder)
        epochs = kept[0].parents[1] / "epochs.jsonl"
        for path in [*([epochs] if epochs.exists() else []), *kept]:  # the JSON file of the checkpoint is the last
            target = folder if path == epochs else found.folder
            write_atomically(target / path.name, read_bytes(path))
        found.resumed = "The run continues one with fewer epochs,"
    return found


def _last(out: Path, job: Job | None) -> list[Path]:
    """The two files of the last place that a finished job has kept; none if there are none."""
    kept = [] if job is None else sorted((folder_of(out, job) / LAST).glob("*-*-*.*"), reverse=True)
    return kept if [path.suffix for path in kept] == [".safetensors", ".json"] else []


def _judge(record: RunRecord, labels: np.ndarray) -> tuple[str, str]:
    """Status and reason: whether training failed, decided without true labels."""
    for stage in record.stages:
        decision = stage.get("guard", {}).get("decision")
        if decision:
            return "diverged" if "not finite" in decision["why"] else "collapsed", stage["guard"]["messages"][0]
    effective = effective_clusters(np.bincount(labels).tolist())
    if effective < record.n_clusters / 2:
        share = f"{effective:.1f} of {record.n_clusters} clusters"
        return "collapsed", f"The labels use only {share} (exp of the entropy of the cluster sizes)."
    return "ok", ""


@contextmanager
def _owned(folder: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Lock the folder; wait a while if a process that is about to end still holds it."""
    deadline = time.monotonic() + patience
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(folder))
                break
            except RunError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)
        yield


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}"
