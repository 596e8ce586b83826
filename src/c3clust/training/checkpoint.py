"""Checkpoints: a run that is killed at any instant continues from the last one, and ends bit for bit the same.

A checkpoint is a pair of files (files/model_io.py). Its name is its place, so that sorting finds the newest:

    RUN/checkpoint/0-end             stage 0 is finished: its network, the generators, its curves
    RUN/checkpoint/1-00007-000000    stage 1 after 7 epochs: also the state of the optimisers
    RUN/checkpoint/1-00007-000123    and after 123 more steps: also the order of the epoch and its sums so far

The last two places and all finished stages are kept. To resume, a method runs from its beginning; finished stages are
read instead of trained, the work between stages is repeated, and the unfinished stage continues where it stopped.
Reading executes nothing. A checkpoint that cannot be written gives a note, and the run continues.
"""

import contextlib
import logging
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import torch
from torch import nn
from typing_extensions import TypedDict

from c3clust import dist
from c3clust.errors import RunError
from c3clust.files import model_io
from c3clust.files.atomic import is_partial, make_folder, remove
from c3clust.files.model_io import not_finite, with_prefix, without_prefix
from c3clust.files.schema import Layout, Number, build, open_ended
from c3clust.training.embed import device_of
from c3clust.training.state import Snapshot, TrainingState, random_state, restore_random_state

__all__ = ["Checkpoints", "TrainingState"]

KEPT = 2
PLACE = re.compile(r"(?P<stage>\d+)-(?P<epoch>\d{5,})-(?P<step>\d{6,})")
NAME = re.compile(r"\d+-(end|\d{5,}-\d{6,})\.(json|safetensors)")
WHAT = "checkpoint"
log = logging.getLogger(__name__)


@open_ended
class Note(TypedDict):
    """What is recorded of a finished stage."""

    name: str
    curves: dict[str, list[Number | list[Number] | None]]


@dataclass(frozen=True)
class End:
    """The plain values of the checkpoint after a stage."""

    note: Annotated[dict[str, Any], Layout(Note)]
    notes: list[str] = field(default_factory=list)


