"""Each operation against its definition, one image at a time; then what the policies promise."""

import colorsys
import dataclasses
import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from c3clust import augment
from c3clust.augment import colour, geometry
from c3clust.augment.scratch import scratch
from c3clust.data.content import CONTENTS
from c3clust.errors import InputError

TOLERANCE = {"rtol": 0, "atol": 1e-4}
LUMA = torch.tensor([0.2989, 0.587, 0.114])[:, None, None]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def photos(n: int = 6, channels: int = 3, height: int = 20, width: int = 20) -> Tensor:
    x = torch.rand(n, channels, height, width, generator=seeded())
    x[:, :, :2] = x[:, :1, :2]  # two grey rows: no hue, no saturation
    x[:, :, 2, :5] = 0
    x[:, :, 2, 5:10] = 1
    return x


def reference(operation: str, x: Tensor, f: float) -> Tensor:
    """One image [C, h, w], written from the definition."""
    grey = (LUMA * x).sum(0, keepdim=True) if len(x) == 3 else x
    if operation == "brightness_":
        return (f * x).clamp(0, 1)
    if operation == "contrast_":
        return (f * x + (1 - f) * grey.mean((1, 2), keepdim=True)).clamp(0, 1)
    if operation == "saturation_":
        return (f * x + (1 - f) * grey).clamp(0, 1)
    out = torch.empty_like(x)
    for i in range(x.shape[1]):
        for j in range(x.shape[2]):
            h, s, v = colorsys.rgb_to_hsv(*x[:, i, j].tolist())
            out[:, i, j] = torch.tensor(colorsys.hsv_to_rgb((h + f) % 1, s, v))
    return out


def reference_blur(x: Tensor, sigma: float, kernel: int) -> Tensor:
    taps = torch.arange(kernel, dtype=torch.float64) - kernel // 2
    w = torch.exp(-0.5 * (taps / sigma) ** 2)
    window = torch.outer(w, w) / w.sum() ** 2
    half = kernel // 2
    padded = F.pad(x[None].double(), (half, half, half, half), mode="reflect")
    return F.conv2d(padded.transpose(0, 1), window[None, None]).transpose(0, 1)[0].float()


@pytest.mark.parametrize("operation", ["brightness_", "contrast_", "saturation_", "hue_"])
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_colour_operations_equal_their_definitions(operation: str, channels: int) -> None:
    if channels != 3 and operation in ("saturation_", "hue_"):
        pytest.skip("no colour")
    x = photos(channels=channels)
    factors = [-0.5, -0.1, 0.0, 0.07, 1 / 3, 0.5] if operation == "hue_" else [0.0, 0.4, 0.9, 1.0, 1.4, 3.0]
    got = getattr(colour, operation)(x.clone(), torch.tensor(factors))
    want = torch.stack([reference(operation, image, f) for image, f in zip(x, factors, strict=True)])
    torch.testing.assert_close(got, want, **TOLERANCE)


def test_greyscale_takes_only_the_samples_asked_for() -> None:
    x = photos()
    which = torch.tensor([True, False, False, True, False, False])
    got = colour.greyscale_(x.clone(), which)
    want = torch.where(which[:, None, None, None], (LUMA * x).sum(1, keepdim=True), x)
    torch.testing.assert_close(got, want, **TOLERANCE)


@pytest.mark.parametrize(("side", "kernel"), [(20, 3), (40, 23), (130, 13)])
def test_blur_equals_its_definition(side: int, kernel: int) -> None:
    x = photos(5, height=side, width=side + 2)
    sigmas = [0.1, 0.3, 0.8, 1.3, 2.0]
    got = colour.blur_(x.clone(), torch.tensor(sigmas), kernel)
    want = torch.stack([reference_blur(image, sigma, kernel) for image, sigma in zip(x, sigmas, strict=True)])
    torch.testing.assert_close(got, want, **TOLERANCE)


