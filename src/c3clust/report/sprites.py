"""Sprite sheets: many thumbnails in a few image files.

Images of at most 32 px keep their size and, if the budget allows, are stored without loss; larger ones are scaled
down. One budget in bytes bounds all sheets together: `plan` finds the best size and quality that fit, from a trial.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from c3clust.errors import InputError

__all__ = ["Plan", "as_pictures", "pack", "plan"]

SMALL = 32  # px: images up to this size are not scaled
SHEET = 1024  # px: the longest side of a sheet
BLOCK = 16  # px: lossy coders work in blocks; cells on this grid do not bleed into each other
CHUNK = 256  # images in memory at once
MARGIN = 1.15  # the trial may compress better than the rest


@dataclass(frozen=True)
class Plan:
    """How thumbnails are stored: their size, the size of their cell on a sheet, and the coder (quality 0: lossless)."""

    width: int
    height: int
    quality: int

    @property
    def cell(self) -> tuple[int, int]:
        """Width and height of a cell on the sheet."""
        if not self.quality:
            return self.width, self.height
        return -(-self.width // BLOCK) * BLOCK, -(-self.height // BLOCK) * BLOCK

    @property
    def columns(self) -> int:
        return max(1, SHEET // self.cell[0])

    @property
    def rows(self) -> int:
        return max(1, SHEET // self.cell[1])

    @property
    def mime(self) -> str:
        from PIL import features

        if features.check("webp"):
            return "image/webp"
        return "image/jpeg" if self.quality else "image/png"


def as_pictures(x: Any) -> np.ndarray:
    """[m, C, H, W] uint8, or float in [0, 1], to [m, H, W] (grey) or [m, H, W, 3] uint8.

    >>> as_pictures(np.ones((2, 1, 4, 5))).shape
    (2, 4, 5)
    """
    x = np.asarray(x)
    if x.ndim != 4 or x.shape[1] not in (1, 2, 3, 4):
        raise InputError(f"shape {x.shape} is not a stack of images: [n, C, H, W] with C = 1, 3 or 4 is required.")
    if x.dtype != np.uint8:
        x = np.nan_to_num(np.asarray(x, dtype=np.float32))
        x = np.rint(np.clip(x, 0, 1) * 255).astype(np.uint8)
    return x[:, 0] if x.shape[1] < 3 else np.ascontiguousarray(x[:, :3].transpose(0, 2, 3, 1))


def plan(x: Any, index: np.ndarray, budget: int) -> tuple[Plan, int]:
    """The finest plan whose sheets fit the budget, and how many of `index` fit (all, except in the coarsest plan)."""
    height, width = x.shape[2:]
    trial = as_pictures(x[index[np.linspace(0, len(index) - 1, min(len(index), 64)).astype(int)]])
    fits = 0
    for option in _options(width, height):
        cost = sum(map(len, _sheets(option, iter([trial])))) / len(trial)
        fits = int(budget / (MARGIN * cost))
        if fits >= len(index):
            return option, len(index)
    return option, max(1, fits)


def _options(width: int, height: int) -> list[Plan]:
    longest = max(width, height)
    if longest <= SMALL:
        return [Plan(width, height, quality) for quality in (0, 90, 75, 50)]
    sides = [(96, 80), (80, 75), (64, 75), (64, 60), (48, 60), (48, 40)]
    scales = [(min(1.0, side / longest), quality) for side, quality in sides]
    return [Plan(max(1, round(width * s)), max(1, round(height * s)), quality) for s, quality in scales]


def pack(x: Any, index: np.ndarray, how: Plan) -> list[bytes]:
    """The sheets of x[index] in that order, row by row. x is read in chunks."""
    chunks = (as_pictures(x[index[i : i + CHUNK]]) for i in range(0, len(index), CHUNK))
    return list(_sheets(how, chunks))


def _sheets(how: Plan, chunks: Iterator[np.ndarray]) -> Iterator[bytes]:
    tiles: list[np.ndarray] = []
    for chunk in chunks:
        tiles.extend(_tile(picture, how) for picture in chunk)
        while len(tiles) >= how.columns * how.rows:
            yield _encode(tiles[: how.columns * how.rows], how)
            del tiles[: how.columns * how.rows]
    if tiles:
        yield _encode(tiles, how)


def _tile(picture: np.ndarray, how: Plan) -> np.ndarray:
    if picture.shape[:2] != (how.height, how.width):
        from PIL import Image

        image = Image.fromarray(picture)
        picture = np.asarray(image.resize((how.width, how.height), Image.Resampling.LANCZOS, reducing_gap=3.0))
    width, height = how.cell
    edges = [(0, height - how.height), (0, width - how.width)] + [(0, 0)] * (picture.ndim - 2)
    return np.pad(picture, edges, mode="edge")


def _encode(tiles: list[np.ndarray], how: Plan) -> bytes:
    from PIL import Image

    columns = min(how.columns, len(tiles))
    rows = -(-len(tiles) // columns)
    width, height = how.cell
    sheet = np.zeros((rows * height, how.columns * width, *tiles[0].shape[2:]), dtype=np.uint8)
    for i, tile in enumerate(tiles):
        top, left = i // how.columns * height, i % how.columns * width
        sheet[top : top + height, left : left + width] = tile
    out = io.BytesIO()
    kind = how.mime.removeprefix("image/")
    if kind == "webp" and not how.quality:
        Image.fromarray(sheet).save(out, kind, lossless=True, quality=60, method=2)
    elif kind == "png":
        Image.fromarray(sheet).save(out, kind)
    else:
        Image.fromarray(sheet).save(out, kind, quality=how.quality, **({"method": 4} if kind == "webp" else {}))
    return out.getvalue()
