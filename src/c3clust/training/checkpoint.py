"""Checkpoints: a run that is killed at any instant goes on from the last one, and ends bit for bit the same.

A checkpoint is two files: NAME.safetensors (tensors) and NAME.json (the rest, with the hash of both). The JSON file is
written last, so what is not whole is not there. Names tell the place, so that sorting finds the newest:

    RUN/checkpoint/0-end             stage 0 is finished: its network, the generators, its curves
    RUN/checkpoint/1-00007-000000    stage 1 after 7 epochs: also Adam's state
    RUN/checkpoint/1-00007-000123    and after 123 steps more: also the order of the epoch and its sums so far

The last two places and all finished stages are kept. To resume, a method runs from its beginning; finished stages are
read instead of trained, the work between stages is done again, and the running stage goes on where it stood.
Reading executes nothing. A checkpoint that cannot be written costs a note, not the run.
"""

import contextlib
import hashlib
import json
import logging
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_from_bytes
from safetensors.torch import save as tensors_to_bytes
from torch import Tensor, nn

from c3clust import dist
from c3clust.errors import RunError
from c3clust.files import write_atomically
from c3clust.training.objective import Monitor

__all__ = ["Checkpoints", "Snapshot", "Training", "read_snapshot", "write_snapshot"]

FORMAT = 1
KEPT = 2
PLACE = re.compile(r"(?P<stage>\d+)-(?P<epoch>\d{5,})-(?P<step>\d{6,})")
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """What one checkpoint holds: plain values and tensors, both by name."""

    plain: dict[str, Any]
    tensors: dict[str, Tensor]

    def part(self, prefix: str) -> dict[str, Tensor]:
        """The tensors below a prefix, without it."""
        return {name[len(prefix) + 1 :]: t for name, t in self.tensors.items() if name.startswith(f"{prefix}.")}


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Write PATH.safetensors, then PATH.json with the hash of both."""
    weights = tensors_to_bytes({name: t.detach().cpu().contiguous() for name, t in snapshot.tensors.items()})
    plain = json.dumps(snapshot.plain, allow_nan=False)
    content = {"format": FORMAT, "sha256": _digest(weights, plain), "plain": plain}
    write_atomically(path.with_name(f"{path.name}.safetensors"), weights)
    write_atomically(path.with_name(f"{path.name}.json"), (json.dumps(content) + "\n").encode())


def read_snapshot(path: Path) -> Snapshot:
    """The snapshot at PATH; RunError if it is not whole."""
    try:
        content = json.loads(path.with_name(f"{path.name}.json").read_bytes())
        weights = path.with_name(f"{path.name}.safetensors").read_bytes()
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise RunError(f"{path} is not a checkpoint of format {FORMAT}.")
        if not isinstance(content.get("plain"), str) or content.get("sha256") != _digest(weights, content["plain"]):
            raise RunError(f"{path} is truncated or damaged.")
        plain = json.loads(content["plain"])
        if not isinstance(plain, dict):
            raise RunError(f"{path} is not a checkpoint of format {FORMAT}.")
        return Snapshot(plain, tensors_from_bytes(weights))
    except (OSError, ValueError, RecursionError, SafetensorError) as error:
        raise error if isinstance(error, RunError) else RunError(f"{path} cannot be read: {error}.") from None


def _digest(weights: bytes, plain: str) -> str:
    digest = hashlib.sha256(weights)
    digest.update(plain.encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@dataclass
class Training:
    """All that changes while a stage is trained."""

    network: nn.Module
    optimiser: torch.optim.Optimizer
    objective: Any
    generator: torch.Generator
    guard: Monitor | None = None
    epoch: int = 0  # finished ones
    step: int = 0  # finished ones of the current epoch
    seconds: float = 0.0  # spent on the current epoch
    labels: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))  # at the last look
    order: Tensor = field(default_factory=lambda: torch.empty(0, 0, dtype=torch.int64))  # of the current epoch
    sums: dict[str, Tensor] = field(default_factory=dict)
    curves: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def snapshot(self) -> Snapshot:
        """Everything, as it is now."""
        tensors = _prefixed("network", self.network.state_dict()) | _prefixed("sums", self.sums)
        tensors |= random_state(self.generator, _device(self.network)) | {"labels": self.labels}
        if self.step:
            tensors["order"] = self.order
        for i, moments in self.optimiser.state_dict()["state"].items():
            tensors |= _prefixed(f"adam.{i}", moments)
        if hasattr(self.objective, "memory"):
            tensors |= _prefixed("objective", self.objective.memory())
        if self.guard is not None:
            tensors |= _prefixed("guard", self.guard.memory())
        places = {"epoch": self.epoch, "step": self.step, "seconds": self.seconds}
        return Snapshot({**places, "curves": dict(self.curves)}, tensors)

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to where the snapshot was taken."""
        device, plain = _device(self.network), snapshot.plain
        self.network.load_state_dict(snapshot.part("network"))
        restore_random_state(snapshot, self.generator, device)
        self._restore_adam(snapshot.part("adam"))
        if hasattr(self.objective, "recall"):
            self.objective.recall(self.network, snapshot.part("objective"))
        if self.guard is not None:
            self.guard.recall(snapshot.part("guard"))
        self.epoch, self.step, self.seconds = int(plain["epoch"]), int(plain["step"]), float(plain["seconds"])
        self.labels = snapshot.tensors["labels"]
        self.order = snapshot.tensors["order"] if self.step else self.order
        self.sums = {name: total.to(device) for name, total in snapshot.part("sums").items()}
        self.curves = defaultdict(list, plain["curves"])

    def _restore_adam(self, saved: Mapping[str, Tensor]) -> None:
        """Adam's moments, each in the memory layout of its parameter, as they were."""
        parameters = [parameter for group in self.optimiser.param_groups for parameter in group["params"]]
        for i, parameter in enumerate(parameters):
            if f"{i}.step" in saved:
                moments = {
                    name: torch.empty_like(parameter).copy_(saved[f"{i}.{name}"]) for name in ("exp_avg", "exp_avg_sq")
                }
                self.optimiser.state[parameter] = {"step": saved[f"{i}.step"], **moments}


