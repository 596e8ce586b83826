"""Feature vectors with several stored views of each sample."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from c3clust.data.samples import ArrayLike

__all__ = ["Views"]


class Views:
    """n samples with V views of F features each, indexed like an array [n, F] of the first view, the sample itself.

    `views` is indexed like an array [n, V, F] of all views, from which training draws pairs. `parts` are V arrays
    [n, F], in memory or memory-mapped.
    """

    def __init__(self, parts: Sequence[ArrayLike]) -> None:
        self.parts = parts
        self.shape = tuple(int(k) for k in parts[0].shape)
        self.dtype = np.dtype(np.float32)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def views(self) -> ArrayLike:
        """All views of each sample [n, V, F]; [n, F] if there is only one."""
        return _All(self.parts) if len(self.parts) > 1 else self.parts[0]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> np.ndarray:
        return np.asarray(self.parts[0][index], dtype=np.float32)


class _All:
    def __init__(self, parts: Sequence[ArrayLike]) -> None:
        self.parts = parts
        self.shape = (len(parts[0]), len(parts), int(parts[0].shape[1]))
        self.dtype = np.dtype(np.float32)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> np.ndarray:
        return np.stack([np.asarray(part[index], dtype=np.float32) for part in self.parts], axis=-2)
