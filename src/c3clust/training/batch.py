"""Batches: which samples a step sees, and the two views of each that it is given."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from c3clust import augment, dist
from c3clust.data.io.batches import batches
from c3clust.data.samples import ArrayLike
from c3clust.errors import InputError

__all__ = ["Batch", "channels_last", "local_part", "source_of_views", "tensors"]


@dataclass(frozen=True)
class Batch:
    """N samples of one process: their positions in the dataset and two views of each.

    x_a is a random view of the samples. x_b is a second, independent view of the same samples, or a view of their
    partners where the objective chooses partners.
    """

    x_a: Tensor
    x_b: Tensor
    index: Tensor = field(default_factory=lambda: torch.empty(0, dtype=torch.int64))  # [N]
    raw: Tensor = field(default_factory=lambda: torch.empty(0))  # the samples as stored
    size: tuple[int, ...] = ()
    samples: ArrayLike | None = None  # the dataset

    @cached_property
    def x(self) -> Tensor:
        """The samples without augmentation, as evaluation sees them."""
        if self.raw.ndim == 5 and self.samples is not None:  # crops
            raw = next(tensors(self.samples, [self.index.cpu().numpy()], self.raw.device))
        else:
            raw = self.raw[:, 0] if self.raw.ndim == 3 else self.raw  # of stored views [N, V, F], the sample itself
        return channels_last(augment.prepare(raw, self.size))


def source_of_views(x: Any, policy: augment.Policy, size: tuple[int, ...], key: Sequence[int]) -> ArrayLike:
    """What views are made of: crops of the original files or stored views, where x has them, else the samples.

    The crops of a sample follow from its position and `key` alone, so that threads may make them in any order.
    """
    draw = augment.draw_crops(policy)
    if draw is None or not hasattr(x, "crops"):
        return getattr(x, "views", x)

    def boxes(i: int, height: int, width: int) -> np.ndarray:
        seed = int(np.random.SeedSequence([k % 2**64 for k in (*key, i)]).generate_state(1, np.uint64)[0])
        return draw(height, width, torch.Generator().manual_seed(seed)).numpy()

    return x.crops(boxes, size)


def tensors(x: ArrayLike, index: list[np.ndarray], device: torch.device) -> Iterator[Tensor]:
    """The samples at each of these positions, on the device."""
    for x_batch in batches(x, index):
        yield torch.from_numpy(x_batch).to(device, non_blocking=True)


def channels_last(x: Tensor) -> Tensor:
    """Images in the memory layout that convolutions prefer; anything else unchanged."""
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x


def local_part(order: np.ndarray) -> list[np.ndarray]:
    """This process's part of every batch [steps, N]; all parts are equally long, what remains is left out."""
    each = order.shape[1] // dist.world_size()
    if each == 0:
        raise InputError(
            f"A batch of {order.shape[1]} samples is too small for {dist.world_size()} processes: start fewer of them."
        )
    return list(order[:, dist.rank() * each : (dist.rank() + 1) * each])
