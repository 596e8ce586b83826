"""Random crops, and one resampling step for crop, flip and rotation.

A box is (top, left, height, width) in whole pixels of the source. Boxes, flips and angles are on the CPU.
Shapes: x [N, C, H, W] uint8 or float, boxes [N, 4] int64, the result [N, C, h, w] float32.
"""

import math
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor

from c3clust.augment.scratch import scratch

ATTEMPTS = 10  # draws of area and ratio before the central crop is used, as in torchvision
LOOP_PIXELS = 96 * 96  # on the CPU, larger outputs are resampled image by image, with sparse taps


def full_boxes(n: int, height: int, width: int) -> Tensor:
    return torch.tensor([[0, 0, height, width]]).expand(n, 4)


def draw_boxes(
    n: int, height: int, width: int, scale: tuple[float, float], ratio: tuple[float, float], generator: torch.Generator
) -> Tensor:
    """Random resized crops: a fraction of the area in `scale`, width / height log-uniform in `ratio`."""
    u = torch.rand(n, 2 * ATTEMPTS + 2, generator=generator, dtype=torch.float64)
    area = height * width * (scale[0] + (scale[1] - scale[0]) * u[:, :ATTEMPTS])
    aspect = torch.exp(math.log(ratio[0]) + math.log(ratio[1] / ratio[0]) * u[:, ATTEMPTS : 2 * ATTEMPTS])
    w, h = (area * aspect).sqrt().round(), (area / aspect).sqrt().round()
    fits = (w > 0) & (w <= width) & (h > 0) & (h <= height)
    first = fits.int().argmax(1, keepdim=True)  # [N, 1] the first draw that fits
    w, h, fits = (t.gather(1, first).squeeze(1) for t in (w, h, fits))
    top, left = (u[:, -2] * (height - h + 1)).floor(), (u[:, -1] * (width - w + 1)).floor()
    boxes = torch.stack([top, left, h, w], dim=1).long()
    return torch.where(fits[:, None], boxes, _central_box(height, width, ratio))