@pytest.mark.parametrize("side", [12, 140])
def test_jitter_keeps_each_samples_own_order(side: int) -> None:
    x = photos(8, height=side, width=12)
    factors = torch.rand(8, 4, generator=seeded()) * torch.tensor([2, 2, 2, 1]) - torch.tensor([0, 0, 0, 0.5])
    order = torch.rand(8, 4, generator=seeded(1)).argsort(1)
    which = torch.tensor([True] * 6 + [False] * 2)
    want = x.clone()
    for i in range(6):
        for k in order[i].tolist():
            want[i] = reference(colour.OPERATIONS[k].__name__, want[i], float(factors[i, k]))
    torch.testing.assert_close(colour.jitter_(x.clone(), factors, order, which), want, **TOLERANCE)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
@pytest.mark.parametrize("size", [(12, 12), (32, 24), (64, 64), (160, 128)])
def test_crop_equals_interpolating_the_crop(size: tuple[int, int], dtype: torch.dtype) -> None:
    x = torch.randint(0, 256, (9, 3, 50, 70), generator=seeded(), dtype=torch.uint8)
    boxes = geometry.draw_boxes(9, 50, 70, (0.02, 1.0), (0.5, 2.0), seeded())
    boxes[0], boxes[1] = torch.tensor([0, 0, 50, 70]), torch.tensor([49, 69, 1, 1])
    flip = torch.arange(9) % 2 == 0
    images = x.float() / 255
    got = geometry.crop_resize(x if dtype == torch.uint8 else images, boxes, flip, size)
    for i, (top, left, h, w) in enumerate(boxes.tolist()):
        crop = images[i : i + 1, :, top : top + h, left : left + w]
        want = F.interpolate(crop, size, mode="bilinear", antialias=True)[0]
        torch.testing.assert_close(got[i], want.flip(-1) if flip[i] else want, **TOLERANCE)


def test_crop_does_the_same_on_either_path(monkeypatch: pytest.MonkeyPatch) -> None:
    x, boxes = photos(9, height=50, width=70), geometry.draw_boxes(9, 50, 70, (0.1, 1.0), (0.5, 2.0), seeded())
    flip = torch.arange(9) % 2 == 0
    monkeypatch.setattr(geometry, "LOOP_PIXELS", 0)
    each = geometry.crop_resize(x, boxes, flip, (30, 40))
    monkeypatch.setattr(geometry, "LOOP_PIXELS", 10**9)
    torch.testing.assert_close(geometry.crop_resize(x, boxes, flip, (30, 40)), each, rtol=0, atol=1e-5)


def test_turned_crop_reads_where_geometry_says() -> None:
    """On a linear ramp bilinear sampling is exact: each pixel tells the place that it was read from."""
    across, down = torch.arange(21.0)[None, :].expand(21, 21), torch.arange(21.0)[:, None].expand(21, 21)
    x = torch.stack([across, down])[None] / 20
    top, left, h, w, angle = 5, 6, 9, 8, torch.tensor(30.0)
    view = geometry.affine_crop(x, torch.tensor([[top, left, h, w]]), angle[None], (7, 7))[0] * 20
    cos, sin = torch.cos(torch.deg2rad(angle)), torch.sin(torch.deg2rad(angle))
    for i in range(7):
        for j in range(7):
            dx, dy = ((j + 0.5) / 7 - 0.5) * w, ((i + 0.5) / 7 - 0.5) * h
            want = torch.stack([left + w / 2 + cos * dx - sin * dy, top + h / 2 + sin * dx + cos * dy]) - 0.5
            # k x k samples average symmetrically about the pixel's centre
            torch.testing.assert_close(view[:, i, j], want, rtol=0, atol=1e-3)


def test_unturned_whole_crop_is_a_plain_resize() -> None:
    x = photos(3, height=8, width=8)
    whole = geometry.full_boxes(3, 8, 8)
    torch.testing.assert_close(geometry.affine_crop(x, whole, torch.zeros(3), (8, 8)), x, **TOLERANCE)
    larger = F.interpolate(x, (16, 16), mode="bilinear")
    torch.testing.assert_close(geometry.affine_crop(x, whole, torch.zeros(3), (16, 16)), larger, **TOLERANCE)


