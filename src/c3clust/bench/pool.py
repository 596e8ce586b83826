"""Run jobs in worker processes, so that a run that crashes or is killed does not affect the others.

A worker runs one job after the other, which saves the time to start Python and torch. One that dies is replaced for the
next job. A job is done when its result.json exists.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from c3clust.bench.job import DONE, Job, Result, folder_of, result_of, write_json, write_result
from c3clust.files.atomic import append_to

PAUSE = 0.1  # seconds between two polls of the workers
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def run(
    jobs: Sequence[Job], out: str | Path, workers: int = 1, on_result: Callable[[Result], None] = lambda result: None
) -> list[Result]:
    """Run the missing jobs, at most `workers` at a time, and return one result per job, in their order.

    A job that others start from is run before them, only once. Finished jobs are skipped, interrupted ones resumed,
    failed ones run again. `on_result` is called with each result. With several workers, each uses one thread.
    """
    out = Path(out)
    waiting = {job.key: job for job in _with_starts(jobs) if result_of(out, job).status not in DONE}
    pool = [_Worker(out, one_thread=workers > 1) for _ in range(min(workers, len(waiting)))]
    try:
        while waiting or any(worker.job for worker in pool):
            for worker in pool:
                if worker.job and worker.has_ended():
                    on_result(result_of(out, worker.job))
                    worker.job = None
            busy = {worker.job.key for worker in pool if worker.job}
            for worker, job in zip([w for w in pool if not w.job], _ready(waiting, busy), strict=False):
                del waiting[job.key]
                if reason := _obstacle(out, job):
                    _fail(out, job, reason)
                    on_result(result_of(out, job))
                else:
                    worker.begin(job)
            time.sleep(PAUSE)
        for worker in pool:
            worker.finish()
    finally:
        for worker in pool:
            worker.kill()
    return [result_of(out, job) for job in jobs]


class _Worker:
    """One process, started with its first job."""

    job: Job | None = None
    process: subprocess.Popen[str] | None = None

    def __init__(self, out: Path, one_thread: bool) -> None:
        self.out, self.environment = out, os.environ | (dict.fromkeys(THREADS, "1") if one_thread else {})

    def begin(self, job: Job) -> None:
        """Send a job to the process; start a new process if the last one has ended."""
        self.job, folder = job, folder_of(self.out, job)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "job.json", job.plain())
        (folder / "result.json").unlink(missing_ok=True)
        if self.process is None or self.process.poll() is not None:
            self.kill()
            command = [sys.executable, "-m", "c3clust.bench.worker", str(self.out)]
            with append_to(folder / "log.txt") as log:
                self.process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=self.environment, text=True
                )
        self._send(str(folder))

    def has_ended(self) -> bool:
        """Whether the job is done. If the process died without a result, the job has failed."""
        assert self.job is not None
        assert self.process is not None
        folder, code = folder_of(self.out, self.job), self.process.poll()
        if not (folder / "result.json").exists() and code is not None:
            end = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            _fail(self.out, self.job, f"Its process {end}; see {folder / 'log.txt'}.")
        return (folder / "result.json").exists()

    def finish(self) -> None:
        """End the process: there are no more jobs."""
        if self.process is not None:
            self._send("")
            self.process.wait()

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            with suppress(OSError):
                self.process.stdin.close()  # type: ignore[union-attr]
            self.process = None

    def _send(self, line: str) -> None:
        with suppress(OSError):  # it has just ended, which `has_ended` notices
            self.process.stdin.write(line + "\n")  # type: ignore[union-attr]
            self.process.stdin.flush()  # type: ignore[union-attr]


def _with_starts(jobs: Iterable[Job]) -> list[Job]:
    """Each job once, after the jobs that it starts from or continues."""
    found: dict[str, Job] = {}
    for job in jobs:
        for needed in [*_with_starts(_needed(job)), job]:
            found.setdefault(needed.key, needed)
    return list(found.values())


def _ready(waiting: dict[str, Job], busy: set[str]) -> list[Job]:
    """The jobs that need none which is waiting or running."""
    unfinished = waiting.keys() | busy
    return [job for job in waiting.values() if not any(needed.key in unfinished for needed in _needed(job))]


def _needed(job: Job) -> list[Job]:
    """The job that it starts from, and the one that it continues."""
    return [needed for needed in (job.start, job.after) if needed is not None]


def _obstacle(out: Path, job: Job) -> str:
    """The reason why the job cannot begin, if there is one: its start has no network."""
    if job.start is None or (folder_of(out, job.start) / "run" / "model.json").exists():
        return ""
    start = result_of(out, job.start)
    return f"Its start ({start.job.name}, seed {start.job.seed}) {start.status}: {start.reason}"


def _fail(out: Path, job: Job, reason: str) -> None:
    folder_of(out, job).mkdir(parents=True, exist_ok=True)
    write_result(folder_of(out, job), "failed", reason)
