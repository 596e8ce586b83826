"""Run: the folder of one fit, from Python, the command line or a bench alike.

    request.json        the config of the run: enough to resume it
    checkpoint/         where training stands (training/checkpoint.py); removed when the run is finished
    lock                held by the process that works on the run

    model.safetensors   the tensors that `predict` needs
    model.json          the rest that `predict` needs
    assignments.csv     name, cluster, confidence: one line per sample
    labels.csv          name, label: the true labels, where the source has them; for metrics only
    record.json         what was requested, done and found (records/record.py)
    view.npz            what the report shows: thumbnails, map, most typical samples
    z.npy               the representation of the samples, for edits of single ones; if it is not large
    report.html         the page
    edits.json          names, merges and moves of samples that the owner gave afterwards
    changes/            what the run was after each split or regrouping (records/changes.py)
    clusters.csv        the current clusters: names, suggested names, sizes
    duplicates.csv, outliers.csv   copies, and samples that belong nowhere, if there are some

record.json is written when all other files but the page are complete: a folder without it is not a finished run. The
page comes last, so that a run is never lost with it.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

from c3clust import data, dist, metrics, report
from c3clust.data.samples import Dataset, Table
from c3clust.errors import RunError
from c3clust.files.atomic import clear_partial, is_partial
from c3clust.files.limits import limit
from c3clust.files.lock import locked
from c3clust.records.assignments import Assignments, write_labels
from c3clust.records.embedding import keep_z
from c3clust.records.outliers import write_outliers
from c3clust.records.record import RunRecord
from c3clust.report import Summary, View
from c3clust.report.naming import suggestion
from c3clust.runs.config import RunConfig
from c3clust.runs.result import Result
from c3clust.training.checkpoint import Checkpoints

__all__ = ["Run", "build_view"]

FEATURES = "c3clust-features"  # next to the run folders: features of encoders, which runs on the same data share


class Run:
    """The folder of one fit.

    Parameters
    ----------
    folder : path
        Made if it does not exist. Nothing in it is overwritten.
    source, options
        The arguments with which `data.load` gave the samples, so that `c3clust resume` can load them again.
    command : str
        What the user typed, for the record.
    checkpoint_minutes : float
        A checkpoint is written after each epoch, and after this many minutes within one.
    resume : bool
        Continue an unfinished run of the same config; if False, refuse it.
    page : bool
        Write the report page.
    checkpoints : callable
        Makes the `Checkpoints` from the folder and the minutes.
    features : path, optional
        The folder that stores the features of encoders. Default: next to the run folder.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        source: str | None = None,
        options: dict[str, Any] | None = None,
        command: str = "",
        created: str = "",
        checkpoint_minutes: float = 10.0,
        resume: bool = True,
        page: bool = True,
        checkpoints: Callable[[Path, float], Checkpoints] = Checkpoints,
        features: Path | None = None,
    ) -> None:
        self.folder, self.source, self.options, self.command = Path(folder), source, options or {}, command
        self.created = created or datetime.now(UTC).isoformat(timespec="seconds")
        self.checkpoint_minutes, self.resume, self.page = float(checkpoint_minutes), resume, page
        self.make_checkpoints, self.features = checkpoints, features or self.folder.parent / FEATURES
        self.checkpoints: Checkpoints | None = None
        self.config: RunConfig | None = None
        self.record: RunRecord | None = None
        self.summary: Summary | None = None  # of the finished run, where a page was written
        self.claimed_ = False
        self.made = False  # whether `claim` made the folder

    @classmethod
    def of(cls, folder: str | Path, config: RunConfig) -> "Run":
        """The unfinished run that a config describes."""
        names = ("source", "options", "command", "created", "checkpoint_minutes")
        return cls(folder, **{name: getattr(config, name) for name in names})

    def claim(self) -> None:
        """Make the folder; RunError if it cannot be used for this run. Done once."""
        if dist.rank() > 0 or self.claimed_:
            return
        self.claimed_ = True
        folder, other = self.folder, "Choose another folder" + ("." if self.resume else " with -o.")
        try:
            self.made = self.made or not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            if (folder / "record.json").exists():
                raise RunError(f"{folder} contains a finished run: nothing is overwritten. {other}")
            unfinished = (folder / "request.json").exists()
            if unfinished and not self.resume:
                raise RunError(
                    f"{folder} contains an unfinished run: continue it with c3clust resume {folder}, "
                    "or choose another folder with -o."
                )
            if not unfinished and any(path.name != "lock" and not is_partial(path) for path in folder.iterdir()):
                raise RunError(f"{folder} is not empty: nothing is overwritten. {other}")
            with tempfile.TemporaryFile(dir=folder):  # whether the folder can be written
                pass
        except OSError as error:
            raise RunError(f"{folder} cannot be written: {error.strerror}. {other}") from None

    @contextmanager
    def claimed(self) -> Iterator[None]:
        """`claim`; if what follows fails before the run began, the folder that was made is removed again."""
        self.claim()
        try:
            yield
        except BaseException:
            if self.made and not (self.folder / "request.json").exists():
                with suppress(OSError):  # there is something in it
                    self.folder.rmdir()
            raise

    def seed(self, default: int) -> int:
        """The seed of an unfinished run in the folder, where no seed was given."""
        return RunConfig.read(self.folder).seed if (self.folder / "request.json").exists() else default

    @contextmanager
    def open(self, config: RunConfig) -> Iterator[None]:
        """Hold the folder while the run is trained: start it, or continue it from its checkpoints."""
        self.claim()
        self.config = config
        self.started = time.perf_counter()
        n, most = config.params.get("n_clusters"), limit("C3CLUST_MAX_CLUSTERS")
        if isinstance(n, int) and n > most:
            why = "the limit of a run. The environment variable C3CLUST_MAX_CLUSTERS raises it."
            raise RunError(f"n_clusters={n:,} is more than {most:,}, {why}")
        if dist.rank() > 0:
            dist.wait()  # for the first process, which writes
            self.checkpoints = Checkpoints(self.folder)
            yield
            return
        with locked(self.folder):
            clear_partial(self.folder)
            clear_partial(self.folder / "checkpoint")
            if (self.folder / "request.json").exists():
                difference = config.difference(RunConfig.read(self.folder))
                if difference:
                    raise RunError(
                        f"{self.folder} contains another unfinished run: {difference}. Choose another folder."
                    )
            else:
                config.write(self.folder)
            dist.wait()
            self.checkpoints = self.make_checkpoints(self.folder, config.checkpoint_minutes)
            yield

    def finish(self, result: Result, dataset: Dataset, save: Callable[[Path], Any]) -> None:
        """Write the result of a fit; `save` writes the model into a folder."""
        assert self.config is not None
        assert self.checkpoints is not None
        self.record = self._make_record(result, dataset, self.config, self.checkpoints.notes)
        if dist.rank() > 0:
            return
        view = build_view(result, dataset, self.record) if self.page else None
        try:
            save(self.folder)
            self._write(result, dataset, self.record, view)
        except OSError as error:
            raise RunError(
                f"The run is trained and the estimator fitted, but {self.folder} cannot be written: {error.strerror}. "
                f"Its checkpoints are complete: once the folder can be written, continue with {self._how_to_resume()}."
            ) from None
        self.checkpoints.remove()
        if view is not None:
            self.summary = report.write(self.folder, self.record, view)

    def _how_to_resume(self) -> str:
        return f"c3clust resume {self.folder}" if self.source else "the same call of fit"

    def _make_record(self, result: Result, dataset: Dataset, config: RunConfig, notes: list[str]) -> RunRecord:
        record = RunRecord(
            method=config.method,
            n_clusters=result.n_clusters,
            params=config.params,
            seed=config.seed,
            data={**_describe(dataset, config.data["fingerprint"]), "copies": len(result.duplicates.copies)},
            stages=result.stages,
            encoder=result.encoder_note,
            augment=result.augment,
            quality=result.quality,
            choice=result.choice,
            seconds=time.perf_counter() - self.started,
            notes=[*dataset.notes, *notes, *result.notes, *_monitor_notes(result.stages)],
            device=result.device,
            command=config.command,
            created=config.created,
        )
        if dataset.y is not None:
            record.scores = metrics.scores(dataset.y, result.labels)
            if result.start is not None:
                stage, labels = result.start
                result.stages[stage]["scores"] = metrics.scores(dataset.y, labels)
        return record

    def _write(self, result: Result, dataset: Dataset, record: RunRecord, view: View | None) -> None:
        """All files but the model and the page; the record last."""
        Assignments(dataset.names, result.labels, result.confidence).write(self.folder / "assignments.csv")
        if len(result.duplicates.copies):
            result.duplicates.write(self.folder, dataset.names)
        if result.outliers:
            write_outliers(self.folder / "outliers.csv", dataset.names, result.outliers)
        if dataset.y is not None:
            known = dataset.y.tolist() if dataset.classes is None else [dataset.classes[k] for k in dataset.y]
            write_labels(self.folder / "labels.csv", dataset.names, known)
        if view is not None:
            view.write(self.folder)
            keep_z(self.folder, result.z)
        record.write(self.folder / "record.json")


