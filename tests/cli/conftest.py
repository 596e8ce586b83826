"""Small pictures, and a finished run on them."""

import numpy as np
import pytest
from PIL import Image

QUICK = ("--method", "c3_adaptive", "--set", "zeta=0.6", "--set", "cc_epochs=1", "--set", "epochs=1")


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """24 small pictures in two class folders: dark and light."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for i in range(24):
        pixels = rng.integers(0, 90, (16, 16, 3)) + (150 if i % 2 else 0)
        path = folder / ("light" if i % 2 else "dark") / f"{i}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    return folder


@pytest.fixture(scope="session")
def run(photos, tmp_path_factory, c3clust_process):
    """A finished run on the photos, by a real process."""
    out = tmp_path_factory.mktemp("runs") / "run"
    done = c3clust_process("fit", photos, "-k", "2", "-o", out, "--labels", "folders", *QUICK)
    assert done.returncode == 0, done.stderr
    return out
