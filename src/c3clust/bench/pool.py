"""Run jobs in worker processes, so that a run that crashes or is killed does not affect the others.

Each worker is an executor of joblib's loky with one process, which runs one job after the other: this saves the time to
start Python and torch. One whose process dies is replaced for the next job. A job is done when its result.json exists.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path

from joblib.externals.loky import ProcessPoolExecutor

from c3clust.bench import worker
from c3clust.bench.job import DONE, Job, Result, folder_of, result_of, write_json, write_result

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
    free = [_start(workers > 1) for _ in range(min(workers, len(waiting)))]
    running: dict[Future[None], tuple[Job, ProcessPoolExecutor]] = {}
    try:
        while waiting or running:
            for job in _ready(waiting, {job.key for job, _ in running.values()})[: len(free)]:
                del waiting[job.key]
                if reason := _obstacle(out, job):
                    _fail(out, job, reason)
                    on_result(result_of(out, job))
                else:
                    executor = free.pop()
                    running[_begin(executor, out, job)] = job, executor
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job, executor = running.pop(future)
                if error := future.exception():
                    _fail(out, job, _end(error, out, job))
                    executor = _start(workers > 1)
                free.append(executor)
                on_result(result_of(out, job))
    finally:
        for executor in (*free, *(executor for _, executor in running.values())):
            executor.shutdown(kill_workers=True)
    return [result_of(out, job) for job in jobs]


def _start(one_thread: bool) -> ProcessPoolExecutor:
    """A worker, whose process starts with its first job."""
    environment = dict.fromkeys(THREADS, "1") if one_thread else None
    return ProcessPoolExecutor(1, initializer=worker.end_with, initargs=(os.getpid(),), env=environment)


def _begin(executor: ProcessPoolExecutor, out: Path, job: Job) -> "Future[None]":
    """Write the job to its folder and send it to a worker."""
    folder = folder_of(out, job)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "job.json", job.plain())
    (folder / "result.json").unlink(missing_ok=True)
    return executor.submit(worker.work, out, folder)


def _end(error: BaseException, out: Path, job: Job) -> str:
    """The reason why a process died: loky names its signal or exit code in braces."""
    code = str(error).partition("{")[2].partition("}")[0]
    return f"Its process ended with {code or type(error).__name__}; see {folder_of(out, job) / 'log.txt'}."


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
