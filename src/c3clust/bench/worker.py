"""A process that does one job after the other: `python -m c3clust.bench.worker OUT`, as pool.py starts it.

Each line of standard input is the folder of a job; an empty line says that there are no more. When the input ends
without it, the process that sent the jobs is gone, and this one goes at once.
"""

import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import data, methods, metrics
from c3clust.bench.job import Job, folder_of, write_result
from c3clust.bench.watch import Watch
from c3clust.data.samples import Dataset
from c3clust.errors import RunError, TrainingError
from c3clust.methods.c3.guard import effective_clusters
from c3clust.networks.readouts import nearest, spherical_kmeans
from c3clust.records.assignments import Assignments
from c3clust.records.record import RunRecord
from c3clust.runs import Run
from c3clust.runs.lock import locked
from c3clust.training.checkpoint import Checkpoints

__all__ = ["work"]

WATCHED = ("cc", "c3")  # their z has unit rows, and their heads give labels at every epoch
PATIENCE = 30.0  # seconds for a process that is about to leave the folder


def work(out: Path, folder: Path) -> None:
    """Do the job that FOLDER/job.json asks for, or what is left of it, and write result.json."""
    job = Job.from_plain(json.loads((folder / "job.json").read_bytes()))
    try:
        with _owned(folder):
            status, reason, found = _fit(out, folder, job)
    except TrainingError as error:
        write_result(folder, "diverged", str(error))
    except Exception as error:
        traceback.print_exc()
        write_result(folder, "failed", _sentence(error))
    else:
        write_result(folder, status, reason, **found)


def _fit(out: Path, folder: Path, job: Job) -> tuple[str, str, dict[str, Any]]:
    """Status, reason, and the numbers found."""
    options = _reading(job)
    images, run = data.load(job.data, **options), folder / "run"
    watched = job.method in WATCHED and images.y is not None
    finished = (run / "record.json").exists()
    watch = partial(Watch, images.y) if watched else Checkpoints
    taken = 0.0 if finished else _train(images, options, run, job, out, watch)
    record, labels = RunRecord.read(run / "record.json"), Assignments.read(run).clusters
    found: dict[str, Any] = {"scores": record.scores, "seconds": _seconds(record), "processor_seconds": taken}
    if record.encoder is not None:
        knew = {"yes": "trained with labels", "no": "trained without labels"}.get(
            record.encoder["labels"], "trained somehow"
        )
        found["encoder"] = f"{record.encoder['name']}, {knew}"
    if watched and images.y is not None:
        z = methods.load_model(run).transform(images)
        in_z = nearest(z, spherical_kmeans(z, record.n_clusters, job.seed))
        found["scores_z"] = metrics.scores(images.y, in_z)
    return *_judge(record, labels), found


def _reading(job: Job) -> dict[str, Any]:
    """How the samples are read: as the method's encoder wants them, and as the job asks."""
    wanted = methods.load(job.method)(**job.params)._input_options().load_options()
    return {name: value for name, value in wanted.items() if value is not None} | job.options


def _train(images: Dataset, options: dict[str, Any], run: Path, job: Job, out: Path, checkpoints: Any) -> float:
    """Train, or go on; the processor's time, 0 if it is not known of all."""
    params, whole = dict(job.params), not (run / "request.json").exists()
    if job.start is not None:
        params["start"] = str((folder_of(out, job.start) / "run").absolute())
    began = time.process_time()
    folder = Run(run, source=job.data, options=options, page=False, checkpoints=checkpoints)
    methods.load(job.method)(**params, random_state=job.seed).fit(images, run_dir=folder)
    return time.process_time() - began if whole else 0.0


def _seconds(record: RunRecord) -> float:
    """How long the run took; the record of one that was interrupted counts from there, its stages count all."""
    return max(record.seconds, sum(stage["seconds"] for stage in record.stages))


def _judge(record: RunRecord, labels: np.ndarray) -> tuple[str, str]:
    """Whether training went wrong, without a look at true labels."""
    for stage in record.stages:
        decision = stage.get("guard", {}).get("decision")
        if decision:
            return "diverged" if "not finite" in decision["why"] else "collapsed", stage["guard"]["told"][0]
    found = effective_clusters(np.bincount(labels).tolist())
    if found < record.n_clusters / 2:
        return "collapsed", (
            f"The labels make up {found:.1f} of {record.n_clusters} clusters (exp of the entropy of their sizes)."
        )
    return "ok", ""


@contextmanager
def _owned(folder: Path) -> Iterator[None]:
    """Own the folder; wait a while for a process that is about to leave it."""
    deadline = time.monotonic() + PATIENCE
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
    """What went wrong, in one line."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}"


def _receive(folders: "queue.Queue[str]") -> None:
    for line in sys.stdin:
        folders.put(line.strip())
        if not line.strip():
            return
    os._exit(1)


def main(out: str) -> None:
    """Work until there is no more to do."""
    folders: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_receive, args=(folders,), daemon=True).start()
    while folder := folders.get():
        log = os.open(Path(folder) / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for stream in (1, 2):
            os.dup2(log, stream)
        os.close(log)
        work(Path(out), Path(folder))


if __name__ == "__main__":
    main(sys.argv[1])
