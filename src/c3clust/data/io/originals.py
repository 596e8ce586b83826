"""Images whose random crops are taken from the original files, at their own size and aspect.

Evaluation sees each image squashed to S × S. A crop of that copy has neither the detail nor the aspect of a crop of
the original, which is what the papers train on.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from c3clust.data.io.decode import decode_crops
from c3clust.data.io.spans import read_span
from c3clust.data.io.stream import Stream
from c3clust.data.samples import ArrayLike

Draw = Callable[[int, int, int], np.ndarray]  # position, height, width -> boxes [V, 4]: top, left, height, width
VIEWS = 2


class Originals:
    """Indexed like x [n, C, S, S], the images for evaluation; `crops` reads the original files.

    x: an array, a memory map or a stream. files: the same images, as a stream.
    """

    def __init__(self, x: ArrayLike, files: Stream) -> None:
        self.x, self.files = x, files
        self.shape, self.dtype = tuple(x.shape), x.dtype

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: Any) -> np.ndarray:
        return self.x[index]

    def __getattr__(self, name: str) -> Any:
        if name == "prefetch":
            return self.x.prefetch  # type: ignore[attr-defined]
        raise AttributeError(name)

    def crops(self, draw: Draw, size: tuple[int, int]) -> "Crops":
        return Crops(self.files, draw, size)

    def subset(self, index: np.ndarray) -> "Originals":
        return Originals(
            self.x.subset(index) if isinstance(self.x, Stream) else self.x[index], self.files.subset(index)
        )


class Crops(Stream):
    """Two random crops of each image, decoded on access: indexed like a uint8 array [n, 2, C, height, width].

    `draw` decides the boxes from the position and the size of an image, so that a crop does not depend on which thread
    makes it, or when.
    """

    def __init__(self, files: Stream, draw: Draw, size: tuple[int, int]) -> None:
        self.__dict__.update(files.__dict__)
        self.draw, self.shape = draw, (len(files), VIEWS, files.shape[1], *size)

    def _pixels(self, i: int) -> np.ndarray:
        size = (self.shape[3], self.shape[4])
        return decode_crops(read_span(self.spans[i]), lambda h, w: self.draw(i, h, w), size)[:, : self.shape[2]]
