"""Features are computed once, kept, and made anew only where they have to be."""

import json

import numpy as np
import pytest
import torch
from torch import nn

from c3clust import augment, data, encoders
from c3clust.errors import InputError

CROP = {"policy": "digit", "scale": (0.3, 0.6)}


class Counting(nn.Module):
    """Means over a grid; counts the pictures it has seen."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
        self.seen = 0

    def forward(self, x):
        self.seen += len(x)
        return self.scale * nn.functional.adaptive_avg_pool2d(x, 2)


@pytest.fixture
def images():
    return data.load(np.random.default_rng(0).integers(0, 256, (20, 3, 12, 12), dtype=np.uint8))


def made(images, folder, views=2, module=None, policy=CROP, seed=0):
    """The features, and how many pictures the module saw for them."""
    module = module or Counting()
    encoder = encoders.load(module)
    encoder.validate(images)
    assert encoder.width == 12
    module.seen = 0
    return encoders.features(encoder, images, augment.policy(policy), views, folder=folder, seed=seed), module.seen


def test_the_first_view_is_the_sample_itself(images, tmp_path):
    found, seen = made(images, tmp_path)
    assert seen == 60
    expected = nn.functional.adaptive_avg_pool2d(torch.from_numpy(images.x) / 255, 2).flatten(1)
    np.testing.assert_allclose(found.x[:], expected, rtol=1e-5)
    assert found.x.shape == (20, 12)
    views = found.x.views[np.array([3, 5])]
    assert views.shape == (2, 3, 12)
    np.testing.assert_array_equal(views[:, 0], found.x[np.array([3, 5])])
    assert np.abs(views[:, 1] - views[:, 2]).max() > 0.01


def test_what_is_there_is_not_computed_again(images, tmp_path):
    first, _ = made(images, tmp_path, views=1)
    again, seen = made(images, tmp_path, views=1)
    assert seen == 0
    more, seen = made(images, tmp_path, views=3)
    assert seen == 40  # two more views
    np.testing.assert_array_equal(more.x.views[:][:, :2], first.x.views[:])
    np.testing.assert_array_equal(again.x.views[:], first.x.views[:])
    _, seen = made(images, tmp_path, views=0)  # as k-means asks
    assert seen == 0


@pytest.mark.parametrize("change", ["data", "weights", "policy", "seed", "size"])
def test_what_decides_the_features_decides_the_file(images, tmp_path, change):
    made(images, tmp_path)
    module = Counting()
    if change == "data":
        x = images.x.copy()
        x[7, 0, 3, 3] ^= 1
        images = data.load(x)
    if change == "weights":
        nn.init.constant_(module.scale, 2.0)
    if change == "size":
        images = data.load(images.x[:, :, :10])
    policy = {**CROP, "rotation": 3} if change == "policy" else CROP
    _, seen = made(images, tmp_path, module=module, policy=policy, seed=int(change == "seed"))
    assert seen == {"policy": 40, "seed": 40}.get(change, 60)


def damage(path, how):
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    elif how == "bit":
        content = bytearray(path.read_bytes())
        content[-5] ^= 1
        path.write_bytes(content)
    elif how == "info":
        path.with_suffix(".json").write_text("{")
    else:
        path.with_suffix(".json").unlink()


@pytest.mark.parametrize("how", ["cut", "bit", "info", "alone"])
def test_a_damaged_file_is_made_anew(images, tmp_path, how):
    before, _ = made(images, tmp_path)
    expected = before.x.views[:]
    del before
    damage(sorted(tmp_path.glob("*.npy"))[0], how)
    after, seen = made(images, tmp_path)
    assert seen == 20
    np.testing.assert_array_equal(after.x.views[:], expected)
    assert not list(tmp_path.glob(".writing-*"))


def test_a_failure_leaves_nothing_half_done(images, tmp_path):
    class Failing(Counting):
        def forward(self, x):
            if self.seen >= 30:
                raise KeyboardInterrupt
            return super().forward(x)

    module = Failing()
    encoder = encoders.load(module).resize_to(12)
    encoder.size, encoder.shape = None, (3, 12, 12)
    assert encoder.width == 12
    with pytest.raises(KeyboardInterrupt):
        encoders.features(encoder, images, augment.policy(CROP), 2, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_function_of_ones_own_is_not_kept(images, tmp_path):
    encoder = encoders.load(Counting())
    found = encoders.features(encoder, images, lambda x, size, generator: augment.prepare(x, size), 1, folder=tmp_path)
    assert found.x.views.shape == (20, 2, 12)
    assert list(tmp_path.iterdir()) == []


def test_memory_is_bounded_by_the_batch(tmp_path):
    module = Counting()
    sizes = []
    module.register_forward_pre_hook(lambda m, x: sizes.append(len(x[0])))
    images = data.load(np.zeros((700, 1, 8, 8), np.uint8))
    encoder = encoders.load(module)
    encoders.features(encoder, images, None, 0, folder=tmp_path)
    assert max(sizes) <= 256
    assert encoder.resize_to(512).batch == 8


def test_lazy_features_are_the_stored_ones(images):
    encoder = encoders.load(Counting())
    lazy = encoders.lazy_features(encoder, images).x
    whole = encoders.features(encoder, images).x[:]
    np.testing.assert_array_equal(lazy[np.array([4, 2])], whole[[4, 2]])
    np.testing.assert_array_equal(lazy[5:9], whole[5:9])
    assert lazy.shape == (20, 12)


def test_vectors_are_refused():
    with pytest.raises(InputError, match="takes images"):
        encoders.features(encoders.load(Counting()), data.load(np.zeros((9, 4))))


def test_the_info_names_a_hash(images, tmp_path):
    made(images, tmp_path, views=0)
    (info,) = tmp_path.glob("*.json")
    assert len(json.loads(info.read_text())["sha256"]) == 64
