"""Photographs that the tests draw themselves, and copies of them as people have them."""

import io

import numpy as np
import pytest
from PIL import Image


def _drawn(n: int, side: int = 160, seed: int = 0) -> list[Image.Image]:
    """Pictures with structure at all scales: noise that is scaled up and added."""
    rng, pictures = np.random.default_rng(seed), []
    for _ in range(n):
        total = np.zeros((side, side, 3))
        for cells, weight in ((4, 1.0), (9, 0.8), (20, 0.6), (45, 0.4)):
            noise = Image.fromarray(rng.integers(0, 256, (cells, cells, 3), dtype=np.uint8))
            total += weight * np.asarray(noise.resize((side, side), Image.Resampling.BICUBIC))
        pictures.append(Image.fromarray((total / 2.8).astype(np.uint8)))
    return pictures


def _altered(picture: Image.Image, scale: float = 1.0, quality: int = 90, crop: float = 0.0) -> Image.Image:
    """A copy: cropped by a share of each side (unevenly), resized, and compressed."""
    w, h = picture.size
    picture = picture.crop((round(crop * w), round(crop * h / 3), round(w - crop * w / 2), round(h - crop * h)))
    picture = picture.resize((round(picture.width * scale), round(picture.height * scale)), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    picture.save(file, "jpeg", quality=quality)
    return Image.open(io.BytesIO(file.getvalue()))


def _stack(pictures, side: int = 96) -> np.ndarray:
    """uint8 [n, 3, side, side], as files are decoded."""
    small = [np.asarray(p.convert("RGB").resize((side, side), Image.Resampling.BILINEAR)) for p in pictures]
    return np.stack(small).transpose(0, 3, 1, 2).copy()


@pytest.fixture(scope="session")
def pictures():
    return _drawn(30)


@pytest.fixture(scope="session")
def drawn():
    return _drawn


@pytest.fixture(scope="session")
def altered():
    return _altered


@pytest.fixture(scope="session")
def stack():
    return _stack