def test_shrinking_with_rotation_does_not_alias() -> None:
    checks = (torch.arange(32)[:, None] + torch.arange(32)[None, :]) % 2
    view = augment.Digit(scale=(1, 1), ratio=(1, 1))(checks[None, None].float(), (8, 8), seeded())
    torch.testing.assert_close(view[..., 2:-2, 2:-2], torch.full((1, 1, 4, 4), 0.5), rtol=0, atol=0.15)


@pytest.mark.parametrize(("height", "width"), [(32, 32), (20, 60), (1, 1), (3, 200)])
def test_boxes_lie_inside(height: int, width: int) -> None:
    top, left, h, w = geometry.draw_boxes(500, height, width, (0.08, 1.0), (3 / 4, 4 / 3), seeded()).unbind(1)
    assert (top >= 0).all()
    assert (left >= 0).all()
    assert (h > 0).all()
    assert (w > 0).all()
    assert (top + h <= height).all()
    assert (left + w <= width).all()
    if height == width == 32:
        share = (h * w) / (height * width)
        assert 0.07 < share.min() < 0.1
        assert share.max() > 0.9
        assert len(torch.unique(top)) > 20


IMAGE_POLICIES = [
    augment.Photo(),
    augment.Photo(blur=1.0, jitter=1.0),
    augment.Photo(jitter=0, grey=0, flip=0),
    augment.Digit(),
    augment.Identity(),
]


@pytest.mark.parametrize("policy", IMAGE_POLICIES)
@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("size", [(8, 8), (24, 20), (128, 96)])
def test_views_are_images(policy: augment.Policy, channels: int, size: tuple[int, int]) -> None:
    x = torch.randint(0, 256, (5, channels, 24, 24), generator=seeded(), dtype=torch.uint8)
    kept = x.clone()
    for view in augment.views(policy, x, size, seeded()):
        assert view.shape == (5, channels, *size)
        assert view.dtype == torch.float32
        assert view.is_contiguous()
        assert view.isfinite().all()
        assert view.min() >= -1e-6
        assert view.max() <= 1 + 1e-6
    assert torch.equal(x, kept)


@pytest.mark.parametrize("policy", IMAGE_POLICIES)
def test_uint8_and_float_give_the_same_views_and_inputs_stay(policy: augment.Policy) -> None:
    x = torch.randint(0, 256, (5, 3, 24, 24), generator=seeded(), dtype=torch.uint8)
    for size in ((24, 24), (100, 100)):
        image = x.float() / 255
        kept = image.clone()
        a, b = policy(x, size, seeded()), policy(image, size, seeded())
        torch.testing.assert_close(a, b, rtol=0, atol=2e-3)  # hue and clipping magnify rounding
        assert torch.equal(image, kept)


def test_seed_decides_and_views_differ() -> None:
    x, policy = photos(4), augment.policy("photo")
    first, again, other = (augment.views(policy, x, (20, 20), seeded(s)) for s in (0, 0, 1))
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])
    assert not torch.equal(first[0], first[1])
    assert not torch.equal(first[0], other[0])


def test_every_sample_has_its_own_parameters() -> None:
    x = photos(1, height=90, width=90).expand(16, -1, -1, -1)
    view = augment.policy("photo")(x, (20, 20), seeded())
    assert len(torch.unique(view.flatten(1), dim=0)) == 16


@pytest.mark.parametrize("side", [32, 128])
def test_probabilities_are_kept(side: int) -> None:
    x = torch.rand(1, 3, 8, 8, generator=seeded()).expand(400, -1, -1, -1)
    policy = augment.Photo(scale=(1, 1), ratio=(1, 1), flip=0.3, jitter=0, grey=0.2)
    view = policy(x, (side, side), seeded())
    plain = augment.prepare(x[:1], (side, side))
    grey = (view[:, 0] - view[:, 1]).abs().amax((1, 2)) < 1e-6
    assert 0.14 < grey.float().mean() < 0.26
    mirrored = (view - plain.flip(-1)).abs().amax((1, 2, 3)) < 1e-5
    same = (view - plain).abs().amax((1, 2, 3)) < 1e-5
    assert 0.23 < mirrored[~grey].float().mean() < 0.37
    assert (mirrored | same | grey).all()


