"""The run folder: what `c3clust fit` leaves behind.

    model.safetensors   the tensors that `predict` needs
    model.json          the rest that `predict` needs, with the hash of the tensors
    assignments.csv     name, cluster, confidence: one line a sample
    labels.csv          name, label: the true labels, where the source has them; for metrics only
    record.json         what was asked for, done and found (record.py)
    view.npz            what the report shows: thumbnails, map, most typical samples
    report.html         the page
    edits.json          names and merges that the owner gave afterwards

    request.json        what the run was asked for: enough to take it up again
    checkpoint/         where training stands (checkpoint.py); removed when the run is finished
    lock                the process that works on the run

record.json is written when all above it is whole: a folder without it is not a finished run. The report comes last,
so that a run is never lost with it. `fit` refuses a folder that holds anything.
"""

import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import data, dist, methods, metrics, report
from c3clust.records.assignments import Assignments, write_labels
from c3clust.training.checkpoint import Checkpoints
from c3clust.data.samples import Samples
from c3clust.errors import RunError
from c3clust.estimator import Bench
from c3clust.files import clear_partial
from c3clust.runs.lock import locked
from c3clust.records.record import RunRecord
from c3clust.runs.config import Request, taken_up

__all__ = ["fit", "fit_or_resume", "prepare_folder", "resume", "write_report"]


def fit(
    images: Samples,
    out: str | Path,
    method: str,
    params: dict[str, Any],
    seed: int = 0,
    command: str = "",
    **asked: Any,
) -> tuple[Any, RunRecord]:
    """Fit a method to images and write the run folder; the fitted estimator and the record.

    `asked` goes into request.json: `source` and `options`, with which `data.load` gave the images, so that `resume` can
    load them again, and `checkpoint_minutes`.
    """
    estimator = methods.load(method)(**params, random_state=seed)
    bench = estimator.prepare(images)
    folder = prepare_folder(out) if dist.rank() == 0 else Path(out)
    return _run(folder, estimator, bench, {"command": command, "created": _now(), **asked})


def fit_or_resume(
    images: Samples,
    folder: Path,
    method: str,
    params: dict[str, Any],
    seed: int = 0,
    keep: Callable[[Bench, Path, float], Checkpoints] | None = None,
    **asked: Any,
) -> tuple[Any, RunRecord]:
    """`fit`, or go on with what the same call began in `folder`, for runs by the hundred: no report page is made.

    `keep` makes checkpoints of another kind, for example such that look at each epoch.
    """
    folder.mkdir(parents=True, exist_ok=True)
    estimator = methods.load(method)(**params, random_state=seed)
    bench = estimator.prepare(images)
    kind = Checkpoints if keep is None else partial(keep, bench)
    return _run(folder, estimator, bench, {"created": _now(), **asked}, kind, page=False)


def resume(folder: str | Path, verbose: bool = False) -> tuple[Any, RunRecord]:
    """Take up an unfinished run where its last checkpoint stands."""
    folder = Path(folder)
    request = Request.read(folder)
    if (folder / "report.html").exists():
        raise RunError(f"{folder} holds a finished run: there is nothing to resume.")
    if request.source is None:
        raise RunError(f"{folder} was begun from Python: call fit again with the same data and run_dir.")
    images = data.load(request.source, **request.options)
    if (folder / "record.json").exists():
        return _report_again(folder, images)
    quiet = {"verbose": verbose} if "verbose" in methods.parameters(request.method) else {}
    estimator = methods.load(request.method)(**{**request.params, **quiet, "random_state": request.seed})
    asked = ("command", "created", "source", "options", "checkpoint_minutes")
    return _run(folder, estimator, estimator.prepare(images), {name: getattr(request, name) for name in asked})


