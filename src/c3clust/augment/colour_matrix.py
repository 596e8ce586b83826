"""Brightness, contrast, saturation, hue and greyscale as one matrix per sample, and one clipping at the end.

A colour is x = y 1 + v: grey of the luma y, and chroma v, whose luma is 0. Brightness multiplies x; contrast multiplies
the difference of x and the mean grey of the picture; saturation multiplies v; greyscale removes v; the hue rotates v.
All of these are affine in x, and their order does not matter.

Departures from colour.py, whose definitions are torchvision's: nothing is clipped between the operations, and the hue
rotates in the plane of chroma (that of YUV, also of YIQ), where torchvision moves it along the hexagon of HSV. Where
nothing is clipped and the hue stays, both are equal.

Shapes: x [N, C, h, w] float32, factors [N, 4] in the order of colour.OPERATIONS and grey [N] on the CPU.
"""

import math

import torch
from torch import Tensor

from c3clust.augment.colour import LUMA

BLUE, RED = 0.492, 0.877  # U = 0.492 (blue - luma) and V = 0.877 (red - luma) are the axes of chroma
NEUTRAL = (1.0, 1.0, 1.0, 0.0)  # the factors that change nothing


def adjust(x: Tensor, factors: Tensor, grey: Tensor, out: Tensor) -> Tensor:
    """The colours of x, changed by `factors` and to grey where `grey` is true, within [0, 1], in `out`.

    Unless there are three channels, only brightness and contrast are changed, channel by channel.
    """
    brightness, contrast, saturation, shift = factors.to(torch.float32).unbind(1)
    mean = x.mean((2, 3))  # [N, C]
    if x.shape[1] != 3:
        scale, base = (t.to(x.device)[:, None] for t in (brightness * contrast, brightness * (1 - contrast)))
        torch.mul(x, scale[:, :, None, None], out=out).add_((base * mean)[:, :, None, None])
        return out.clamp_(0, 1)
    luma = saturation + (1 - saturation) * sum(LUMA)  # these weights do not quite sum to 1
    luma, saturation = luma * torch.where(grey, sum(LUMA), 1.0), saturation * ~grey
    matrix = _matrices(luma, saturation, shift) * (brightness * contrast)[:, None, None]
    base = (brightness * (1 - contrast) * luma).to(x.device) * (mean @ mean.new_tensor(LUMA))  # [N]
    torch.bmm(matrix.to(x.device), x.flatten(2), out=out.flatten(2))  # baddbmm would first copy `base` to all pixels
    return out.add_(base[:, None, None, None]).clamp_(0, 1)


def _matrices(luma: Tensor, chroma: Tensor, shift: Tensor) -> Tensor:
    """[N, 3, 3]: multiply luma and chroma, and rotate chroma by a fraction of the circle, from red towards green."""
    angle = 2 * math.pi * shift
    parts = torch.stack([luma, chroma * torch.cos(angle), chroma * torch.sin(angle)], dim=1)  # [N, 3]
    return (parts @ _BASIS).view(-1, 3, 3)


def _basis() -> Tensor:
    """[3, 9]: the matrices that leave the luma, leave the chroma, and rotate the chroma by a quarter of the circle."""
    weights = torch.tensor(LUMA, dtype=torch.float64)
    keep_luma = (weights / weights.sum()).expand(3, 3)
    keep_chroma = torch.eye(3, dtype=torch.float64) - keep_luma
    u, v = BLUE * keep_chroma[2], RED * keep_chroma[0]
    red, blue = u / RED, -v / BLUE  # (U, V) becomes (-V, U)
    green = -(weights[0] * red + weights[2] * blue) / weights[1]
    return torch.stack([keep_luma, keep_chroma, torch.stack([red, green, blue])]).flatten(1).float()


_BASIS = _basis()
