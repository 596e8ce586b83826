import io

import numpy as np
import pytest
from PIL import Image

from c3clust.report import sprites


@pytest.mark.parametrize(
    "shape", [(1, 8, 8), (3, 32, 32), (3, 20, 31), (4, 33, 60), (3, 224, 224), (1, 500, 20), (3, 1, 1)]
)
def test_any_shape_of_picture(shape):
    x = np.random.default_rng(0).random((5, *shape)).astype(np.float32)
    how, fits = sprites.plan(x, np.arange(5), 10**7)
    assert fits == 5
    assert max(how.width, how.height) <= 96
    sheet = Image.open(io.BytesIO(sprites.pack(x, np.arange(5), how)[0]))
    assert sheet.width == how.columns * how.cell[0]


def test_without_webp_png_and_jpeg_are_used(monkeypatch):
    monkeypatch.setattr("PIL.features.check", lambda name: False)
    x = np.random.default_rng(0).integers(0, 256, (3, 1, 8, 8), dtype=np.uint8)
    assert sprites.pack(x, np.arange(3), sprites.Plan(8, 8, 0))[0][:4] == b"\x89PNG"
    assert sprites.pack(x, np.arange(3), sprites.Plan(8, 8, 80))[0][:2] == b"\xff\xd8"
