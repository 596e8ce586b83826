"""Feature vectors with several stored views of each sample."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from c3clust.data.samples import ArrayLike


class Views:
    """n samples with V views of F features each, indexed like an array [n, F] of the first view, the sample itself.

    `views` is indexed like an array [n, V, F] of all views, from which training draws pairs. `parts` are V arrays
    [n, F], in memory or memory-mapped. stacked: index this object like `views`.
    """

    def __init__(self, parts: Sequence[ArrayLike], stacked: bool = False) -> None:
        self.parts, self.stacked = parts, stacked
        n, width = (int(k) for k in parts[0].shape)
        self.shape = (n, len(parts), width) if stacked else (n, width)
        self.dtype = parts[0].dtype
        self.scratch: Any = None  # keeps temporary files of the parts alive

    @property
    def views(self) -> ArrayLike:
        """All views of each sample [n, V, F]; [n, F] if there is only one."""
        if len(self.parts) == 1:
            return self.parts[0]
        stacked = Views(self.parts, stacked=True)
        stacked.scratch = self.scratch
        return stacked

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> np.ndarray:
        parts = [np.asarray(part[index]) for part in self.parts[: None if self.stacked else 1]]
        return np.stack(parts, axis=-2) if self.stacked else parts[0]
