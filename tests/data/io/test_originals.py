"""Random crops from original files: as torchvision makes them, at a reduced scale where that loses nothing."""

import io
import pickle

import numpy as np
import pytest
import torch
from PIL import Image

from c3clust import C3, augment, data
from c3clust.data.io.decode import decode_crops
from c3clust.data.io.originals import Originals
from c3clust.data.io.subset import Subset
from c3clust.training.batch import source_of_views


def fine(width, height, seed=0):
    """A picture with detail in every pixel."""
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(noise)


@pytest.fixture
def folder(tmp_path):
    """Pictures of several sizes and shapes, two classes."""
    for i in range(12):
        place = tmp_path / "pictures" / "ab"[i % 2]
        place.mkdir(parents=True, exist_ok=True)
        fine(60 + 10 * i, 50, i).resize((120 + 20 * i, 100)).save(place / f"{i:02}.jpg", quality=95)
    return tmp_path / "pictures"


def test_a_crop_is_that_of_the_picture_at_its_own_size(encode):
    picture = fine(90, 60)
    boxes = np.array([[5, 10, 30, 40], [0, 0, 60, 90]])
    sizes = []
    crops = decode_crops(encode(picture), lambda h, w: sizes.append((h, w)) or boxes, (16, 24))
    assert (crops.shape, crops.dtype, sizes) == ((2, 3, 16, 24), np.uint8, [(60, 90)])
    for crop, (top, left, h, w) in zip(crops, boxes.tolist(), strict=True):
        expected = picture.crop((left, top, left + w, top + h)).resize((24, 16), Image.Resampling.BILINEAR)
        np.testing.assert_array_equal(crop, np.moveaxis(np.asarray(expected), 2, 0))


def test_boxes_are_those_of_the_upright_picture(encode):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be rotated by 90 degrees clockwise
    upright = fine(8, 8).resize((60, 90), Image.Resampling.BICUBIC)
    turned = encode(upright.transpose(Image.Transpose.ROTATE_90), "JPEG", quality=100, subsampling=0, exif=exif)
    box = np.array([[30, 12, 40, 24]])
    sizes = []
    crop = decode_crops(turned, lambda h, w: sizes.append((h, w)) or box, (40, 24))[0]
    assert sizes == [(90, 60)]
    expected = np.moveaxis(np.asarray(upright.crop((12, 30, 36, 70))), 2, 0).astype(int)
    assert np.abs(crop - expected).mean() < 3


@pytest.mark.parametrize(("share", "scale"), [(1.0, 8), (0.5, 4), (0.2, 1)])
def test_a_jpeg_is_decoded_at_the_smallest_scale_that_loses_nothing(encode, share, scale, monkeypatch):
    simplejpeg = pytest.importorskip("simplejpeg")
    asked, real = [], simplejpeg.decode_jpeg
    monkeypatch.setattr(simplejpeg, "decode_jpeg", lambda *a, **k: asked.append(k["min_height"]) or real(*a, **k))
    jpeg = encode(fine(20, 20).resize((512, 512), Image.Resampling.BICUBIC), "JPEG", quality=95)
    side = int(512 * share)
    crop = decode_crops(jpeg, lambda h, w: np.array([[0, 0, side, side]]), (64, 64))[0]
    assert asked == [512 // scale]
    whole = Image.open(io.BytesIO(jpeg)).crop((0, 0, side, side)).resize((64, 64), Image.Resampling.BILINEAR)
    assert np.abs(crop - np.moveaxis(np.asarray(whole), 2, 0).astype(int)).mean() < 4


def test_originals_index_like_the_pictures_and_crops_follow_from_the_key(folder):
    plain, samples = (data.load(folder, labels="folders", image_size=32, originals=o) for o in (False, True))
    x = samples.x
    assert isinstance(x, Originals)
    np.testing.assert_array_equal(x[:], plain.x)
    policy = augment.policy("photo")
    crops = source_of_views(x, policy, (32, 32), (7, 0, 1))
    assert crops.shape == (12, 2, 3, 32, 32)
    some = crops[np.array([3, 5])]
    np.testing.assert_array_equal(some, crops[:][[3, 5]])  # whatever is read beside them, and in any thread
    assert (some[:, 0] != some[:, 1]).any()
    assert (source_of_views(x, policy, (32, 32), (7, 0, 2))[3] != some[0]).any()  # another epoch
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x))[4], plain.x[4])


def test_a_subset_crops_the_files_of_its_own_samples(folder):
    x, policy = data.load(folder, image_size=32, originals=True).x, augment.policy("photo")
    whole = source_of_views(x, policy, (32, 32), (1,))
    part = source_of_views(Subset(x, np.array([8, 2])), policy, (32, 32), (1,))
    np.testing.assert_array_equal(part[np.array([0, 1])], whole[np.array([8, 2])])
    batches = list(part.prefetch([np.array([1]), np.array([0])]))
    np.testing.assert_array_equal(np.concatenate(batches), whole[np.array([2, 8])])


def test_crops_keep_detail_that_the_squashed_picture_has_lost(folder):
    """A crop of an eighth of the area, of pictures three times as large as the views."""
    x = data.load(folder, image_size=32, originals=True).x
    policy = augment.policy({"policy": "photo", "scale": (0.1, 0.12), "flip": 0, "jitter": 0, "grey": 0})
    ours = source_of_views(x, policy, (32, 32), (0,))[:].reshape(-1, 3, 32, 32) / 255
    squashed = augment.views(policy, torch.from_numpy(x[:]), (32, 32), torch.Generator().manual_seed(0))[0].numpy()
    detail = [np.abs(np.diff(views, axis=3)).mean() for views in (ours, squashed)]
    assert detail[0] > 2 * detail[1]


def test_only_photographs_are_cropped_this_way(folder):
    x = data.load(folder, image_size=32, originals=True).x
    assert source_of_views(x, augment.policy("digit"), (32, 32), (0,)) is x
    plain = data.load(folder, image_size=32).x
    assert source_of_views(plain, augment.policy("photo"), (32, 32), (0,)) is plain


def test_training_on_originals_is_repeatable_and_not_that_of_the_squashed_pictures(folder):
    fits = []
    for originals in (True, True, False):
        samples = data.load(folder, image_size=16, originals=originals)
        model = C3(
            2, backbone="convnet", cc_epochs=1, epochs=1, batch_size=6, cc_batch_size=6,
            random_state=0, augment="photo",
        )  # fmt: skip
        fits.append([stage["curves"]["loss"] for stage in model.fit(samples).stages_])
    assert fits[0] == fits[1]
    assert fits[0] != fits[2]
