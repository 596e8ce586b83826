"""All colours as one matrix per sample: equal to the steps where nothing is clipped, and a rotation of the hue."""

import itertools

import pytest
import torch
from torch import Tensor

from c3clust import augment
from c3clust.augment import colour, colour_matrix, geometry
from c3clust.errors import InputError

LUMA = torch.tensor(colour.LUMA)[:, None, None]
NONE = torch.zeros(24, dtype=torch.bool)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def muted(n: int = 24, channels: int = 3) -> Tensor:
    """Pictures of middle colours, which moderate changes leave within [0, 1]."""
    return 0.4 + 0.2 * torch.rand(n, channels, 9, 7, generator=seeded())


def moderate(n: int = 24) -> Tensor:
    """Factors of brightness, contrast and saturation around 1, and no shift of the hue."""
    factors = 0.6 + 0.8 * torch.rand(n, 4, generator=seeded(1))
    factors[:, 3] = 0
    return factors


def adjusted(x: Tensor, factors: Tensor, grey: Tensor | None = None) -> Tensor:
    grey = torch.zeros(len(x), dtype=torch.bool) if grey is None else grey
    return colour_matrix.adjust(x, factors, grey, torch.empty_like(x))


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_equal_to_the_steps_in_any_order_where_nothing_is_clipped(order: tuple[int, ...]) -> None:
    x, factors, all_of_them = muted(), moderate(), torch.ones(24, dtype=torch.bool)
    want = colour.jitter_(x.clone(), factors, torch.tensor([order]).expand(24, 4), all_of_them)
    assert want.min() > 0
    assert want.max() < 1
    torch.testing.assert_close(adjusted(x, factors), want, rtol=0, atol=1e-5)


def test_grey_is_the_grey_of_the_steps() -> None:
    x, factors, grey = muted(), moderate(), torch.arange(24) % 3 == 0
    want = colour.jitter_(x.clone(), factors, torch.arange(4).expand(24, 4), ~NONE)
    torch.testing.assert_close(adjusted(x, factors, grey), colour.greyscale_(want, grey), rtol=0, atol=1e-5)
    shifted = factors + torch.tensor([0, 0, 0, 0.2])  # grey has no hue
    torch.testing.assert_close(adjusted(x, shifted, ~NONE), adjusted(x, factors, ~NONE), rtol=0, atol=1e-5)


@pytest.mark.parametrize("channels", [1, 2, 4])
def test_without_colour_only_brightness_and_contrast_change(channels: int) -> None:
    x, factors = muted(channels=channels), moderate()
    want = colour.contrast_(colour.brightness_(x.clone(), factors[:, 0]), factors[:, 1])
    torch.testing.assert_close(adjusted(x, factors), want, rtol=0, atol=1e-5)


@pytest.mark.parametrize("turns", [0.0, 1.0, -1.0])
def test_a_full_circle_is_the_identity(turns: float) -> None:
    x = torch.rand(6, 3, 9, 7, generator=seeded())
    factors = torch.tensor([1.0, 1.0, 1.0, turns]).expand(6, 4)
    torch.testing.assert_close(adjusted(x, factors), x, rtol=0, atol=1e-5)


def shift_hue(x: Tensor, shift: Tensor) -> Tensor:
    return adjusted(x, torch.tensor([1.0, 1.0, 1.0, 0.0]) + torch.tensor([0, 0, 0, 1.0]) * shift[:, None])


def chroma(x: Tensor) -> Tensor:
    """Length of (U, V) per pixel; the luma is that of a grey pixel, for which it is 0."""
    luma = (LUMA * x).sum(1) / LUMA.sum()
    return torch.hypot(0.492 * (x[:, 2] - luma), 0.877 * (x[:, 0] - luma))


def test_the_hue_keeps_luma_and_chroma() -> None:
    x, shift = muted(), torch.linspace(-0.5, 0.5, 24)
    turned = shift_hue(x, shift)
    torch.testing.assert_close((LUMA * turned).sum(1), (LUMA * x).sum(1), rtol=0, atol=1e-5)
    torch.testing.assert_close(chroma(turned), chroma(x), rtol=0, atol=1e-5)
    assert (turned - x).abs().amax((1, 2, 3))[[0, -1]].min() > 0.05


