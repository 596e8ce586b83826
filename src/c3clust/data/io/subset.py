"""Some of the samples of a dataset, read when they are needed."""

from typing import Any

import numpy as np

from c3clust.data.samples import ArrayLike

__all__ = ["Subset", "subset"]


class Subset:
    """The samples of x at the positions `chosen`, indexed like an array; `views`, `crops`, `prefetch` as x has them.

    >>> Subset(np.array([10, 20, 30]), np.array([0, 2]))[np.array([1])].tolist()
    [30]
    """

    def __init__(self, x: Any, chosen: np.ndarray) -> None:
        self.x, self.chosen = x, chosen
        self.shape, self.dtype = (len(chosen), *x.shape[1:]), x.dtype

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, index: Any) -> np.ndarray:
        return self.x[self.chosen[index]]

    def __getattr__(self, name: str) -> Any:
        if name == "views":
            return Subset(self.x.views, self.chosen)
        if name == "crops":
            crops = self.x.crops
            return lambda draw, size: Subset(crops(draw, size), self.chosen)
        if name == "prefetch":
            prefetch, chosen = self.x.prefetch, self.chosen
            return lambda batches: prefetch(chosen[batch] for batch in batches)
        raise AttributeError(name)


def subset(x: ArrayLike, chosen: np.ndarray) -> ArrayLike:
    """x at these positions; x itself if they are all."""
    return x if len(chosen) == len(x) else Subset(x, chosen)