def test_hue_changes_as_far_as_it_says() -> None:
    red = torch.tensor([1.0, 0.0, 0.0])[None, :, None, None].expand(400, 3, 8, 8)
    still = {"scale": (1, 1), "ratio": (1, 1), "flip": 0, "jitter": 1e-6, "jitter_p": 1, "grey": 0}
    for hue, most in ((None, 0.0), (0.1, 0.6), (0.0, 0.0)):  # green grows by six times the change
        green = augment.Photo(**still, hue=hue)(red, (8, 8), seeded())[:, 1].amax()
        assert float(green) == pytest.approx(most, abs=0.02)


def test_none_is_what_evaluation_sees() -> None:
    x = torch.randint(0, 256, (3, 3, 24, 24), generator=seeded(), dtype=torch.uint8)
    assert torch.equal(augment.policy("none")(x, (24, 24), seeded()), x / 255)
    small = F.interpolate(x / 255, (10, 12), mode="bilinear", antialias=True)
    torch.testing.assert_close(augment.prepare(x, (10, 12)), small, **TOLERANCE)
    vectors = torch.randn(4, 5, dtype=torch.float64)
    assert torch.equal(augment.prepare(vectors, None), vectors.float())


def test_vector_adds_noise_and_masks() -> None:
    x = torch.full((2000, 10), 3.0)
    view = augment.Vector(noise=0.5, mask=0.25)(x, None, seeded())
    masked = view == 0
    assert 0.23 < masked.float().mean() < 0.27
    assert abs(view[~masked].mean() - 3) < 0.02
    assert abs(view[~masked].std() - 0.5) < 0.02
    assert torch.equal(augment.Vector(noise=0, mask=0)(x, None, seeded()), x)


TEXT = "one two three four five six seven eight nine ten"


def test_words_are_a_run_without_some() -> None:
    views = augment.Words(keep=(0.5, 0.5), drop=0)([TEXT] * 50, None, seeded())
    assert {len(view.split()) for view in views} == {5}
    assert all(view in TEXT for view in views)
    assert len(set(views)) == 6  # every place where five words in a row can start
    thinned = augment.Words(keep=(1, 1), drop=0.4)([TEXT] * 400, None, seeded())
    assert np.mean([len(view.split()) for view in thinned]) == pytest.approx(6, abs=0.3)
    order = TEXT.split()
    assert all(sorted(view.split(), key=order.index) == view.split() for view in thinned)


def test_short_texts_stay_and_a_word_is_always_left() -> None:
    policy = augment.Words(keep=(0.1, 0.1), drop=0.9)
    assert policy(["too  short text", ""], None, seeded()) == ["too  short text", ""]
    assert all(policy([TEXT] * 50, None, seeded()))


def test_rows_take_values_of_their_own_column() -> None:
    x = torch.stack([torch.arange(1.0, 201), -torch.arange(1.0, 201), torch.full((200,), 0.5)], dim=1)
    view = augment.Rows(resample=1.0, mask=0)(x, None, seeded())
    assert (view[:, 0] > 0).all()
    assert (view[:, 1] < 0).all()
    assert (view[:, 0] != -view[:, 1]).float().mean() > 0.9  # each column is drawn by itself
    assert (view[:, 0] != x[:, 0]).float().mean() > 0.9
    assert torch.equal(augment.Rows(resample=0, mask=0)(x, None, seeded()), x)


