"""What the samples show: a property of their values, whatever file or array they come from.

    handwriting   small grey pictures in one ink: digits, letters, signs
    photograph    all other images
    vector        feature vectors; "views" if several views of each sample are stored
    text, table   of `Texts` and `Table`

It is found from up to 256 evenly spaced images. Pictures are handwriting if all of the following hold:

- They are small: no side of the array, or of the image files as they are stored, is longer than 32 pixels. Larger line
  drawings, such as scanned pages of 200 pixels, count as photographs: their details are more than one sign.
- They are grey: their three channels are equal, but for what a lossy file format changes.
- At least a third of the pixels are blank, close to the median of the pixels at the edges: dark on light or light on
  dark.
- They are drawn in one ink: its strength varies little from image to image. Fashion-MNIST, small and grey on black, is
  of varying brightness. Views that keep the brightness would let a network separate it by brightness alone.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from c3clust.data.samples import ArrayLike

__all__ = ["CONTENTS", "IMAGES", "SMALL", "find", "is_detailed", "looked_at"]

IMAGES = ("handwriting", "photograph")
CONTENTS = (*IMAGES, "vector", "views", "text", "table")
PHOTOGRAPH = 64  # px: the smallest side of photographs with details, which encoders and near copies need
SMALL = 32  # px: the longest side of handwriting, up to which a small network learns it from scratch in minutes
MOST = 256  # images that are looked at
VALUES = 2**24  # pixels times channels that are looked at
GREY = 0.02  # mean difference of the channels in grey images
BLANK = 0.1  # difference from the background, relative to the largest, of blank pixels
MOSTLY_BLANK = 1 / 3  # share of blank pixels in handwriting
ONE_INK = 0.15  # coefficient of variation of the ink over the images


def find(x: "ArrayLike", longest_side: Callable[[], int] | None = None) -> str:
    """The content of images [n, C, H, W] or vectors [n, F].

    longest_side: returns that of image files as they are stored; without it, the images were not resized.

    >>> find(np.zeros((5, 8)))
    'vector'
    """
    if len(x.shape) == 2:
        return "views" if len(getattr(x, "parts", ())) > 1 else "vector"
    longest = max(x.shape[2:]) if longest_side is None else longest_side()
    return "handwriting" if len(x) and longest <= SMALL and _is_handwriting(_sample(x)) else "photograph"


def is_detailed(content: str, shape: Sequence[int]) -> bool:
    """Whether samples of this shape are photographs with details.

    >>> is_detailed("photograph", (3, 64, 64)), is_detailed("photograph", (3, 32, 32))
    (True, False)
    """
    return content == "photograph" and min(shape[-2:]) >= PHOTOGRAPH


def looked_at(n: int, most: int = MOST) -> np.ndarray:
    """The positions of the images that decide: up to 256 of n, evenly spaced.

    >>> looked_at(3), len(looked_at(1000))
    (array([0, 1, 2]), 256)
    """
    return np.linspace(0, n - 1, min(n, most)).round().astype(int)


def _sample(x: "ArrayLike") -> np.ndarray:
    """Some of the images, float32 in [0, 1]; fewer if they were enlarged."""
    most = max(1, min(MOST, VALUES // math.prod(x.shape[1:])))
    some = np.asarray(x[looked_at(len(x), most)])
    return some.astype(np.float32) / np.float32(255 if some.dtype == np.uint8 else 1)


def _is_handwriting(x: np.ndarray) -> bool:
    """Whether images [k, C, H, W] are grey and in one ink on a blank background."""
    if (x.max(axis=1) - x.min(axis=1)).mean() > GREY:
        return False
    ink = np.abs(x[:, 0] - _background(x[:, 0])).reshape(len(x), -1)
    inked = ink > BLANK * ink.max()
    if not inked.any():
        return True
    return bool(inked.mean() <= 1 - MOSTLY_BLANK) and _variation(ink, inked) < ONE_INK


def _background(x: np.ndarray) -> float:
    """The median of the pixels at the edges of images [k, H, W]."""
    edges = (x[:, 0], x[:, -1], x[:, :, 0], x[:, :, -1])
    return float(np.median(np.concatenate(edges, axis=1)))


def _variation(ink: np.ndarray, inked: np.ndarray) -> float:
    """Coefficient of variation, over images, of the mean of the inked pixels.

    scikit-learn's digits 0.08, MNIST 0.07 (0.12 at 16 pixels), Fashion-MNIST 0.26.
    """
    drawn = inked.any(axis=1)
    mean = (ink * inked).sum(axis=1)[drawn] / inked.sum(axis=1)[drawn]
    return float(mean.std() / mean.mean())
