"""What images show, found from their pixels."""

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits, load_sample_image

from c3clust import data
from c3clust.data.content import find, looked_at
from c3clust.errors import InputError

DIGITS = np.rint(load_digits().images[:120] * (255 / 16)).astype(np.uint8)


def resized(x, side):
    return np.stack([np.asarray(Image.fromarray(each).resize((side, side), Image.Resampling.BILINEAR)) for each in x])


def patches(side=28):
    """Parts of a grey photograph."""
    whole = np.asarray(Image.fromarray(load_sample_image("china.jpg")).convert("L"))
    return np.stack([whole[i : i + side, j : j + side] for i in range(0, 390, 60) for j in range(0, 600, 60)])


def save(folder, pictures, ending="png", mode="L"):
    folder.mkdir()
    for i, picture in enumerate(pictures):
        Image.fromarray(picture).convert(mode).save(folder / f"{i:03d}.{ending}")
    return folder


@pytest.mark.parametrize("side", [8, 16, 28, 32])
@pytest.mark.parametrize("inverted", [False, True])
def test_handwriting_of_any_small_size_in_light_or_dark_ink(side, inverted):
    x = resized(DIGITS, side)
    assert data.load(255 - x if inverted else x).content == "handwriting"


def test_paper_with_noise_that_is_not_white_is_blank():
    noise = np.random.default_rng(0).normal(0, 5, DIGITS.shape)
    assert data.load(np.clip(230 - 0.8 * DIGITS + noise, 0, 255).astype(np.uint8)).content == "handwriting"


def test_grey_photographs_are_photographs():
    x = patches().astype(float)
    assert data.load(x / 255).content == "photograph"
    contrast = (x - x.mean((1, 2), keepdims=True)) / x.std((1, 2), keepdims=True)
    assert data.load(np.clip(40 * contrast + 128, 0, 255).astype(np.uint8)).content == "photograph"
    assert data.load(np.random.default_rng(0).random((50, 16, 16))).content == "photograph"


def test_small_grey_pictures_of_varying_brightness_are_photographs():
    brightness = np.linspace(0.3, 1, len(DIGITS))[:, None, None]
    assert data.load(DIGITS / 255 * brightness).content == "photograph"
    assert data.load(1 - DIGITS / 255 * brightness).content == "photograph"


def test_three_equal_channels_are_grey_and_colours_are_not():
    grey = np.repeat(DIGITS[..., None], 3, axis=3)
    assert data.load(grey).content == "handwriting"
    assert data.load(grey * np.array([1, 0, 0], np.uint8)).content == "photograph"


def test_images_without_ink_count_as_handwriting():
    assert data.load(np.zeros((3, 12, 12))).content == "handwriting"


def test_larger_line_drawings_are_photographs_also_where_files_are_reduced(tmp_path):
    x = resized(DIGITS[:30], 200)
    assert data.load(x).content == "photograph"
    read = data.load(save(tmp_path / "large", x))
    assert (read.x.shape[2], read.content) == (64, "photograph")
    assert data.load(tmp_path / "large", image_size=16).content == "photograph"


def test_the_size_that_images_are_decoded_to_does_not_matter(tmp_path):
    read = data.load(save(tmp_path / "small", DIGITS[:30]), image_size=100)
    assert (read.x.shape[2], read.content) == (100, "handwriting")


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_jpeg_files_show_the_same(tmp_path, mode):
    assert data.load(save(tmp_path / "jpeg", resized(DIGITS[:60], 24), "jpg", mode)).content == "handwriting"


def test_streams_are_looked_at_in_part(tmp_path):
    folder = save(tmp_path / "files", DIGITS)
    stream = data.load(folder, memory=1)
    assert isinstance(stream.x, data.io.stream.Stream)
    assert stream.content == data.load(folder).content == "handwriting"
    assert data.load(folder, cache=tmp_path / "cache").content == "handwriting"


def test_a_fixed_number_of_images_is_looked_at():
    class Counted(np.ndarray):
        def __getitem__(self, index):
            assert len(index) == 256
            return np.asarray(super().__getitem__(index))

    assert find(np.zeros((5000, 1, 8, 8), np.uint8).view(Counted)) == "handwriting"
    assert looked_at(5000)[[0, -1]].tolist() == [0, 4999]


def test_features_are_vectors_whatever_they_were_made_of():
    assert data.load(["a fox", "a wolf"]).to_samples(np.zeros((2, 4))).content == "vector"


def test_the_content_can_be_set(tmp_path):
    assert data.load(DIGITS, content="photograph").content == "photograph"
    assert data.load(data.load(DIGITS), content="photograph").content == "photograph"
    assert data.load(save(tmp_path / "x", patches()[:9]), content="handwriting").content == "handwriting"


def test_a_content_that_cannot_be_is_refused():
    with pytest.raises(InputError, match=r"content='photo' is unknown. Did you mean photograph\?"):
        data.load(DIGITS, content="photo")
    with pytest.raises(InputError, match="content='handwriting' describes images, and array has none: omit it"):
        data.load(np.zeros((4, 3)), content="handwriting")