class Checkpoints:
    """The checkpoints of one run. Of several processes, the first writes and all read."""

    most_steps: int | None = None  # of an epoch that are trained, where a fit is only measured (bench/budget.py)

    def __init__(self, run: str | Path, minutes: float = 10.0) -> None:
        self.folder, self.minutes = Path(run) / "checkpoint", minutes
        if self.folder.is_symlink() or (self.folder.exists() and not self.folder.is_dir()):
            raise RunError(f"{self.folder} is a link or a file, not a folder of checkpoints: remove it.")
        self.notes: list[str] = []  # what the owner of the run should know
        self.last: Path | None = None  # a folder that keeps the place after the last epoch, to train on from there
        self.resumed = "The run was interrupted, and continued"  # the note about it
        self._saved_at = time.monotonic()

    def due(self) -> bool:
        """Whether it is time for one within an epoch: by the clock of the first process, for all of them."""
        return bool(dist.agree(time.monotonic() - self._saved_at >= 60 * self.minutes))

    def save(self, stage: int, training: TrainingState) -> None:
        """Keep the place where the stage stands, and drop all but the last two."""
        if self._write(f"{stage}-{training.epoch:05}-{training.step:06}", training.snapshot()):
            for path in self._places()[:-KEPT]:
                _remove(path)

    def save_last(self, stage: int, training: TrainingState) -> None:
        """Keep the place after the last epoch, if requested: a run with more epochs continues from there."""
        if self.last is not None:
            self._write(f"{stage}-{training.epoch:05}-{training.step:06}", training.snapshot(), self.last)

    def save_end(self, stage: int, network: nn.Module, context: Any, note: dict[str, Any]) -> None:
        """Save what a finished stage passes on to the next. `context` is the TrainingContext."""
        tensors = with_prefix("network", network.state_dict()) | random_state(context.generator, device_of(network))
        self._write(f"{stage}-end", ({"note": note}, tensors))

    def restore(self, stage: int, training: TrainingState) -> bool:
        """Take `training` to the newest whole place of its stage; False if there is none."""
        for path in reversed(self._places()):
            if path.name.startswith(f"{stage}-") and (snapshot := self._read(path)):
                with _fitting(path):
                    if path.name != f"{stage}-{int(snapshot[0]['epoch']):05}-{int(snapshot[0]['step']):06}":
                        raise ValueError("its name is that of another place")
                    training.restore(snapshot)
                where = f"epoch {training.epoch}" + (f" and {training.step} steps" if training.step else "")
                self.note(f"{self.resumed} in stage {stage + 1} after {where}.")
                return True
        return False

    def restore_end(self, stage: int, network: nn.Module, generator: torch.Generator) -> dict[str, Any] | None:
        """The note of a finished stage, with network and generator as it left them; None if it is not finished."""
        path = self.folder / f"{stage}-end"
        snapshot = self._read(path) if path.with_name(f"{path.name}.json").exists() else None
        if snapshot is None:
            return None
        with _fitting(path):
            plain, tensors = snapshot
            note = build(End, plain, "the checkpoint").note
            if broken := not_finite(without_prefix("network", tensors)):
                raise ValueError(f"NaN or infinity in {broken}")
            network.load_state_dict(without_prefix("network", tensors))
            restore_random_state(tensors, generator, device_of(network))
            return note

    def note(self, text: str) -> None:
        """Remember for the record, and say now, once."""
        if text not in self.notes:
            self.notes.append(text)
            if dist.rank() == 0:
                log.warning("%s", text)

    def remove(self) -> None:
        """The run is finished: nothing here is needed any more."""
        if dist.rank() == 0:
            for path in self.folder.glob("*"):
                if NAME.fullmatch(path.name) or is_partial(path):
                    remove(path)
            with contextlib.suppress(OSError):  # other files are not ours
                self.folder.rmdir()

    def _places(self) -> list[Path]:
        """Where the run stood, oldest first, without the ending of the files."""
        found = [path.with_suffix("") for path in self.folder.glob("*.json") if PLACE.fullmatch(path.stem)]
        return sorted(found, key=lambda path: tuple(map(int, path.name.split("-"))))

    def _write(self, name: str, snapshot: Snapshot, folder: Path | None = None) -> bool:
        """Whether a snapshot could be written; if not, the ones before stay."""
        self._saved_at = time.monotonic()
        if dist.rank() > 0:
            return False
        try:
            folder = folder or self.folder
            make_folder(folder)
            model_io.write(folder / name, snapshot[0] | {"notes": self.notes}, snapshot[1])
        except OSError as error:
            self.note(
                f"A checkpoint could not be written ({error.strerror}): the run continues and keeps the last good one."
            )
            return False
        return True

    def _read(self, path: Path) -> Snapshot | None:
        """A snapshot, whose notes are added to those of the run; None if it is damaged, which is noted."""
        try:
            snapshot = model_io.read(path, WHAT)
        except RunError as error:
            self.note(f"A damaged checkpoint was skipped, and the previous one used: {error}")
            _remove(path)
            return None
        notes = snapshot[0].get("notes")
        for note in notes if isinstance(notes, list) else []:
            if isinstance(note, str) and note not in self.notes:
                self.notes.append(note)
        return snapshot


@contextlib.contextmanager
def _fitting(path: Path) -> Iterator[None]:
    """What a whole file holds may still not be this run's."""
    try:
        yield
    except (RuntimeError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunError(f"{path} does not belong to this run: {reason}") from None


def _remove(path: Path) -> None:
    """The JSON file first: without it the other is not a checkpoint."""
    for ending in ("json", "safetensors"):
        remove(path.with_name(f"{path.name}.{ending}"))
