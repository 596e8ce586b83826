"""The run folder: what `c3clust fit` leaves behind.

    model.safetensors   the tensors that `predict` needs
    model.json          the rest that `predict` needs, with the hash of the tensors
    assignments.csv     name, cluster, confidence: one line a sample
    labels.csv          name, label: the true labels, where the source has them; for metrics only
    record.json         what was asked for, done and found (record.py)
    view.npz            what the report shows: thumbnails, map, most typical samples
    report.html         the page
    edits.json          names and merges that the owner gave afterwards

record.json is written when all above it is whole: a folder without it is not a finished run. The report comes last,
so that a run is never lost with it. `fit` refuses a folder that holds anything.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import data, dist, methods, metrics, report
from c3clust.assignments import Assignments, write_labels
from c3clust.data.images import Images
from c3clust.errors import RunError
from c3clust.record import RunRecord

__all__ = ["fit", "originals", "prepare_folder", "write_report"]


def fit(
    images: Images, out: str | Path, method: str, params: dict[str, Any], seed: int = 0, command: str = ""
) -> tuple[Any, RunRecord]:
    """Fit a method to images and write the run folder; the fitted estimator and the record."""
    first = dist.rank() == 0  # of several processes, one writes
    folder = prepare_folder(out) if first else Path(out)
    started = time.perf_counter()
    estimator = methods.load(method)(**params, random_state=seed).fit(images)
    record = RunRecord(
        method=method,
        n_clusters=estimator.n_clusters,
        params=estimator.plain_params(),
        seed=seed,
        data=_describe(images),
        stages=estimator.stages_,
        seconds=time.perf_counter() - started,
        notes=[*images.notes, *estimator.notes_],
        device=str(estimator.device_),
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    _score(record, estimator, images.y)
    if first:
        _write(folder, estimator, images, record)
        write_report(folder, estimator, images, record)
    return estimator, record


def prepare_folder(out: str | Path) -> Path:
    """Make the folder of a new run, or say why it cannot be had."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
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


def _write(folder: Path, estimator: Any, images: Images, record: RunRecord) -> None:
    estimator.save(folder)
    Assignments(images.names, estimator.labels_, estimator.confidence_).write(folder / "assignments.csv")
    if images.y is not None:
        known = images.y.tolist() if images.classes is None else [images.classes[k] for k in images.y]
        write_labels(folder / "labels.csv", images.names, known)
    record.write(folder / "record.json")


def originals(place: str, names: Sequence[str]) -> list[Path] | None:
    """The image files of a run whose source is a folder; None where it is not, or where they are not all inside it."""
    folder = Path(place).resolve()
    if not folder.is_dir():
        return None
    files = [(folder / name).resolve() for name in names]
    return files if all(file.is_relative_to(folder) and file.is_file() for file in files) else None


def write_report(folder: Path, estimator: Any, images: Images, record: RunRecord) -> Path:
    """Write view.npz and report.html."""
    view = report.build(
        images.x,
        estimator.transform(images),
        estimator.labels_,
        estimator.confidence_,
        images.names,
        images.y,
        images.classes,
        n_clusters=record.n_clusters,
        seed=record.seed,
    )
    view.write(folder)
    return report.write(folder, record, view)


def _describe(images: Images) -> dict[str, Any]:
    named = any(images.place.startswith(name) for name in data.names())
    path = Path(images.place)
    return {
        "place": images.place if named or not path.exists() else str(path.resolve()),
        "n": len(images),
        "shape": [int(k) for k in images.x.shape[1:]],
        "policy": images.policy,
        "classes": None if images.classes is None else [str(c) for c in images.classes],
        "skipped": [[str(name), str(reason)] for name, reason in images.skipped],
        "fingerprint": data.fingerprint(images),
    }