def test_rows_hide_and_take_whole_columns() -> None:
    category = torch.eye(3)[torch.arange(3000) % 3]
    x = torch.cat([torch.ones(3000, 1), category], dim=1)
    view = augment.Rows(resample=0.3, mask=0.2, widths=(1, 3))(x, None, seeded())
    assert (view[:, 0] == 0).float().mean() == pytest.approx(0.2, abs=0.03)
    assert set(view[:, 1:].sum(dim=1).tolist()) == {0.0, 1.0}
    assert (view[:, 1:].sum(dim=1) == 0).float().mean() == pytest.approx(0.2, abs=0.03)
    changed = (view[:, 1:] != category).any(dim=1).float().mean()
    assert changed == pytest.approx(0.2 + 0.3 * 2 / 3, abs=0.03)


def test_policies_by_name_mapping_and_function() -> None:
    assert augment.names() == ["digit", "handwriting", "none", "photo", "strong", "table", "vector", "words"]
    assert augment.policy("photo") == augment.Photo()
    assert augment.policy({"policy": "photo", "scale": [0.2, 1], "jitter": 1}) == augment.Photo(
        scale=(0.2, 1), jitter=1
    )
    chosen = augment.Digit(rotation=5)
    assert augment.policy(chosen) is chosen

    def mine(x: Tensor, size: tuple[int, int], generator: torch.Generator) -> Tensor:
        return x

    assert augment.policy(mine) is mine
    assert "mine" in augment.spec(mine)["policy"]


@pytest.mark.parametrize("name", augment.names())
def test_a_record_gives_the_policy_back(name: str) -> None:
    policy = augment.policy(name)
    assert augment.policy(json.loads(json.dumps(augment.spec(policy)))) == policy
    assert dataclasses.is_dataclass(policy)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("foto", "Did you mean photo"),
        ({"policy": "photo", "jiter": 1}, "Did you mean jitter"),
        ({"jitter": 1}, "unknown augmentation policy None"),
        (3, "neither a name"),
        ({"policy": "photo", "jitter": -1}, "jitter=-1 is outside"),
        ({"policy": "photo", "blur": 1.5}, "blur=1.5 is outside"),
        ({"policy": "photo", "blur": "often"}, "blur='often' is outside"),
        ({"policy": "photo", "scale": 0.5}, "scale=0.5 must be two numbers"),
        ({"policy": "photo", "scale": [0, 1]}, r"within \(0, 1\]"),
        ({"policy": "digit", "scale": [0.5, 0.2]}, "in order"),
        ({"policy": "digit", "ratio": [1, float("inf")]}, "ratio"),
        ({"policy": "digit", "rotation": 200}, "rotation=200 is outside"),
        ({"policy": "vector", "noise": float("nan")}, "noise=nan"),
    ],
)
def test_mistakes_get_one_sentence(spec: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        augment.policy(spec)  # type: ignore[arg-type]


def test_wrong_kind_of_input_is_named() -> None:
    with pytest.raises(InputError, match="for vectors use"):
        augment.Photo()(torch.zeros(3, 4), (8, 8), seeded())
    with pytest.raises(InputError, match="use another policy"):
        augment.Vector()(torch.zeros(3, 1, 4, 4), None, seeded())
    with pytest.raises(InputError, match="'table' needs the rows of a table"):
        augment.Rows(widths=(1, 3))(torch.zeros(3, 5), None, seeded())


def test_working_memory_is_kept_and_never_leaves() -> None:
    like = torch.empty(0)
    first = scratch("a", (4, 3), like)
    assert scratch("a", (2, 2), like).data_ptr() == first.data_ptr()
    assert scratch("b", (4, 3), like).data_ptr() != first.data_ptr()
    x = torch.randint(0, 256, (5, 3, 24, 24), generator=seeded(), dtype=torch.uint8)
    for size in ((24, 24), (100, 100)):
        view = augment.Photo()(x, size, seeded())
        kept = view.clone()
        augment.Photo()(x, size, seeded(1))
        assert torch.equal(view, kept)


def test_every_content_has_a_default_policy():
    assert {content: augment.default(content) for content in CONTENTS}.keys() == set(CONTENTS)
    assert {augment.default(content) for content in CONTENTS} <= set(augment.names())
