"""The order of an epoch: which samples each step sees.

Samples that can be read in any order are shuffled. Of images that are streamed from tar shards, each process reads
its shards one after the other and draws from a buffer: the shards, and the order within the buffer, follow from the
generator, which is the same in all processes. Row groups of Parquet files are shards too; each is read as a whole, so
their pictures are shuffled within blocks of row groups that stay in memory.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from c3clust import dist
from c3clust.data.io.originals import Originals
from c3clust.data.io.stream import Stream, in_blocks
from c3clust.data.io.subset import Subset

__all__ = ["epoch_order", "in_passes", "shard_order"]

BUFFER = 4096  # samples of a process from which the next one is drawn
SHARD = 16  # samples per file, on average, from which the samples of a file are read together


def epoch_order(x: Any, steps: int, batch: int, generator: torch.Generator) -> Tensor:
    """Positions [steps, N] of the samples of each batch; each sample at most once."""
    stream = _stream(x)
    shards = None if stream is None else _shards(x, stream)
    if stream is None or shards is None:
        return torch.randperm(len(x), generator=generator)[: steps * batch].view(steps, batch)
    seed = int(torch.randint(2**62, (), generator=generator))
    each, world = batch // dist.world_size(), dist.world_size()
    if stream.together is None:
        return torch.from_numpy(shard_order(shards, steps, each, world, seed))
    return torch.from_numpy(shard_order(shards, steps, each, world, seed, stream.together, in_blocks))


def in_passes(order: Tensor, block: int, passes: int, generator: torch.Generator) -> Tensor:
    """Each `block` batches of an order [steps, N] `passes` times in a row, shuffled every time: [passes steps, N]."""
    parts = []
    for rows in order.split(block):
        shuffles = (torch.randperm(rows.numel(), generator=generator) for _ in range(passes))
        parts += [rows.flatten()[shuffle].view_as(rows) for shuffle in shuffles]
    return torch.cat(parts)


def _stream(x: Any) -> Stream | None:
    """The files from which training reads the samples, if it does; their random crops too, if files are row groups."""
    whole = x.x if isinstance(x, Subset) else x
    if isinstance(whole, Originals):
        return None if whole.files.together is None else whole.files
    return whole if isinstance(whole, Stream) else None


def _shards(x: Any, stream: Stream) -> list[np.ndarray] | None:
    """The positions of the samples of each shard; None for samples that do not lie in shards."""
    whole = stream.shards
    if len(stream) < SHARD * len(whole) and stream.together is None:
        return None
    chosen = x.chosen if isinstance(x, Subset) else np.arange(len(x))  # rising
    ends = np.searchsorted(chosen, [part.stop for part in whole])
    return [part for part in np.split(np.arange(len(chosen)), ends[:-1]) if len(part)]


def buffered(line: np.ndarray, size: int, random: np.random.Generator) -> np.ndarray:
    """The line in the order in which a buffer of this size gives it out: each time one of those in it, at random.

    >>> sorted(buffered(np.arange(5), 2, np.random.default_rng(0)).tolist())
    [0, 1, 2, 3, 4]
    """
    held, out = line[:size].copy(), np.empty_like(line)
    draws = random.integers(0, max(len(held), 1), max(len(line) - size, 0))
    for i, (place, following) in enumerate(zip(draws, line[size:], strict=True)):
        out[i], held[place] = held[place], following
    out[len(draws) :] = random.permutation(held)
    return out


def shard_order(
    shards: list[np.ndarray],
    steps: int,
    each: int,
    world: int,
    seed: int,
    buffer: int = BUFFER,
    shuffle: Callable[[np.ndarray, int, np.random.Generator], np.ndarray] = buffered,
) -> np.ndarray:
    """Positions [steps, world * each]: the r-th `each` columns are those of the process of rank r.

    Shards are dealt out in random order, the next one to the process that has the fewest samples. What one process has
    too many of, others read.
    """
    random, needed = np.random.default_rng(seed), steps * each
    own: list[list[np.ndarray]] = [[] for _ in range(world)]
    counts = np.zeros(world, int)
    for i in random.permutation(len(shards)):
        least = int(counts.argmin())
        own[least].append(shards[i])
        counts[least] += len(shards[i])
    lines = [np.concatenate(parts) if parts else np.empty(0, int) for parts in own]
    surplus = np.concatenate([line[needed:] for line in lines])
    columns = []
    for line in lines:
        missing = max(needed - len(line), 0)
        line, surplus = np.concatenate([line[:needed], surplus[:missing]]), surplus[missing:]
        columns.append(shuffle(line, buffer, random).reshape(steps, each))
    return np.concatenate(columns, axis=1).astype(np.int64)
