"""The policy for signs drawn in one ink: their shape varies as handwriting does, their ink does not."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust.augment.checks import check_number

__all__ = ["Handwriting"]

PIXEL = 28  # side in pixels of pictures whose strokes change by one pixel, as MNIST's


@dataclass(frozen=True)
class Handwriting:
    """Rotate, shear, stretch and shift small grey pictures, and draw them with a thicker or a thinner pen.

    Parameters
    ----------
    rotation : float
        Largest angle in degrees, either way.
    shear : float
        Largest slant, as a share of the height.
    stretch : float
        Largest change of the logarithm of the scale along each axis.
    shift : float
        Largest shift, as a share of the side.
    stroke : float
        Largest share of a dilation or erosion by 1/28 of the side.
    """

    rotation: float = 20.0
    shear: float = 0.4
    stretch: float = 0.35
    shift: float = 0.1
    stroke: float = 0.8

    def __post_init__(self) -> None:
        for name, high in (("rotation", 180), ("shear", 2), ("stretch", 2), ("shift", 1), ("stroke", 1)):
            check_number(self, name, 0, high, "it is the largest change of a view")

    def __call__(self, x: Tensor, size: tuple[int, ...], generator: torch.Generator) -> Tensor:
        u = 2 * torch.rand(len(x), 7, generator=generator) - 1  # one column for each decision
        source = x.to(torch.float32) * (1 / 255 if x.dtype == torch.uint8 else 1.0)
        source = self._stroke(source, u[:, 6].to(x.device))
        enlarged = max(1, math.ceil(x.shape[2] / size[0]), math.ceil(x.shape[3] / size[1]))  # against aliasing
        shape = [len(x), x.shape[1], enlarged * size[0], enlarged * size[1]]
        grid = F.affine_grid(self._matrices(u).to(x.device), shape, align_corners=False)
        view = F.grid_sample(source, grid, mode="bilinear", padding_mode="border", align_corners=False)
        return F.avg_pool2d(view, enlarged) if enlarged > 1 else view

    def _stroke(self, x: Tensor, u: Tensor) -> Tensor:
        """Blend each picture with its dilation (u > 0) or erosion (u < 0) by one pixel."""
        share = self.stroke * min(1.0, min(x.shape[2:]) / PIXEL) * u[:, None, None, None]
        thicker, thinner = F.max_pool2d(x, 3, 1, 1), -F.max_pool2d(-x, 3, 1, 1)
        return x + share.clamp_min(0) * (thicker - x) + (-share).clamp_min(0) * (thinner - x)

    def _matrices(self, u: Tensor) -> Tensor:
        """[N, 2, 3]: from the coordinates of the view in [-1, 1] to those of the source."""
        angle, slant = torch.deg2rad(self.rotation * u[:, 0]), self.shear * u[:, 1]
        wide, tall = torch.exp(self.stretch * u[:, 2]), torch.exp(self.stretch * u[:, 3])
        turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()], dim=1).view(-1, 2, 2)
        scale = torch.stack([wide, slant * wide, torch.zeros_like(wide), tall], dim=1).view(-1, 2, 2)
        return torch.cat([turn @ scale, 2 * self.shift * u[:, 4:6, None]], dim=2)
