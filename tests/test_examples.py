"""The examples run, on tiny budgets."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(script: str, *arguments) -> str:
    command = [sys.executable, "-W", "error", str(EXAMPLES / script), *map(str, arguments)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # on a busy machine threads wait for each other, at full load
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=one_thread)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_photos(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i, picture in enumerate(np.random.default_rng(0).integers(0, 256, (24, 8, 8, 3), dtype=np.uint8)):
        Image.fromarray(picture).save(folder / f"{i}.png")
    printed = run("photos.py", folder, "--clusters", 2, "--out", tmp_path / "run")
    assert "24 images in 2 clusters by C3Adaptive" in printed
    assert (tmp_path / "run" / "report.html").stat().st_size > 50_000
    assert len(list((tmp_path / "run" / "sorted").rglob("*.png"))) == 24


def test_vectors():
    assert "Consensus: accuracy" in run("vectors.py")


def test_own_loop():
    assert "stage 2: loss -" in run("own_loop.py", "--steps", 8)
