"""TrainingContext: what a method trains with."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from c3clust import augment, dist
from c3clust.data.io.batches import batches
from c3clust.data.io.pictures import available_memory
from c3clust.data.samples import ArrayLike
from c3clust.errors import InputError
from c3clust.networks.readouts import Centres
from c3clust.training.checkpoint import Checkpoints
from c3clust.training.embed import Projections, embed, embed_together, rows_per_batch
from c3clust.training.forecast import Forecast
from c3clust.training.loop import Stage, train
from c3clust.training.objective import Alternating, Monitor, Objective

__all__ = ["TrainingContext", "TrainingOptions", "compiled", "find_device", "placed"]

LARGEST = 1e15  # a value whose square, summed over a million features, is still finite in float32
log = logging.getLogger(__name__)
Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True)
class TrainingOptions:
    """The parameters of an estimator that concern training; the defaults are for methods that train no network."""

    augment: Any = "none"
    device: str = "cpu"
    compile: bool = False
    verbose: bool = False


@dataclass
class TrainingContext:
    """The samples, how views are made, the randomness and the device; and the stages that have been trained.

    Samples are as the network sees them: features and scaling are already applied. There are no true labels here.
    """

    x: ArrayLike
    shape: tuple[int, ...]  # of one sample
    policy: augment.Policy
    seed: int
    device: torch.device
    verbose: bool = False
    compile: bool = False
    checkpoints: Checkpoints | None = None
    stages: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # sentences for the owner of the run
    epochs: dict[str, int] = field(default_factory=dict)  # that each parameter of epochs came to
    memory: int | None = None  # bytes that all samples may take as float32; None for half of the free memory
    forecast: Forecast = field(default_factory=Forecast)
    generator: torch.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.generator = torch.Generator().manual_seed(self.seed)

    @property
    def size(self) -> tuple[int, ...]:
        """(height, width) of images, (features,) of vectors."""
        return self.shape[-2:]

    def build(self, make: Callable[[tuple[int, ...]], Network]) -> Network:
        """A new network with seeded weights, on the device."""
        return placed(make(self.shape), self.shape, self.device)

    def train(
        self,
        stage: Stage,
        network: nn.Module,
        objective: Objective | Alternating,
        monitor: Monitor | None = None,
        policy: augment.Policy | None = None,
    ) -> dict[str, Any]:
        """Train one stage and return its entry for the record. A stage that was finished before is read instead.

        policy: how views are made in this stage; None for that of the context.
        """
        number, kept = len(self.stages), self.checkpoints
        log.info("Stage %s: %d epochs of %d samples.", stage.name, stage.epochs, len(self.x))
        note = None if kept is None else kept.restore_end(number, network, self.generator)
        if note is None:
            with compiled(network if self.compile else None), self.with_policy(policy):
                curves = train(stage, network, objective, self, monitor)
            seconds = sum(curves.get("seconds", []))
            note = {"name": stage.name, "epochs": len(curves.get("loss", [])), "seconds": seconds, "curves": curves}
            if monitor is not None:
                note["guard"] = monitor.report(curves, stage.name)
                for text in note["guard"]["messages"]:
                    log.warning("%s", text)
            if kept is not None:
                kept.save_end(number, network, self, note)
        self.stages.append(note)
        return note

    @contextmanager
    def with_policy(self, policy: augment.Policy | None) -> Iterator[None]:
        """Within this block, views are made by this policy; None changes nothing."""
        before = self.policy
        self.policy = policy or before
        try:
            yield
        finally:
            self.policy = before

    def embed_part(self, network: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
        """(z, c) of this process's part of the un-augmented samples, batch by batch."""
        return embed(network, self.x, self.size, part=dist.part(len(self.x), rows_per_batch(self.size)))

    def projections(self, network: nn.Module) -> np.ndarray:
        """z [n, D] of the un-augmented samples."""
        return embed_together(network, self.x, self.size, kept=(0,))[0]

    def assignments(self, network: nn.Module) -> np.ndarray:
        """Soft assignments c [n, M] of the un-augmented samples."""
        return embed_together(network, self.x, self.size, kept=(1,))[0]

    def features(self, network: Any) -> tuple[Tensor, Tensor]:
        """z [n, D] and h [n, F] of the un-augmented samples, for networks that encode and project."""
        z, h = embed_together(network, self.x, self.size, lambda x: (network.project(h := network.encode(x)), h))
        return torch.from_numpy(z), torch.from_numpy(h)

    def width(self, network: nn.Module) -> int:
        """The number of features of z."""
        return int(next(embed(network, self.x[:1], self.size))[0].shape[1])

    @property
    def limit(self) -> int:
        """Bytes that all samples may take as float32."""
        return available_memory() if self.memory is None else self.memory

    @property
    def bytes(self) -> int:
        """Bytes that all samples take as float32."""
        return 4 * len(self.x) * prod(self.shape)

    def pixels(self, chosen: np.ndarray | None = None) -> np.ndarray:
        """The chosen samples (None: all) as the network sees them, one row each: [n, D] float32, all in memory."""
        if chosen is None and self.bytes > self.limit:
            size, most = (f"{value / 2**20:,.0f} MB" for value in (self.bytes, self.limit))
            text = f"This method holds all {len(self.x):,} samples in memory: {size}, more than the limit of {most}."
            self.notes.append(text)
            log.warning("%s", text)
        chosen = np.arange(len(self.x)) if chosen is None else chosen
        pixels = np.empty((len(chosen), prod(self.shape)), np.float32)
        index = [chosen[i : i + 1024] for i in range(0, len(chosen), 1024)]
        for i, x in enumerate(batches(self.x, index)):
            rows = augment.prepare(torch.from_numpy(x), self.size).flatten(1).numpy()
            largest = np.abs(rows).max(initial=0.0)
            if largest > LARGEST:
                raise InputError(
                    f"A value of {largest:.1e} is too large for squared distances in float32: scale the features, "
                    f"for example to standard deviation 1, so that none exceeds {LARGEST:.0e}."
                )
            pixels[1024 * i : 1024 * i + len(rows)] = rows
        return pixels

    def lazy_pixels(self) -> Any:
        """`pixels` as an object that reads rows on access, by an array of positions."""
        return _Pixels(self)

    def outputs(self, network: nn.Module) -> tuple[Any, np.ndarray]:
        """z [n, D] and c [n, M]. z is computed on access where it is the samples themselves, and too large."""
        if isinstance(network, Centres) and self.bytes > self.limit:
            return Projections(network, self.x, self.size, prod(self.shape)), self.assignments(network)
        z, c = embed_together(network, self.x, self.size)
        return z, c