def build_view(result: Result, dataset: Dataset, record: RunRecord) -> View:
    """The view of a result; the names that it suggests for clusters are added to the record."""
    view = report.build(
        dataset.x,
        result.z,
        result.labels,
        result.confidence,
        dataset.names,
        dataset.y,
        dataset.classes,
        n_clusters=record.n_clusters,
        seed=record.seed,
        columns=[(column.name, column.levels) for column in dataset.columns] if isinstance(dataset, Table) else None,
        duplicates=result.duplicates,
        outliers=result.outliers,
        seen=None if result.features is None else _classes_seen(result.encoder, result.features.x),
    )
    found = {str(i): suggestion(view, i) for i in range(view.n_clusters)}
    record.suggested_names = {i: vars(name) for i, name in found.items() if name is not None}
    return view


def _classes_seen(encoder: Any, features: Any) -> tuple[Sequence[str], np.ndarray] | None:
    """The classes that the encoder knows, and their probabilities for each sample."""
    known = None if encoder is None else encoder.classes()
    if known is None:
        return None
    names, probabilities = known
    rows = (np.array(features[i : i + 1024]) for i in range(0, len(features), 1024))
    return names, np.concatenate([probabilities(torch.from_numpy(part)).numpy() for part in rows])


def _monitor_notes(stages: Sequence[dict[str, Any]]) -> list[str]:
    return [text for stage in stages for text in stage.get("guard", {}).get("messages", [])]


def _describe(dataset: Dataset, fingerprint: str) -> dict[str, Any]:
    path = Path(dataset.place)
    return {
        "place": dataset.place if data.is_name(dataset.place) or not path.exists() else str(path.resolve()),
        "kind": dataset.kind,
        "n": len(dataset),
        "shape": [int(k) for k in np.shape(dataset.x)[1:]],
        "content": dataset.content,
        "classes": None if dataset.classes is None else [str(c) for c in dataset.classes],
        "skipped": [[str(name), str(reason)] for name, reason in dataset.skipped],
        "fingerprint": fingerprint,
        "taken": dataset.taken,
        "left": list(dataset.left),
    }