def _run(
    folder: Path,
    estimator: Any,
    bench: Bench,
    asked: dict[str, Any],
    keep: Callable[[Path, float], Checkpoints] = Checkpoints,
    page: bool = True,
) -> tuple[Any, RunRecord]:
    """Train, and write the run folder. Of several processes, one writes."""
    first = dist.rank() == 0
    request, started = estimator.request(bench, folder, **asked), time.perf_counter()
    with taken_up(folder, request, keep) if first else nullcontext(Checkpoints(folder)) as checkpoints:
        bench.restart(request.seed, checkpoints)
        estimator.train(bench)
        record = RunRecord(
            method=request.method,
            n_clusters=estimator.n_clusters,
            params=request.params,
            seed=request.seed,
            data=_describe(bench.images, request.data["fingerprint"]),
            stages=estimator.stages_,
            encoder=estimator.encoder_note_,
            seconds=time.perf_counter() - started,
            notes=[
                *bench.images.notes,
                *checkpoints.notes,
                *estimator.notes_,
                *(text for s in estimator.stages_ for text in s.get("guard", {}).get("told", [])),
            ],
            device=str(estimator.device_),
            command=request.command,
            created=request.created,
        )
        _score(record, estimator, bench.images.y)
        if first:
            try:
                _write(folder, estimator, bench.images, record)
            except OSError as error:
                raise RunError(
                    f"The run is trained, but {folder} cannot be written: {error.strerror}. What could be kept is "
                    f"kept: once it can be written, go on with c3clust resume {folder}."
                ) from None
            checkpoints.remove()
            if page:
                write_report(folder, estimator, bench.images, record, bench.encoded)
    return estimator, record


def _report_again(folder: Path, images: Samples) -> tuple[Any, RunRecord]:
    """A run that was killed after its record was written lacks only its report."""
    estimator, found = methods.load_model(folder), Assignments.read(folder)
    estimator.labels_, estimator.confidence_ = found.clusters, found.confidence
    record = RunRecord.read(folder / "record.json")
    with locked(folder):
        Checkpoints(folder).remove()
        write_report(folder, estimator, images, record)
    return estimator, record


def prepare_folder(out: str | Path) -> Path:
    """Make the folder of a new run, or say why it cannot be had."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        clear_partial(folder)
        if (folder / "request.json").exists() and not (folder / "record.json").exists():
            raise RunError(
                f"{folder} holds an unfinished run: go on with it by c3clust resume {folder}, "
                "or choose another folder with -o."
            )
        if any(path.name != "lock" for path in folder.iterdir()):
            kind = "another run" if (folder / "record.json").exists() else "files already"
            raise RunError(f"{folder} holds {kind}: nothing is overwritten. Choose another folder with -o.")
        (folder / ".writable").touch()
        (folder / ".writable").unlink()
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}. Choose another folder with -o.") from None
    return folder


def _score(record: RunRecord, estimator: Any, y: np.ndarray | None) -> None:
    """Metrics of the final labels and, where a method keeps them, of the labels that its last part started from."""
    if y is None:
        return
    record.scores = metrics.scores(y, estimator.labels_)
    before = [stage for stage in record.stages if stage["name"] == "cc"]
    if before and hasattr(estimator, "start_labels_"):
        before[-1]["scores"] = metrics.scores(y, estimator.start_labels_)


def _write(folder: Path, estimator: Any, images: Samples, record: RunRecord) -> None:
    estimator.save(folder)
    Assignments(images.names, estimator.labels_, estimator.confidence_).write(folder / "assignments.csv")
    if images.y is not None:
        known = images.y.tolist() if images.classes is None else [images.classes[k] for k in images.y]
        write_labels(folder / "labels.csv", images.names, known)
    record.write(folder / "record.json")


def write_report(
    folder: Path, estimator: Any, images: Samples, record: RunRecord, encoded: Samples | None = None
) -> Path:
    """Write view.npz and report.html. `encoded`: the images as features, where these are at hand."""
    view = report.build(
        images.x,
        estimator.transform(encoded or images),
        estimator.labels_,
        estimator.confidence_,
        images.names,
        images.y,
        images.classes,
        n_clusters=record.n_clusters,
        seed=record.seed,
        columns=None if images.columns is None else [(column.name, column.levels) for column in images.columns],
    )
    view.write(folder)
    return report.write(folder, record, view)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _describe(images: Samples, fingerprint: str) -> dict[str, Any]:
    named = any(images.place.startswith(name) for name in data.names())
    path = Path(images.place)
    return {
        "place": images.place if named or not path.exists() else str(path.resolve()),
        "kind": images.kind,
        "n": len(images),
        "shape": [int(k) for k in images.x.shape[1:]],
        "policy": images.policy,
        "classes": None if images.classes is None else [str(c) for c in images.classes],
        "skipped": [[str(name), str(reason)] for name, reason in images.skipped],
        "fingerprint": fingerprint,
    }