def test_two_shifts_add_up_and_go_from_red_towards_green() -> None:
    x = muted()
    shift = torch.linspace(-0.3, 0.3, 24)
    twice = shift_hue(shift_hue(x, shift / 2), shift / 2)
    torch.testing.assert_close(twice, shift_hue(x, shift), rtol=0, atol=1e-5)
    red = torch.tensor([0.6, 0.4, 0.4]).view(1, 3, 1, 1)
    for third, peak in ((1 / 3, 1), (2 / 3, 2)):
        assert shift_hue(red, torch.tensor([third])).flatten().argmax() == peak
        assert colour.hue_(red.clone(), torch.tensor([third])).flatten().argmax() == peak


def test_what_is_out_of_range_is_clipped_once() -> None:
    x = torch.rand(6, 3, 9, 7, generator=seeded())
    factors = torch.tensor([2.5, 0.1, 1.0, 0.0]).expand(6, 4)  # white in between, if it were clipped
    view = adjusted(x, factors)
    assert view.min() >= 0
    assert view.max() <= 1
    mean = (LUMA * x.mean((2, 3), keepdim=True)).sum(1, keepdim=True)
    torch.testing.assert_close(view, (2.5 * (0.1 * x + 0.9 * mean)).clamp(0, 1), rtol=0, atol=1e-5)


POLICY = augment.Photo(colour="matrix")


@pytest.mark.parametrize(("n", "side"), [(1, 32), (1, 100), (2, 1), (3, 8), (300, 32), (30, 100)])
def test_no_view_depends_on_the_rest_of_its_batch(n: int, side: int) -> None:
    x = torch.randint(0, 256, (n, 3, 20, 30), generator=seeded(), dtype=torch.uint8)
    strong = augment.Photo(colour="matrix", jitter=2.5, blur=0.5)
    for policy in (POLICY, strong):
        view = policy(x, (side, side), seeded())
        assert view.isfinite().all()
        assert view.min() >= 0
        assert view.max() <= 1 + 1e-6
        last = policy(torch.cat([torch.zeros_like(x[:-1]), x[-1:]]), (side, side), seeded())[-1]
        torch.testing.assert_close(view[-1], last, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [(30, 30), (40, 36), (12, 12), (100, 100)])
def test_both_ways_draw_the_same_random_numbers(size: tuple[int, int]) -> None:
    """Views are equal where no hue is moved: of grey pictures, and of coloured ones without jitter."""
    coloured = (100 + 40 * torch.rand(40, 3, 30, 30, generator=seeded())).to(torch.uint8)
    for x, jitter in ((coloured[:, :1].expand_as(coloured), 0.2), (coloured, 0.0)):
        a, b = seeded(), seeded()
        by_matrix = augment.Photo(colour="matrix", jitter=jitter, blur=0.3)(x, size, a)
        by_steps = augment.Photo(colour="steps", jitter=jitter, blur=0.3)(x, size, b)
        torch.testing.assert_close(by_matrix, by_steps, rtol=0, atol=2e-4)
        assert torch.equal(torch.rand(3, generator=a), torch.rand(3, generator=b))


@pytest.mark.parametrize("size", [(20, 30), (33, 40), (64, 50), (120, 120), (10, 40), (40, 10)])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_blended_rows_are_the_resized_crop(size: tuple[int, int], dtype: torch.dtype) -> None:
    x = torch.randint(0, 256, (9, 3, 20, 30), generator=seeded(), dtype=torch.uint8)
    x = x if dtype == torch.uint8 else x.float() / 255
    boxes = geometry.draw_boxes(9, 20, 30, (0.02, 1.0), (0.5, 2.0), seeded())
    boxes[0], boxes[1] = torch.tensor([0, 0, 20, 30]), torch.tensor([19, 29, 1, 1])
    flip = torch.arange(9) % 2 == 0
    want = geometry.crop_resize(x, boxes, flip, size)
    for source in (x, x.contiguous(memory_format=torch.channels_last)):
        got = geometry.crop_resize_by_taps(source, boxes, flip, size)
        torch.testing.assert_close(got, want, rtol=0, atol=1e-5)


def test_inputs_and_earlier_views_stay() -> None:
    x = torch.rand(5, 3, 24, 24, generator=seeded())
    kept = x.clone()
    first = POLICY(x, (24, 24), seeded())
    again = first.clone()
    POLICY(x, (24, 24), seeded(1))
    assert torch.equal(x, kept)
    assert torch.equal(first, again)


def test_a_wrong_word_is_told() -> None:
    with pytest.raises(InputError, match="colour='hsv' is none of steps, matrix"):
        augment.Photo(colour="hsv")  # type: ignore[arg-type]