@dataclass(frozen=True)
class _Pixels:
    """Samples, one row each, indexed like an array [n, D]."""

    context: TrainingContext

    def __len__(self) -> int:
        return len(self.context.x)

    def __getitem__(self, index: np.ndarray) -> np.ndarray:
        return self.context.pixels(index)


def find_device(device: str) -> torch.device:
    """ "auto" is CUDA if available, else MPS, else the CPU; any other name is used unchanged."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f'device={device!r} cannot be used here: {reason}. Use device="auto" or "cpu".') from None
    return torch.device(device)


def placed(network: Network, shape: tuple[int, ...], device: torch.device) -> Network:
    """The network on its device, channels last for images, which is faster."""
    network = network.to(device)
    return network.to(memory_format=torch.channels_last) if len(shape) == 3 else network  # type: ignore[call-overload]


@contextmanager
def compiled(network: Any) -> Iterator[None]:
    """Run the encoder f of `network` (None: nothing) compiled; the network itself does not change."""
    if network is None:
        yield
        return
    from torch._dynamo.exc import TorchDynamoException

    try:
        network.f.compile()
        yield
    except TorchDynamoException as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"compile=True cannot be used here: {reason} Omit compile; it only affects speed.") from None
    finally:
        network.f._compiled_call_impl = None
