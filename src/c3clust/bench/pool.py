"""Run jobs in worker processes: a run that crashes, or is killed, fails alone.

A worker does one job after the other, which spares the start of Python and torch. One that ends with a job is
replaced for the next. result.json is the sign that a job is done, whoever wrote it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from c3clust.bench.job import DONE, Job, Result, folder_of, result_of, write_result
from c3clust.files import write_atomically

__all__ = ["run"]

PAUSE = 0.1  # seconds between two looks at the workers
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def run(
    jobs: Sequence[Job], out: str | Path, workers: int = 1, tell: Callable[[Result], None] = lambda result: None
) -> list[Result]:
    """Do what is missing, at most `workers` at a time, and give one result for each job, in their order.

    Starts are done first, and once for all that share them. Finished runs are left alone, what was interrupted goes
    on, what failed is tried again. `tell` hears of each run that ends. With several workers, each has one thread.
    """
    out = Path(out)
    waiting = {job.key: job for job in _with_starts(jobs) if result_of(out, job).status not in DONE}
    pool = [_Worker(out, one_thread=workers > 1) for _ in range(min(workers, len(waiting)))]
    try:
        while waiting or any(worker.job for worker in pool):
            for worker in pool:
                if worker.job and worker.has_ended():
                    tell(result_of(out, worker.job))
                    worker.job = None
            busy = {worker.job.key for worker in pool if worker.job}
            for worker, job in zip([w for w in pool if not w.job], _ready(waiting, busy), strict=False):
                del waiting[job.key]
                reason = _obstacle(out, job)
                if reason:
                    _fail(out, job, reason)
                    tell(result_of(out, job))
                else:
                    worker.begin(job)
            time.sleep(PAUSE)
        for worker in pool:
            worker.dismiss()
    finally:
        for worker in pool:
            worker.kill()
    return [result_of(out, job) for job in jobs]


class _Worker:
    """One process, or none while there is nothing to do."""

    def __init__(self, out: Path, one_thread: bool) -> None:
        self.out, self.job = out, None
        self.environment = os.environ | (dict.fromkeys(THREADS, "1") if one_thread else {})
        self.process: subprocess.Popen[str] | None = None

    job: Job | None

    def begin(self, job: Job) -> None:
        """Send the process a job; a new process, if the last one has ended."""
        self.job, folder = job, folder_of(self.out, job)
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / "job.json", (json.dumps(job.plain(), indent=1) + "\n").encode())
        (folder / "result.json").unlink(missing_ok=True)
        if self.process is None or self.process.poll() is not None:
            self.kill()
            command = [sys.executable, "-m", "c3clust.bench.worker", str(self.out)]
            with open(folder / "log.txt", "ab") as log:
                self.process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=self.environment, text=True
                )
        self._send(str(folder))

    def has_ended(self) -> bool:
        """Whether the job is done. A process that left no result has failed; how it ended says why."""
        assert self.job is not None
        assert self.process is not None
        folder, code = folder_of(self.out, self.job), self.process.poll()
        if not (folder / "result.json").exists() and code is not None:
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            _fail(self.out, self.job, f"Its process {how}; see {folder / 'log.txt'}.")
        return (folder / "result.json").exists()

    def dismiss(self) -> None:
        """There is no more to do."""
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
        with suppress(OSError):  # it has just ended, which `has_ended` sees
            self.process.stdin.write(line + "\n")  # type: ignore[union-attr]
            self.process.stdin.flush()  # type: ignore[union-attr]


def _with_starts(jobs: Iterable[Job]) -> list[Job]:
    """Each job once, after the job that it starts from."""
    found: dict[str, Job] = {}
    for job in jobs:
        for needed in [*(_with_starts([job.start]) if job.start else []), job]:
            found.setdefault(needed.key, needed)
    return list(found.values())


def _ready(waiting: dict[str, Job], busy: set[str]) -> list[Job]:
    """The jobs whose start neither waits nor runs."""
    return [job for job in waiting.values() if not job.start or job.start.key not in waiting.keys() | busy]


def _obstacle(out: Path, job: Job) -> str:
    """Why the job cannot begin, if so: its start has left no network."""
    if job.start is None or (folder_of(out, job.start) / "run" / "model.json").exists():
        return ""
    start = result_of(out, job.start)
    return f"Its start ({start.job.name}, seed {start.job.seed}) {start.status}: {start.reason}"


def _fail(out: Path, job: Job, reason: str) -> None:
    folder_of(out, job).mkdir(parents=True, exist_ok=True)
    write_result(folder_of(out, job), "failed", reason)
