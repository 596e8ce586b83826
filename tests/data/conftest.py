"""Small real files of every format, and the place of the shared data sets."""

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(autouse=True)
def _no_data_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test depends on data sets that happen to lie on the machine."""
    monkeypatch.delenv("C3CLUST_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real subsets of the public data sets, beside the project."""
    place = Path(os.environ.get("C3CLUST_SHARED", Path(__file__).parents[3] / "shared" / "data"))
    if not place.is_dir():
        pytest.skip(f"needs the real data sets: {place} is absent, and C3CLUST_SHARED names no other place")
    return place.resolve()


@pytest.fixture
def picture():
    """picture(width, height, seed): a smooth colour picture, so that JPEG keeps it well."""

    def make(width: int = 20, height: int = 20, seed: int = 0) -> Image.Image:
        corners = np.random.default_rng(seed).integers(0, 256, (2, 2, 3), dtype=np.uint8)
        return Image.fromarray(corners).resize((width, height), Image.Resampling.BILINEAR)

    return make


@pytest.fixture
def encode():
    """encode(image, format, **options): the bytes of the file."""

    def run(image: Image.Image, format: str = "PNG", **options) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, format, **options)
        return buffer.getvalue()

    return run


@pytest.fixture
def photos(tmp_path: Path, picture) -> Path:
    """A folder of three classes, four PNG files each, 20 × 20."""
    folder = tmp_path / "photos"
    for c, name in enumerate(["ant", "bee", "cat"]):
        (folder / name).mkdir(parents=True)
        for i in range(4):
            picture(seed=10 * c + i).save(folder / name / f"{i}.png")
    return folder
