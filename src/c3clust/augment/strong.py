"""The policy of strong views: a few random operations of RandAugment, then a square that is cut out.

Each operation is a batched function of images [N, C, H, W] in [0, 1] and of N numbers in [0, 1), which give its
strength. The operations and ranges are those that SCAN's released code lists (data/augment.py).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust.augment import geometry
from c3clust.augment.checks import check_number, check_probabilities, check_range
from c3clust.errors import InputError

__all__ = ["Strong"]

LEVELS = 256  # of a channel, for operations that are defined on bytes
LUMA = (0.299, 0.587, 0.114)
SMOOTH = ((1.0, 1.0, 1.0), (1.0, 5.0, 1.0), (1.0, 1.0, 1.0))  # of sharpness, divided by its sum
Operation = Callable[[Tensor, Tensor], Tensor]


def autocontrast(x: Tensor, u: Tensor) -> Tensor:
    """Stretch every channel to [0, 1]; one of a single value is left unchanged."""
    low, high = x.amin(dim=(2, 3), keepdim=True), x.amax(dim=(2, 3), keepdim=True)
    return torch.where(high > low, (x - low) / (high - low).clamp_min(1e-12), x)


def equalize(x: Tensor, u: Tensor) -> Tensor:
    """Histogram equalisation of every channel, on 256 levels; one of a single value is left unchanged."""
    level = (x * (LEVELS - 1)).round().long().flatten(2)  # [N, C, HW]
    counts = torch.zeros(*level.shape[:2], LEVELS, device=x.device).scatter_add_(
        2, level, torch.ones_like(level.float())
    )
    last = counts.gather(2, level.amax(dim=2, keepdim=True))
    step = ((level.shape[2] - last) / (LEVELS - 1)).floor()  # [N, C, 1]
    before = counts.cumsum(dim=2) - counts
    table = ((before + (step / 2).floor()) / step.clamp_min(1)).floor().clamp(0, LEVELS - 1) / (LEVELS - 1)
    return torch.where((step > 0)[..., None], table.gather(2, level).view_as(x), x)


def solarize(x: Tensor, u: Tensor) -> Tensor:
    """Invert what is above a threshold in [0, 1)."""
    return torch.where(x < _column(u), x, 1 - x)


def posterize(x: Tensor, u: Tensor) -> Tensor:
    """Keep the highest 4 to 7 bits of each value."""
    size = 2 ** (LEVELS.bit_length() - 1 - (4 + (4 * _column(u)).floor()))
    return ((x * (LEVELS - 1)).round() / size).floor() * size / (LEVELS - 1)


def colour(x: Tensor, u: Tensor) -> Tensor:
    """Towards grey, as far as 0.95."""
    return _blend(_grey(x).expand_as(x), x, u)


def contrast(x: Tensor, u: Tensor) -> Tensor:
    """Towards the mean grey value, as far as 0.95."""
    return _blend(_grey(x).mean(dim=(2, 3), keepdim=True), x, u)


def brightness(x: Tensor, u: Tensor) -> Tensor:
    """Towards black, as far as 0.95."""
    return _blend(torch.zeros_like(x), x, u)


def sharpness(x: Tensor, u: Tensor) -> Tensor:
    """Towards a smoothed image, as far as 0.95; the border is left unchanged."""
    if min(x.shape[2:]) < 3:
        return x
    kernel = torch.tensor(SMOOTH, device=x.device).div(13).expand(x.shape[1], 1, 3, 3)
    smooth = x.clone()
    smooth[:, :, 1:-1, 1:-1] = F.conv2d(x, kernel, groups=x.shape[1])
    return _blend(smooth, x, u)


def rotate(x: Tensor, u: Tensor) -> Tensor:
    angle = math.radians(30) * (2 * u - 1)
    return _moved(x, angle.cos(), -angle.sin(), angle.sin(), angle.cos())


def shear_x(x: Tensor, u: Tensor) -> Tensor:
    return _moved(x, 1.0, 0.1 * (2 * u - 1), 0.0, 1.0)


def shear_y(x: Tensor, u: Tensor) -> Tensor:
    return _moved(x, 1.0, 0.0, 0.1 * (2 * u - 1), 1.0)


def translate_x(x: Tensor, u: Tensor) -> Tensor:
    return _moved(x, 1.0, 0.0, 0.0, 1.0, across=0.2 * (2 * u - 1))  # a tenth of the side is 0.2 of [-1, 1]


def translate_y(x: Tensor, u: Tensor) -> Tensor:
    return _moved(x, 1.0, 0.0, 0.0, 1.0, down=0.2 * (2 * u - 1))


def identity(x: Tensor, u: Tensor) -> Tensor:
    return x


OPERATIONS: tuple[Operation, ...] = (
    identity, autocontrast, equalize, rotate, solarize, colour, contrast, brightness, sharpness, shear_x, translate_x,
    translate_y, posterize, shear_y,
)  # fmt: skip


@dataclass(frozen=True)
class Strong:
    """Random crop and flip, then RandAugment, then cutout: the strong views of SCAN, SPICE and FixMatch.

    Parameters
    ----------
    operations : int
        Operations for each sample, of fourteen, each drawn anew with its own strength.
    cutout : float
        Side of the square that is set to 0, as a share of the shorter side of the view.
    scale, ratio, flip :
        As for the policy "photo".

    References
    ----------
    Cubuk, Zoph, Shlens, Le: RandAugment, NeurIPS 2020, https://arxiv.org/abs/1909.13719
    DeVries, Taylor: Improved regularization of convolutional neural networks with cutout, arXiv 1708.04552.
    """

    operations: int = 4
    cutout: float = 0.5
    scale: tuple[float, float] = (0.2, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    flip: float = 0.5

    def __post_init__(self) -> None:
        check_range(self, "scale", 0, 1, open_low=True)
        check_range(self, "ratio", 0, math.inf, open_low=True)
        check_number(self, "operations", 0, 14, "it is the number of operations for each sample")
        check_number(self, "cutout", 0, 1, "it is a share of the side")
        check_probabilities(self, "flip")

    def __call__(self, x: Tensor, size: tuple[int, ...], generator: torch.Generator) -> Tensor:
        if x.ndim != 4:
            raise InputError(f"augmentation 'strong' needs images [N, C, H, W], got shape {list(x.shape)}.")
        boxes = geometry.draw_boxes(len(x), x.shape[2], x.shape[3], self.scale, self.ratio, generator)
        u = torch.rand(len(x), 3 + 2 * self.operations, generator=generator)  # one column for each decision
        view = geometry.crop_resize(x, boxes, u[:, 0] < self.flip, size)
        for i in range(self.operations):
            view = _each(view, (u[:, 3 + 2 * i] * len(OPERATIONS)).long(), u[:, 4 + 2 * i])
        return _cut(view, self.cutout, u[:, 1:3])


def _each(x: Tensor, which: Tensor, u: Tensor) -> Tensor:
    """Apply to every sample the operation that was drawn for it."""
    out = x.clone()
    for number, operation in enumerate(OPERATIONS):
        chosen = (which == number).nonzero().squeeze(1)
        if len(chosen):
            at = chosen.to(x.device)
            out[at] = operation(x[at], u[chosen].to(x.device)).clamp(0, 1)
    return out


def _cut(x: Tensor, share: float, u: Tensor) -> Tensor:
    """Set a square to 0 whose centre is anywhere in the view."""
    side, u = share * min(x.shape[2:]), u.to(x.device)
    inside = []
    for axis, n in enumerate(x.shape[2:]):
        place = torch.arange(n, device=x.device) + 0.5
        inside.append((place - u[:, axis, None] * n).abs() < side / 2)  # [N, n]
    return x.masked_fill((inside[0][:, :, None] & inside[1][:, None])[:, None], 0.0)


def _column(u: Tensor) -> Tensor:
    return u[:, None, None, None]


def _blend(other: Tensor, x: Tensor, u: Tensor) -> Tensor:
    """other + f (x - other), f in [0.05, 0.95)."""
    return torch.lerp(other, x, 0.05 + 0.9 * _column(u))


def _grey(x: Tensor) -> Tensor:
    weights = torch.tensor(LUMA, device=x.device)[:, None, None] if x.shape[1] == 3 else 1 / x.shape[1]
    return (x * weights).sum(dim=1, keepdim=True)


def _moved(x: Tensor, *matrix: Tensor | float, across: Tensor | float = 0.0, down: Tensor | float = 0.0) -> Tensor:
    """Resample at the places that the matrix [[a, b], [c, d]] and the shift give; outside of the image is 0."""
    a, b, c, d = matrix
    entries = [
        torch.as_tensor(e, dtype=torch.float32, device=x.device).expand(len(x)) for e in (a, b, across, c, d, down)
    ]
    grid = F.affine_grid(torch.stack(entries, dim=1).view(-1, 2, 3), list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
