"""Views of handwriting: their shape changes, their range does not."""

import pytest
import torch

from c3clust import augment
from c3clust.errors import InputError


def pictures(n=6, side=20):
    x = torch.zeros(n, 1, side, side, dtype=torch.uint8)
    x[:, :, 4:16, 9:11] = 255  # a stroke
    return x


def view(policy, x, size=(20, 20), seed=0):
    return policy(x, size, torch.Generator().manual_seed(seed))


def test_views_stay_in_range_and_differ_from_sample_to_sample():
    found = view(augment.Handwriting(), pictures())
    assert found.shape == (6, 1, 20, 20)
    assert found.min() >= 0
    assert found.max() <= 1
    assert not torch.equal(found[0], found[1])
    assert torch.equal(found, view(augment.Handwriting(), pictures()))


def test_bytes_and_floats_give_the_same_views():
    x = pictures()
    torch.testing.assert_close(view(augment.Handwriting(), x), view(augment.Handwriting(), x.float() / 255))


def test_without_changes_the_view_is_the_picture():
    still = augment.Handwriting(rotation=0, shear=0, stretch=0, shift=0, stroke=0)
    torch.testing.assert_close(view(still, pictures()), pictures() / 255, atol=1e-4, rtol=0)
    assert view(still, pictures(), size=(10, 10)).shape == (6, 1, 10, 10)


def test_the_pen_gets_thicker_and_thinner():
    pen = augment.Handwriting(rotation=0, shear=0, stretch=0, shift=0, stroke=1)
    ink = view(pen, pictures(50)).sum(dim=(1, 2, 3))
    plain = pictures(1).float().sum() / 255
    assert ink.min() < 0.9 * plain < 1.1 * plain < ink.max()


@pytest.mark.parametrize("change", [{"rotation": -1}, {"stroke": 2}, {"shift": float("nan")}])
def test_bad_values_are_refused(change):
    with pytest.raises(InputError, match="largest change of a view"):
        augment.Handwriting(**change)
