"""The operations of RandAugment against Pillow's, one image at a time; then what the policy promises."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps

from c3clust import augment, methods
from c3clust.augment import strong
from c3clust.errors import InputError

BYTES = np.random.default_rng(0).integers(20, 200, (3, 12, 10, 3), dtype=np.uint8)
X = torch.from_numpy(BYTES).permute(0, 3, 1, 2) / 255
U = torch.tensor([0.1, 0.5, 0.9])


def factor(u):
    return 0.05 + 0.9 * u


PILLOW = {
    "autocontrast": (lambda image, u: ImageOps.autocontrast(image), 1.01),
    "equalize": (lambda image, u: ImageOps.equalize(image), 0.01),
    "solarize": (lambda image, u: ImageOps.solarize(image, int(np.ceil(255 * u))), 0.01),
    "posterize": (lambda image, u: ImageOps.posterize(image, 4 + int(4 * u)), 0.01),
    "colour": (lambda image, u: ImageEnhance.Color(image).enhance(factor(u)), 1.6),
    "contrast": (lambda image, u: ImageEnhance.Contrast(image).enhance(factor(u)), 1.6),
    "brightness": (lambda image, u: ImageEnhance.Brightness(image).enhance(factor(u)), 1.01),
    "sharpness": (lambda image, u: ImageEnhance.Sharpness(image).enhance(factor(u)), 1.6),
}


@pytest.mark.parametrize("name", PILLOW)
def test_an_operation_is_pillows_up_to_rounding(name):
    reference, bytes_off = PILLOW[name]
    found = getattr(strong, name)(X, U).permute(0, 2, 3, 1).numpy() * 255
    for image, u, mine in zip(BYTES, U.tolist(), found, strict=True):
        np.testing.assert_allclose(mine, np.asarray(reference(Image.fromarray(image), u)), atol=bytes_off)


@pytest.mark.parametrize("name", ["autocontrast", "equalize"])
def test_an_image_of_one_value_is_left_unchanged(name):
    flat = torch.full((1, 1, 4, 4), 0.4)
    assert torch.equal(getattr(strong, name)(flat, U[:1]), flat)


@pytest.mark.parametrize("name", ["rotate", "shear_x", "shear_y", "translate_x", "translate_y"])
def test_a_movement_of_nothing_changes_nothing_and_both_ways_are_opposite(name):
    move = getattr(strong, name)
    assert torch.allclose(move(X, torch.full((3,), 0.5)), X, atol=1e-5)
    back = move(move(X, torch.full((3,), 0.6)), torch.full((3,), 0.4))
    assert (back - X)[:, :, 4:8, 4:6].abs().mean() < (move(X, torch.full((3,), 0.9)) - X)[:, :, 4:8, 4:6].abs().mean()


def test_a_translation_by_a_tenth_moves_by_a_tenth():
    x = torch.zeros(1, 1, 10, 10)
    x[0, 0, 5, 5] = 1
    assert strong.translate_x(x, torch.ones(1))[0, 0].argmax().item() == 54
    assert strong.translate_y(x, torch.ones(1))[0, 0].argmax().item() == 45


def test_the_square_has_the_side_that_was_asked_for():
    view = augment.policy({"policy": "strong", "operations": 0, "scale": (1.0, 1.0), "ratio": (1.0, 1.0), "flip": 0.0})
    x = torch.ones(200, 1, 16, 16)
    holes = (view(x, (16, 16), torch.Generator().manual_seed(0)) == 0).sum(dim=(1, 2, 3))
    assert holes.max() == 64
    assert holes.min() >= 16


def test_views_are_those_of_the_seed_in_range_and_differ_by_sample():
    policy = augment.policy("strong")
    x = torch.rand(40, 3, 16, 16, generator=torch.Generator().manual_seed(1)).mul(255).byte()
    one, two = (policy(x, (12, 12), torch.Generator().manual_seed(5)) for _ in range(2))
    assert torch.equal(one, two)
    assert one.shape == (40, 3, 12, 12)
    assert one.min() >= 0
    assert one.max() <= 1
    same = policy(x[:1].repeat(40, 1, 1, 1), (12, 12), torch.Generator().manual_seed(5))
    assert len(same.flatten(1).unique(dim=0)) > 35
    assert augment.policy(augment.spec(policy)) == policy


def test_vectors_are_refused():
    with pytest.raises(InputError, match="needs images"):
        augment.policy("strong")(torch.zeros(2, 4), (4,), torch.Generator())


def test_a_weak_and_a_strong_view_in_one_step():
    x, dark = torch.rand(4, 1, 8, 8), lambda x, size, generator: torch.zeros(len(x), 1, *size)
    x_a, x_b = augment.views(augment.WeakStrong(augment.policy("none"), dark), x, (8, 8), torch.Generator())
    assert torch.equal(x_a, x)
    assert x_b.abs().sum() == 0


@pytest.mark.parametrize("method", ["tcl", "spice"])
def test_methods_with_strong_views_call_both_policies(method):
    seen = []

    def own_views(x, size, generator):
        seen.append(len(x))
        return augment.prepare(x, size)

    x = np.random.default_rng(0).random((24, 8, 8))
    own = methods.load(method)
    plain, model = (own(3, pretrain_epochs=1, epochs=1, random_state=0, strong=s).fit(x) for s in (None, own_views))
    assert seen
    assert [stage["name"] for stage in plain.stages_] == [stage["name"] for stage in model.stages_]
    assert plain.stages_[1]["curves"]["loss"] != model.stages_[1]["curves"]["loss"]
