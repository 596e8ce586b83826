"""Near copies among photographs: resized, recompressed, slightly cropped, brighter or darker.

Candidates are nearest neighbours, by the features of the encoder if there is one, and by small grey images. A pair
of candidates is confirmed by its pixels: one image is registered to the other (a scale and a shift along each axis, a
gain and an offset of the brightness; Gauss-Newton, from coarse to fine: Lucas, Kanade, IJCAI 1981), and the details of
both are correlated. Details are what remains after the mean over a neighbourhood is subtracted, so that two
photographs of the same scene, which share colours and large shapes, are distinguished.

Shapes: n images, B pairs, S the side of a small image in pixels.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust import dist
from c3clust.data import ArrayLike, batches
from c3clust.data.duplicates.nearest import nearest

__all__ = ["confirm", "near_pictures", "small_pictures"]

SIDE = 64  # S, px
COARSE = 16  # px: pairs are laid over each other at this size first
STEPS = {16: 8, 32: 4, 64: 3}  # of Gauss-Newton, at each size
LIKELY = 0.75  # correlation at the coarse size below which a pair is given up
SAME = 0.8  # correlation of details from which two images are copies; copies have .93 and more, others at most .65
OVERLAP = 0.6  # fraction of the area that both images must show
DETAIL = 9  # px: the neighbourhood whose mean is subtracted
PLAIN = 0.002  # standard deviation of details, in [0, 1], below which an image has none to compare
NEAREST = 3  # candidates of each image, by features and by pixels
BLOCK = 256  # pairs at once


def small_pictures(x: ArrayLike) -> Tensor:
    """Grey images [n, S, S] in [0, 1] from x [n, C, H, W], read in batches."""
    part = dist.part(len(x), BLOCK)
    index = [np.arange(i, min(i + BLOCK, part.stop)) for i in part[::BLOCK]]
    own = torch.cat([torch.empty(0, SIDE, SIDE), *(_small(pictures) for pictures in batches(x, index))])
    return torch.from_numpy(dist.gather_arrays(own.numpy(), len(x), BLOCK))


def _small(pictures: np.ndarray) -> Tensor:
    grey = torch.from_numpy(np.ascontiguousarray(pictures)).float().mean(dim=1, keepdim=True)
    grey = grey / 255 if pictures.dtype == np.uint8 else grey
    return F.interpolate(grey, (SIDE, SIDE), mode="bilinear", antialias=True, align_corners=False)[:, 0]


def near_pictures(x: ArrayLike, features: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Pairs [P, 2] of copies, and the correlation [P] of their details. features: [n, F], or None."""
    small = small_pictures(x)
    tiny = F.adaptive_avg_pool2d(small[:, None], COARSE).flatten(1).numpy()
    spaces = [tiny - tiny.mean(axis=1, keepdims=True)]
    if features is not None:
        spaces.append(features - features.mean(axis=0))
    found = [_candidates(space) for space in spaces]
    return confirm(small, np.unique(np.concatenate(found), axis=0))


def _candidates(rows: np.ndarray) -> np.ndarray:
    """Pairs [P, 2] of each row and its nearest ones by the cosine, the smaller position first."""
    k = min(NEAREST, len(rows) - 1)
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    near, _ = nearest(unit, k)
    return np.sort(np.stack([np.repeat(np.arange(len(rows)), k), near.ravel()], axis=1), axis=1)


