"""The colours of a view: brightness, contrast, saturation, hue, greyscale and blur, in place, per-sample parameters.

Definitions are torchvision's for tensors. Every function takes x [N, C, h, w] float32 in [0, 1], changes it, and
returns it; parameters have one entry per sample. Only three channels have a colour: with any other number,
contrast is relative to each channel's own mean, and saturation, hue and greyscale do not exist.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["blur_", "brightness_", "contrast_", "greyscale_", "hue_", "jitter_", "saturation_"]

LUMA = (0.2989, 0.587, 0.114)  # of red, green and blue in grey


def _grey(x: Tensor) -> Tensor:
    """[N, 3, h, w] -> [N, 1, h, w]"""
    grey = x[:, 0:1] * LUMA[0]
    return grey.add_(x[:, 1:2], alpha=LUMA[1]).add_(x[:, 2:3], alpha=LUMA[2])


def _per_sample(parameter: Tensor, x: Tensor) -> Tensor:
    return parameter.to(x.device, torch.float32)[:, None, None, None]


def brightness_(x: Tensor, factor: Tensor) -> Tensor:
    """factor x"""
    return x.mul_(_per_sample(factor, x)).clamp_(max=1)


def contrast_(x: Tensor, factor: Tensor) -> Tensor:
    """factor x + (1 - factor) mean of grey"""
    factor = _per_sample(factor, x)
    mean = x.mean((2, 3), keepdim=True)  # [N, C, 1, 1]
    if x.shape[1] == 3:
        mean = _grey(mean)
    return x.mul_(factor).add_((1 - factor) * mean).clamp_(0, 1)


def saturation_(x: Tensor, factor: Tensor) -> Tensor:
    """factor x + (1 - factor) grey"""
    factor = _per_sample(factor, x)
    grey = _grey(x).mul_(1 - factor)
    return x.mul_(factor).add_(grey).clamp_(0, 1)


def hue_(x: Tensor, shift: Tensor) -> Tensor:
    """Add `shift`, a share of the full circle, to the hue of HSV.

    In HSV a hue shift keeps each pixel's largest value v and smallest value v - d, and moves its place on the
    hexagon. With the place p in [-1, 5] (0 red, 2 green, 4 blue), a channel that peaks at t is, on the circle of 6,
    v - d clip(distance(p, t) - 1, 0, 1). Written with q = p d, as here, it needs no division, and d = 0 needs no care.
    """
    r, g, b = x.unbind(1)
    v, low = torch.maximum(torch.maximum(r, g), b), torch.minimum(torch.minimum(r, g), b)
    d = v - low
    q = torch.where(g == v, (b - r).add_(d, alpha=2), (r - g).add_(d, alpha=4))
    q = torch.where(r == v, g - b, q)
    peak = torch.tensor([0.0, 2.0, 4.0]) - 6 * shift.to("cpu", torch.float32)[:, None]
    peak = (torch.remainder(peak + 1, 6) - 1).to(x.device)  # [N, 3] in [-1, 5)
    d3, base = d * 3, torch.sub(v, d, alpha=2)
    for channel, t in zip((r, g, b), peak.unbind(1), strict=True):
        y = torch.addcmul(q, d, t[:, None, None], value=-1).abs_().sub_(d3).abs_()  # d (3 - distance)
        torch.clamp(y.add_(base), low, v, out=channel)
    return x


def greyscale_(x: Tensor, which: Tensor) -> Tensor:
    """All three channels become grey where `which` [N] is true."""
    index = which.nonzero().squeeze(1).to(x.device)
    if len(index):
        x[index] = _grey(x[index]).expand(-1, 3, -1, -1)
    return x


def blur_(x: Tensor, sigma: Tensor, kernel: int) -> Tensor:
    """Gaussian blur with `kernel` taps a side (odd), the border mirrored."""
    half = kernel // 2
    taps = torch.arange(-half, half + 1, dtype=torch.float32)
    weight = torch.exp(-0.5 * (taps / sigma.to(torch.float32)[:, None]) ** 2)
    weight = (weight / weight.sum(1, keepdim=True)).to(x.device)  # [N, kernel]
    height, width = x.shape[2:]
    padded = F.pad(x, (half, half, half, half), mode="reflect")
    across = torch.zeros_like(padded[..., :width])
    for i, w in enumerate(weight.unbind(1)):
        across.addcmul_(padded[..., i : i + width], w[:, None, None, None])
    x.zero_()
    for i, w in enumerate(weight.unbind(1)):
        x.addcmul_(across[:, :, i : i + height], w[:, None, None, None])
    return x


OPERATIONS = (brightness_, contrast_, saturation_, hue_)


def jitter_(x: Tensor, factors: Tensor, order: Tensor, which: Tensor) -> Tensor:
    """Brightness, contrast, saturation and hue, each sample in its own order, where `which` [N] is true.

    factors: [N, 4] in the order of OPERATIONS; order: [N, 4], a permutation of 0..3 in each row; both on the CPU.
    """
    usable = 4 if x.shape[1] == 3 else 2
    for step in range(4):
        for k in range(usable):
            index = ((order[:, step] == k) & which).nonzero().squeeze(1)
            if len(index) == len(x):
                OPERATIONS[k](x, factors[:, k])
            elif len(index):
                chosen = index.to(x.device)
                x[chosen] = OPERATIONS[k](x[chosen], factors[index, k])
    return x