def _central_box(height: int, width: int, ratio: tuple[float, float]) -> Tensor:
    """The largest central crop whose width / height lies in `ratio`."""
    h = min(height, max(1, round(width / ratio[0])))
    w = min(width, max(1, round(height * ratio[1])))
    return torch.tensor([(height - h) // 2, (width - w) // 2, h, w])


def crop_resize(x: Tensor, boxes: Tensor, flip: Tensor, size: tuple[int, ...], out: Tensor | None = None) -> Tensor:
    """Crop, resize with the antialiased triangle filter, and mirror left to right where `flip` [N] is true.

    Equal to F.interpolate(crop, mode="bilinear", antialias=True). uint8 is scaled to [0, 1].
    """
    if out is None:
        out = torch.empty((len(x), x.shape[1], *size), device=x.device)
    one = 1 / 255 if x.dtype == torch.uint8 else 1.0
    if x.device.type == "cpu" and size[0] * size[1] >= LOOP_PIXELS:
        return _resize_each(x, boxes, flip, one, out)
    (n, c, height, width), (h, w) = x.shape, size
    columns = _triangle_weights(boxes[:, 1], boxes[:, 3], (width, w), one, x, flip)  # [N, W, w]
    source = scratch("source", (n, c, height, width), x).copy_(x)
    across = torch.bmm(source.flatten(1, 2), columns, out=scratch("across", (n, c * height, w), x))
    rows = _triangle_weights(boxes[:, 0], boxes[:, 2], (height, h), 1.0, x)  # [N, H, h]
    rows = scratch("rows", (n, c, h, height), x).copy_(rows.transpose(1, 2)[:, None])  # bmm needs contiguous rows
    torch.bmm(rows.flatten(0, 1), across.view(n * c, height, w), out=out.view(n * c, h, w))
    return out


def _resize_each(x: Tensor, boxes: Tensor, flip: Tensor, one: float, out: Tensor) -> Tensor:
    for image, (top, left, h, w), mirrored, view in zip(x, boxes.tolist(), flip.tolist(), out, strict=True):
        crop = image[:, top : top + h, left : left + w]
        if h <= view.shape[1] and w <= view.shape[2]:
            _enlarge(crop, mirrored, one, view)
        else:
            crop = crop.flip(-1) if mirrored else crop
            crop = crop[None].to(torch.float32)
            torch.mul(F.interpolate(crop, view.shape[1:], mode="bilinear", antialias=True)[0], one, out=view)
    return out


def _enlarge(crop: Tensor, mirrored: bool, one: float, view: Tensor) -> None:
    """Two taps per axis, as whole rows of the transposed image, then of the image; faster than F.interpolate."""
    (c, h, w), (tall, wide) = crop.shape, view.shape[1:]
    turned = scratch("turned", (c, w, h), crop, crop.dtype).copy_(crop.transpose(1, 2))
    across = _blend_rows(turned, _two_taps(w, wide, mirrored), scratch("across", (c, wide, h), crop))
    if one != 1:
        across.mul_(one)
    upright = scratch("upright", (c, h, wide), crop).copy_(across.transpose(1, 2))
    _blend_rows(upright, _two_taps(h, tall, False), view)


def _blend_rows(x: Tensor, taps: tuple[Tensor, Tensor, Tensor], out: Tensor) -> Tensor:
    """[C, n_in, m] -> [C, n_out, m] float32"""
    first, second, share = taps
    a, b = (_rows(x, index, name) for index, name in ((first, "first"), (second, "second")))
    return torch.lerp(a, b, share, out=out)


def _rows(x: Tensor, index: Tensor, name: str) -> Tensor:
    """x[:, index] as float32"""
    shape = (x.shape[0], len(index), x.shape[2])
    chosen = torch.index_select(x, 1, index, out=scratch(name, shape, x, x.dtype))
    return chosen if x.dtype == torch.float32 else scratch(name, shape, x).copy_(chosen)


@lru_cache(maxsize=2048)
def _two_taps(n_in: int, n_out: int, mirrored: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The two source rows of each output row, and the weight of the second one [n_out, 1]."""
    place = (torch.arange(0.5, n_out) * (n_in / n_out) - 0.5).clamp_(0, n_in - 1)
    place = place.flip(0) if mirrored else place
    first = place.long()
    return first, (first + 1).clamp_(max=n_in - 1), (place - first)[:, None]


def _triangle_weights(
    start: Tensor, length: Tensor, sides: tuple[int, int], total: float, like: Tensor, flip: Tensor | None = None
) -> Tensor:
    """Columns of resampling weights [N, n_in, n_out] that sum to `total`, on the device of `like`.

    A triangle with a half width of one source pixel, or more if the crop is reduced.
    """
    n_in, n_out = sides
    step = (length / n_out)[:, None]  # [N, 1] source pixels per output pixel
    position = torch.arange(0.5, n_out)[None]
    if flip is not None:
        position = torch.where(flip[:, None], n_out - position, position)
    centre = position * step + start[:, None]  # [N, n_out]
    pixel = torch.arange(0.5, n_in, device=like.device)[:, None]
    first, last = start[:, None] + 0.5, (start + length)[:, None] - 0.5
    weight = scratch("weight", (len(start), n_in, n_out), like)
    if bool((length <= n_out).all()):  # no reduction: two taps, which sum to 1 if the centre is between them
        centre = torch.minimum(torch.maximum(centre, first), last).mul_(total).to(like.device)
        return torch.sub(pixel * total, centre[:, None], out=weight).abs_().neg_().add_(total).clamp_(min=0)
    torch.sub(pixel, centre.to(like.device)[:, None], out=weight)
    weight.abs_().div_(-step.clamp(min=1).to(like.device)[:, :, None]).add_(1).clamp_(min=0)
    pixels = torch.arange(0.5, n_in)
    inside = ((pixels >= first) & (pixels <= last)).to(like.device, torch.float32)  # [N, n_in]
    weight *= inside[:, :, None]
    return weight.mul_(total / weight.sum(1, keepdim=True))


def affine_crop(x: Tensor, boxes: Tensor, degrees: Tensor, size: tuple[int, ...]) -> Tensor:
    """Crop, rotate about the centre of the crop and resize, in one bilinear resampling; the border is repeated.

    If the image is larger than the view, each output pixel is the mean of k x k samples, against aliasing.
    """
    height, width = x.shape[2:]
    k = max(1, math.ceil(height / size[0]), math.ceil(width / size[1]))
    one = 1 / 255 if x.dtype == torch.uint8 else 1.0
    theta = _affine_matrices(boxes, degrees, height, width).to(x.device)
    grid = F.affine_grid(theta, [len(x), x.shape[1], k * size[0], k * size[1]], align_corners=False)
    source = x.to(torch.float32) * one
    view = F.grid_sample(source, grid, mode="bilinear", padding_mode="border", align_corners=False)
    return F.avg_pool2d(view, k) if k > 1 else view


def _affine_matrices(boxes: Tensor, degrees: Tensor, height: int, width: int) -> Tensor:
    """[N, 2, 3]: from the view's coordinates in [-1, 1] to the source's; a positive angle rotates counter-clockwise."""
    top, left, h, w = boxes.to(torch.float32).unbind(1)
    cos, sin = torch.cos(torch.deg2rad(degrees)), torch.sin(torch.deg2rad(degrees))
    x_row = torch.stack([cos * w / width, -sin * h / width, (2 * left + w) / width - 1], dim=1)
    y_row = torch.stack([sin * w / height, cos * h / height, (2 * top + h) / height - 1], dim=1)
    return torch.stack([x_row, y_row], dim=1)