@torch.no_grad()
def confirm(small: Tensor, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The pairs [P, 2] that are copies, and the correlation of their details. small: [n, S, S]."""
    kept, similarity = [np.empty((0, 2), int)], [np.empty(0)]
    for i in dist.part(len(pairs), BLOCK)[::BLOCK]:
        some = torch.from_numpy(pairs[i : i + BLOCK])
        a, b = small[some[:, 0]], small[some[:, 1]]
        at = overlay(a, b, start(len(a)), COARSE)
        likely = _correlated(a, b, at, COARSE)[0] >= LIKELY
        if not likely.any():
            continue
        a, b, at, some = a[likely], b[likely], at[likely], some[likely]
        for side in (2 * COARSE, SIDE):
            at = overlay(a, b, at, side)
        r, share = _correlated(a, b, at, SIDE, details=True)
        same = (r >= SAME) & (share >= OVERLAP)
        kept.append(some[same].numpy())
        similarity.append(r[same].numpy())
    found = dist.gather_objects((np.concatenate(kept), np.concatenate(similarity)))
    return np.concatenate([rows for rows, _ in found]), np.concatenate([r for _, r in found])


def start(n: int) -> Tensor:
    """No change: scale 1, shift 0. [n, 4]"""
    return torch.tensor([1.0, 1.0, 0.0, 0.0]).repeat(n, 1)


def overlay(a: Tensor, b: Tensor, at: Tensor, side: int) -> Tensor:
    """Improve the scales and shifts at [B, 4] with which pixels of a [B, S, S] are found in b, at this size."""
    a, b = (F.adaptive_avg_pool2d(_standard(one)[:, None], side) for one in (a, b))
    dx = F.pad((b[..., 2:] - b[..., :-2]) * side / 4, (1, 1, 0, 0), mode="replicate")
    dy = F.pad((b[:, :, 2:] - b[:, :, :-2]) * side / 4, (0, 0, 1, 1), mode="replicate")
    planes, ridge = torch.cat([b, dx, dy], dim=1), 1e-6 * torch.eye(6)
    for _ in range(STEPS[side]):
        u, v, where, inside = _grid(at, side)
        value, x, y = F.grid_sample(planes, where, padding_mode="border", align_corners=False).flatten(2).unbind(1)
        # a = gain * (b + dx * step_x + dy * step_y) + offset is linear in gain * step, gain and offset
        columns = torch.stack([x * u, y * v, x, y, value, torch.ones_like(value)], dim=2)  # [B, S S, 6]
        weighted = (columns * inside.flatten(1)[..., None]).mT
        normal = weighted @ columns
        normal = normal + 1e-4 * torch.diag_embed(normal.diagonal(dim1=1, dim2=2)) + ridge
        found = torch.linalg.solve(normal, weighted @ a.flatten(1)[..., None])[..., 0]
        at = at + (found[:, :4] / found[:, 4:5].clamp(0.3, 3)).clamp(-0.1, 0.1)
        at = torch.cat([at[:, :2].clamp(0.7, 1.4), at[:, 2:].clamp(-0.3, 0.3)], dim=1)
    return at


def _standard(a: Tensor) -> Tensor:
    """Images [B, S, S] with mean 0 and standard deviation 1; plain ones stay plain."""
    spread, mean = torch.std_mean(a, dim=(1, 2), keepdim=True)
    return (a - mean) / spread.clamp(min=PLAIN)


def _grid(at: Tensor, side: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Positions u, v [S S] of the pixels of a in [-1, 1], where they lie in b [B, S, S, 2], and whether inside."""
    line = (2 * torch.arange(side) + 1) / side - 1
    v, u = torch.meshgrid(line, line, indexing="ij")
    scale, shift = at[:, None, None, :2], at[:, None, None, 2:]
    where = scale * torch.stack([u, v], dim=2) + shift
    return u.flatten(), v.flatten(), where, (where.abs().amax(dim=3) <= 1).float()


def _correlated(a: Tensor, b: Tensor, at: Tensor, side: int, details: bool = False) -> tuple[Tensor, Tensor]:
    """Correlation [B] of a with b laid over it, where both are, and the fraction of that area."""
    _, _, where, inside = _grid(at, side)
    a, b = (F.adaptive_avg_pool2d(one[:, None], side) for one in (a, b))
    b = F.grid_sample(b, where, padding_mode="border", align_corners=False)
    if details:
        a, b = (one - F.avg_pool2d(one, DETAIL, 1, DETAIL // 2, count_include_pad=False) for one in (a, b))
    n = inside.sum(dim=(1, 2)).clamp(min=1)
    a, b = a[:, 0], b[:, 0]
    a, b = ((one - (one * inside).sum(dim=(1, 2), keepdim=True) / n[:, None, None]) * inside for one in (a, b))
    spread = (a.square().sum(dim=(1, 2)) / n).sqrt() * (b.square().sum(dim=(1, 2)) / n).sqrt()
    r = (a * b).sum(dim=(1, 2)) / n / spread.clamp(min=1e-12)
    return torch.where(spread >= (PLAIN**2 if details else 1e-8), r, 0), n / side**2
