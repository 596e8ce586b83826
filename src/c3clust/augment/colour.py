"""Brightness, contrast, saturation, hue, greyscale and blur, in place, with parameters per sample.

The definitions are those of torchvision for tensors. Every function modifies and returns x [N, C, h, w], float32 in
[0, 1]; parameters have one entry per sample. Unless there are three channels, contrast is relative to the mean of each
channel, and saturation, hue and greyscale are not applied.
"""

import math
from itertools import groupby

import torch
import torch.nn.functional as F
from torch import Tensor

from c3clust.augment.scratch import scratch

LUMA = (0.2989, 0.587, 0.114)  # of red, green and blue in grey


def _plane(name: str, x: Tensor) -> Tensor:
    """Working memory for one number per pixel: [N, 1, h, w]"""
    return scratch(name, (len(x), 1, *x.shape[2:]), x)


def _grey(x: Tensor) -> Tensor:
    """[N, 3, h, w] -> [N, 1, h, w]"""
    grey = torch.mul(x[:, 0:1], LUMA[0], out=_plane("grey", x))
    return grey.add_(x[:, 1:2], alpha=LUMA[1]).add_(x[:, 2:3], alpha=LUMA[2])


def _per_sample(parameter: Tensor, x: Tensor) -> Tensor | float:
    """The parameter in a shape to combine with x; a float for a single sample, which is faster."""
    return float(parameter) if len(x) == 1 else parameter.to(x.device, torch.float32)[:, None, None, None]


def brightness_(x: Tensor, factor: Tensor) -> Tensor:
    """factor x"""
    return x.mul_(_per_sample(factor, x)).clamp_(max=1)


def contrast_(x: Tensor, factor: Tensor) -> Tensor:
    """factor x + (1 - factor) mean of grey"""
    f = _per_sample(factor, x)
    mean = x.mean((2, 3), keepdim=True)  # [N, C, 1, 1]
    if x.shape[1] == 3:
        mean = _grey(mean)
    return _mix(mean.mul_(1 - f), x, f)


def _mix(base: Tensor, x: Tensor, f: Tensor | float) -> Tensor:
    """base + f x within [0, 1], in x"""
    return x.mul_(f).add_(base).clamp_(0, 1)  # addcmul is slower with one number per sample


def saturation_(x: Tensor, factor: Tensor) -> Tensor:
    """factor x + (1 - factor) grey"""
    f = _per_sample(factor, x)
    return _mix(_grey(x).mul_(1 - f), x, f)


def hue_(x: Tensor, shift: Tensor) -> Tensor:
    """Add `shift`, a fraction of the full circle, to the hue of HSV.

    In HSV a hue shift keeps each pixel's largest value v and smallest value v - d, and moves its position p on the
    hexagon: 0 red, 2 green, -2 blue, in [-3, 3]. Without branches, |p| d = g + b - r + v - 2 (v - d), and p has the
    sign of g - b. A channel that peaks at t is v - d clip(a - 1, 0, 1), a the distance from p to t on a circle of 6.
    """
    r, g, b = x[:, 0:1], x[:, 1:2], x[:, 2:3]
    v = torch.amax(x, 1, keepdim=True, out=_plane("v", x))
    low = torch.amin(x, 1, keepdim=True, out=_plane("low", x))
    d = torch.sub(v, low, out=_plane("d", x))
    place = torch.add(g, b, out=_plane("place", x)).sub_(r).add_(d).sub_(low)
    place.div_(torch.clamp(d, min=1e-9, out=low)).copysign_(torch.sub(g, b, out=low))
    peak = torch.tensor([0.0, 2.0, 4.0]) - 6 * shift.to(torch.float32)[:, None]
    peak = (torch.remainder(peak + 3, 6) - 3).to(x.device)  # [N, 3] in [-3, 3)
    torch.sub(place, peak[:, :, None, None], out=x)
    x.abs_().sub_(3).abs_().clamp_(1, 2)  # 3 - distance, where it matters
    return torch.addcmul(v.sub_(d, alpha=2), x, d, out=x)


def greyscale_(x: Tensor, which: Tensor) -> Tensor:
    """Convert to grey (in all three channels) where `which` [N] is true."""
    index = which.nonzero().squeeze(1).to(x.device)
    if len(index) == len(x):
        return x.copy_(_grey(x).expand_as(x))
    return x.index_copy_(0, index, _grey(x.index_select(0, index)).expand(-1, 3, -1, -1)) if len(index) else x


def blur_(x: Tensor, sigma: Tensor, kernel: int) -> Tensor:
    """Gaussian blur with an odd `kernel` size and mirrored borders; taps beyond 5 sigma (1e-6) are left out."""
    half = min(kernel // 2, math.ceil(5 * float(sigma.max())))
    taps = torch.arange(-half, half + 1, dtype=torch.float32)
    weight = torch.exp(-0.5 * (taps / sigma.to(torch.float32)[:, None]) ** 2)
    weight = weight / weight.sum(1, keepdim=True)  # [N, taps]
    padded = F.pad(x, (half, half, half, half), mode="reflect")
    return _weigh(_weigh(padded, weight, 3), weight, 2, out=x)


def _weigh(x: Tensor, weight: Tensor, dim: int, out: Tensor | None = None) -> Tensor:
    """The weighted sum of x and its shifts along `dim`, which is shortened by the number of taps minus one."""
    length = x.shape[dim] - weight.shape[1] + 1
    weights = [_per_sample(w, x) for w in weight.unbind(1)]
    out = torch.mul(x.narrow(dim, 0, length), weights[0], out=out)
    for i, w in enumerate(weights[1:], start=1):
        shifted = x.narrow(dim, i, length)
        out = out.add_(shifted, alpha=w) if isinstance(w, float) else out.addcmul_(shifted, w)
    return out


OPERATIONS = (brightness_, contrast_, saturation_, hue_)


def jitter_(x: Tensor, factors: Tensor, order: Tensor, which: Tensor) -> Tensor:
    """Brightness, contrast, saturation and hue, each sample in its own order, where `which` [N] is true.

    factors: [N, 4] in the order of OPERATIONS; order: [N, 4], a permutation of 0..3 in each row; both on the CPU.
    """
    chosen = which.nonzero().squeeze(1)
    if bool((order == order[:1]).all()):
        return _change(x, chosen, factors, order)
    for pair in (order[:, :2], order[:, 2:]):  # sorting by two steps makes samples of one operation adjacent
        key = 4 * pair[chosen, 0] + pair[chosen, 1]
        _change(x, chosen[key.argsort(stable=True)], factors, pair)
    return x


def _change(x: Tensor, chosen: Tensor, factors: Tensor, order: Tensor) -> Tensor:
    """Apply the operations to the chosen samples of x. They are copied only if they are not all samples."""
    if len(chosen) == 0:
        return x
    if len(chosen) == len(x) and bool((chosen[1:] > chosen[:-1]).all()):
        return _apply_in_turn(x, factors, order)
    there = chosen.to(x.device)
    return x.index_copy_(0, there, _apply_in_turn(x.index_select(0, there), factors[chosen], order[chosen]))


def _apply_in_turn(x: Tensor, factors: Tensor, order: Tensor) -> Tensor:
    """Apply the steps in turn. Adjacent samples with the same operation are processed together."""
    usable = 4 if x.shape[1] == 3 else 2
    for step in zip(*order.tolist(), strict=True):
        start = 0
        for k, neighbours in groupby(step):
            run = slice(start, start + len(list(neighbours)))
            if k < usable:
                OPERATIONS[k](x[run], factors[run, k])
            start = run.stop
    return x