class Checkpoints:
    """The checkpoints of one run. Of several processes, the first writes and all read."""

    def __init__(self, run: str | Path, minutes: float = 10.0) -> None:
        self.folder, self.minutes = Path(run) / "checkpoint", minutes
        self.notes: list[str] = []  # what the owner of the run should know
        self._saved_at = time.monotonic()

    def due(self) -> bool:
        """Whether it is time for one within an epoch. Several processes differ there, and wait for the epoch's end."""
        return dist.world_size() == 1 and time.monotonic() - self._saved_at >= 60 * self.minutes

    def save(self, stage: int, training: Training) -> None:
        """Keep the place where the stage stands, and drop all but the last two."""
        if self._write(f"{stage}-{training.epoch:05}-{training.step:06}", training.snapshot()):
            for path in self._places()[:-KEPT]:
                _remove(path)

    def save_end(self, stage: int, network: nn.Module, generator: torch.Generator, note: dict[str, Any]) -> None:
        """Keep what a finished stage leaves to the next."""
        tensors = _prefixed("network", network.state_dict()) | random_state(generator, _device(network))
        self._write(f"{stage}-end", Snapshot({"note": note}, tensors))

    def restore(self, stage: int, training: Training) -> bool:
        """Take `training` to the newest whole place of its stage; False if there is none."""
        for path in reversed(self._places()):
            if path.name.startswith(f"{stage}-") and (snapshot := self._read(path)):
                with _fitting(path):
                    training.restore(snapshot)
                where = f"epoch {training.epoch}" + (f" and {training.step} steps" if training.step else "")
                self.note(f"The run was interrupted, and went on in stage {stage + 1} after {where}.")
                return True
        return False

    def restore_end(self, stage: int, network: nn.Module, generator: torch.Generator) -> dict[str, Any] | None:
        """The note of a finished stage, with network and generator as it left them; None if it is not finished."""
        path = self.folder / f"{stage}-end"
        snapshot = self._read(path) if path.with_name(f"{path.name}.json").exists() else None
        if snapshot is None:
            return None
        with _fitting(path):
            network.load_state_dict(snapshot.part("network"))
            restore_random_state(snapshot, generator, _device(network))
            note = dict(snapshot.plain["note"])
            return note | {"name": str(note["name"]), "curves": dict(note["curves"])}

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
                with contextlib.suppress(OSError):
                    path.unlink()
            with contextlib.suppress(OSError):
                self.folder.rmdir()

    def _places(self) -> list[Path]:
        """Where the run stood, oldest first, without the ending of the files."""
        found = [path.with_suffix("") for path in self.folder.glob("*.json") if PLACE.fullmatch(path.stem)]
        return sorted(found, key=lambda path: tuple(map(int, path.name.split("-"))))

    def _write(self, name: str, snapshot: Snapshot) -> bool:
        """Whether a snapshot could be written; if not, the ones before stay."""
        self._saved_at = time.monotonic()
        if dist.rank() > 0:
            return False
        try:
            self.folder.mkdir(exist_ok=True)
            write_snapshot(self.folder / name, Snapshot(snapshot.plain | {"notes": self.notes}, snapshot.tensors))
        except OSError as error:
            self.note(f"A checkpoint could not be written ({error.strerror}): the run goes on with the last good one.")
            return False
        return True

    def _read(self, path: Path) -> Snapshot | None:
        """A snapshot with its notes taken over; None if it is damaged, which is noted."""
        try:
            snapshot = read_snapshot(path)
        except RunError as error:
            self.note(f"A checkpoint was left out, and the one before it taken: {error}")
            _remove(path)
            return None
        told = snapshot.plain.get("notes")
        for note in told if isinstance(told, list) else []:
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


def random_state(generator: torch.Generator, device: torch.device) -> dict[str, Tensor]:
    """The states of our own generator and of torch's, which networks draw from."""
    states = {"generator": generator.get_state(), "torch": torch.get_rng_state()}
    return states | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def restore_random_state(snapshot: Snapshot, generator: torch.Generator, device: torch.device) -> None:
    """Draw from here on what would have been drawn."""
    generator.set_state(snapshot.tensors["generator"])
    torch.set_rng_state(snapshot.tensors["torch"])
    if device.type == "cuda" and "cuda" in snapshot.tensors:
        torch.cuda.set_rng_state(snapshot.tensors["cuda"], device)


def _prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}.{name}": t for name, t in tensors.items()}


def _device(network: nn.Module) -> torch.device:
    return next((t.device for t in network.state_dict().values()), torch.device("cpu"))


def _remove(path: Path) -> None:
    """The JSON file first: without it the other is not a checkpoint."""
    with contextlib.suppress(OSError):
        path.with_name(f"{path.name}.json").unlink(missing_ok=True)
        path.with_name(f"{path.name}.safetensors").unlink(missing_ok=True)
