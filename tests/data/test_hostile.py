"""Data files from strangers: each is read, or one sentence says why not; no waiting, no memory out of proportion."""

import os

import numpy as np
import pytest
from PIL import Image

from c3clust import data


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(4):
        Image.new("L", (8, 8), 60 * i).save(folder / f"{i}.png")
    return folder


# Pipes and devices


def test_pipes_are_not_waited_for(photos, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (photos / "link.png").symlink_to(tmp_path / "pipe")
    (photos / "zero.png").symlink_to("/dev/zero")
    os.mkfifo(photos / "own.png")
    samples = data.load(photos, max_bad=0.5)
    assert len(samples) == 4
    assert dict(samples.skipped) == {"link.png": "not a regular file", "zero.png": "not a regular file"}


def test_pipes_in_a_list(photos, tmp_path):
    os.mkfifo(photos / "pipe.png")
    listed = photos / "list.csv"
    listed.write_text("path\n0.png\n1.png\npipe.png\n")
    assert dict(data.load(listed, max_bad=0.5).skipped) == {"pipe.png": "not a regular file"}


def test_a_link_to_a_picture_is_followed(photos, tmp_path):
    (photos / "link.png").symlink_to(photos / "0.png")
    x = data.load(photos).x
    np.testing.assert_array_equal(x[0], x[-1])
