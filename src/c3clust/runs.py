"""The run folder: what `c3clust fit` leaves behind, and the way back from it.

    record.json         what was asked for, done and found (record.py); written LAST: without it a run is not finished
    assignments.csv     name, cluster, confidence: one line a sample
    labels.csv          name, label: the true labels, where the source has them; for metrics only
    model.safetensors   the tensors that `predict` needs
    model.json          the rest that `predict` needs

A folder is taken for a run only if record.json is there; `fit` refuses a folder that holds anything.
"""

import csv
import io
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from c3clust import data, methods, metrics
from c3clust.data.images import Images
from c3clust.errors import RunError
from c3clust.estimator import write_atomically
from c3clust.record import RunRecord

__all__ = ["Assignments", "fit", "prepare_folder", "read_assignments", "read_labels", "write_assignments"]


@dataclass(frozen=True)
class Assignments:
    """One cluster and one confidence a name."""

    names: Sequence[str]
    clusters: np.ndarray
    confidence: np.ndarray


def fit(
    images: Images,
    out: str | Path,
    method: str,
    params: dict[str, Any],
    seed: int = 0,
    command: str = "",
) -> tuple[Any, RunRecord]:
    """Fit a method to images and write the run folder; the fitted estimator and the record."""
    folder = prepare_folder(out)
    estimator = methods.load(method)(**params, random_state=seed)
    started = time.perf_counter()
    estimator.fit(images)
    seconds = time.perf_counter() - started
    record = RunRecord(
        method=method,
        n_clusters=estimator.n_clusters,
        params=estimator.plain_params(),
        seed=seed,
        data=_describe(images),
        stages=estimator.stages_,
        seconds=seconds,
        scores=None if images.y is None else metrics.scores(images.y, estimator.labels_),
        device=str(estimator.device_),
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    if images.y is not None and hasattr(estimator, "start_labels_") and len(record.stages) > 1:
        record.stages[0]["scores"] = metrics.scores(images.y, estimator.start_labels_)
    _write(folder, estimator, images, record)
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


def _write(folder: Path, estimator: Any, images: Images, record: RunRecord) -> None:
    estimator.save(folder)
    assignments = Assignments(images.names, estimator.labels_, estimator.confidence_)
    write_assignments(folder / "assignments.csv", assignments)
    if images.y is not None:
        known = images.y if images.classes is None else [images.classes[k] for k in images.y]
        _write_csv(folder / "labels.csv", ("name", "label"), zip(images.names, known, strict=True))
    record.write(folder / "record.json")


def _describe(images: Images) -> dict[str, Any]:
    return {
        "place": images.place,
        "n": len(images),
        "shape": [int(k) for k in images.x.shape[1:]],
        "policy": images.policy,
        "classes": None if images.classes is None else [str(c) for c in images.classes],
        "skipped": [[str(name), str(reason)] for name, reason in images.skipped],
        "fingerprint": data.fingerprint(images),
    }


def write_assignments(path: Path, assignments: Assignments) -> None:
    """name, cluster, confidence."""
    rows = zip(assignments.names, assignments.clusters, (f"{c:.6f}" for c in assignments.confidence), strict=True)
    _write_csv(path, ("name", "cluster", "confidence"), rows)


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    write_atomically(path, text.getvalue().encode("utf-8", "surrogateescape"))


def read_assignments(run: str | Path) -> Assignments:
    """The assignments of a finished run."""
    path = Path(run) / "assignments.csv"
    rows = _read_csv(path, ("name", "cluster", "confidence"))
    try:
        clusters = np.array([int(row[1]) for row in rows])
        return Assignments([row[0] for row in rows], clusters, np.array([float(row[2]) for row in rows]))
    except ValueError as error:
        raise RunError(f"{path} is damaged: {error}.") from None


def read_labels(path: str | Path, names: Sequence[str]) -> list[str]:
    """True labels from a CSV file with the columns name and label, in the order of `names`."""
    path = Path(path)
    known = {row[0]: row[1] for row in _read_csv(path, ("name", "label"))}
    missing = [name for name in names if name not in known]
    if missing:
        raise RunError(f"{path} has no label for {len(missing)} of {len(names)} samples, the first is {missing[0]!r}.")
    return [known[name] for name in names]


def _read_csv(path: Path, header: Sequence[str]) -> list[list[str]]:
    """The named columns of a CSV file, as text."""
    try:
        with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
            rows = list(csv.reader(file))
    except (OSError, csv.Error) as error:
        raise RunError(f"{path} cannot be read: {error}.") from None
    if not rows or any(name not in rows[0] for name in header):
        raise RunError(f"{path} needs a first line with the columns {', '.join(header)}.")
    columns = [rows[0].index(name) for name in header]
    short = next((i for i, row in enumerate(rows[1:], 2) if len(row) <= max(columns)), None)
    if short is not None:
        raise RunError(f"{path}, line {short}: too few columns.")
    return [[row[c] for c in columns] for row in rows[1:]]
