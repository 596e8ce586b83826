"""Networks without gradient: (z, c) of the un-augmented samples, and features of two views."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from c3clust import augment, dist
from c3clust.data.io.subset import Subset
from c3clust.data.samples import ArrayLike
from c3clust.training.batch import channels_last, source_of_views, tensors

__all__ = ["Projections", "device_of", "embed", "embed_together", "encode_views", "gather", "rows_per_batch"]

BATCH = 512
PIXELS = 2**21  # of a batch without gradient: 512 images up to 64 px, 41 at 224 px


def embed(
    network: nn.Module,
    x: ArrayLike,
    size: tuple[int, ...],
    outputs: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None,
    part: range | None = None,
) -> Iterator[tuple[Tensor, Tensor]]:
    """(z, c) of the un-augmented samples, batch by batch on the CPU: no gradient, memory bounded by the batch.

    `outputs` computes another pair than the network's forward pass. `part`: of these samples only.
    """
    device, was_training, batch = device_of(network), network.training, rows_per_batch(size)
    part = range(len(x)) if part is None else part
    network.eval()
    with torch.no_grad():
        index = [np.arange(i, min(i + batch, part.stop)) for i in part[::batch]]
        for raw in tensors(x, index, device):
            # Bytes are brought into the layout before they become floats, which is faster.
            z, c = (outputs or network)(channels_last(augment.prepare(channels_last(raw), size)))
            yield z.cpu(), c.cpu()
    network.train(was_training)


def rows_per_batch(size: tuple[int, ...]) -> int:
    """Samples of this size that are embedded at a time."""
    return min(BATCH, max(16, PIXELS // (size[0] * size[1]))) if len(size) == 2 else BATCH


def embed_together(
    network: nn.Module,
    x: ArrayLike,
    size: tuple[int, ...],
    outputs: Callable[[Tensor], tuple[Tensor, Tensor]] | None = None,
    kept: Sequence[int] = (0, 1),
) -> tuple[np.ndarray, ...]:
    """`embed` of all samples as arrays [n, ...]: each process computes a part, in whole batches, and gets all.

    kept: which of the two outputs.
    """
    n, block = len(x), rows_per_batch(size)
    part = dist.part(n, block)
    pairs = (tuple(pair[i] for i in kept) for pair in embed(network, x, size, outputs, part))
    own = gather(pairs, len(part)) if part else tuple(np.empty(0) for _ in kept)
    return tuple(dist.gather_arrays(rows, n, block) for rows in own)


def gather(parts: Iterator[tuple[Tensor, ...]], n: int) -> tuple[np.ndarray, ...]:
    """All of n rows of each of several outputs, as arrays that exist once: a list of parts to join would hold them
    twice, and keep the memory of the batches between them from being used again."""
    whole: tuple[np.ndarray, ...] = ()
    at = 0
    for batch in parts:
        rows = tuple(part.numpy() for part in batch)
        whole = whole or tuple(np.empty((n, *part.shape[1:]), part.dtype) for part in rows)
        for array, part in zip(whole, rows, strict=True):
            array[at : at + len(part)] = part
        at += len(rows[0])
    return whole


@dataclass(frozen=True)
class Projections:
    """z of samples x, indexed like an array [n, D], and computed on each access."""

    network: nn.Module
    x: ArrayLike
    size: tuple[int, ...]
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        return (len(self.x), self.width)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float32)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Any) -> np.ndarray:
        chosen = np.atleast_1d(np.arange(len(self))[index])
        return gather(embed(self.network, Subset(self.x, chosen), self.size), len(chosen))[0]


@torch.no_grad()
def encode_views(
    network: Any, x: ArrayLike, policy: augment.Policy, size: tuple[int, ...], batch: int, most: int, seed: int
) -> tuple[Tensor, Tensor]:
    """Features h_a, h_b [n, F] of two views of at most `most` samples, as a training step computes them.

    In training mode, in whole batches; the running statistics of `network` do not change.
    """
    network, device = copy.deepcopy(network).train(), device_of(network)
    generator = torch.Generator().manual_seed(seed)
    batch = min(batch, len(x))
    order = torch.randperm(len(x), generator=generator)[: max(min(most, len(x)) // batch, 1) * batch]
    pairs = []
    source = source_of_views(x, policy, size, (seed,))
    for raw in tensors(source, list(order.view(-1, batch).numpy()), device):
        x_a, x_b = augment.views(policy, raw, size, generator)
        pairs.append((network.encode(channels_last(x_a)), network.encode(channels_last(x_b))))
    return torch.cat([h_a for h_a, _ in pairs]), torch.cat([h_b for _, h_b in pairs])


def device_of(network: nn.Module) -> torch.device:
    """Where the network's parameters and buffers are."""
    return next((t.device for t in network.state_dict().values()), torch.device("cpu"))
