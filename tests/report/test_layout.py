import numpy as np
import pytest

from c3clust.report.layout import layout


@pytest.mark.parametrize("n", [1, 2, 3, 5, 11, 12, 13, 40])
def test_maps_of_few_points(n):
    xy, _ = layout(np.random.default_rng(0).normal(size=(n, 6)))
    assert xy.shape == (n, 2)
    assert np.abs(xy).max() <= 1 + 1e-6


@pytest.mark.parametrize("width", [1, 2, 7])
def test_maps_of_a_collapsed_space(width):
    same, _ = layout(np.ones((50, width)))
    assert len(np.unique(same, axis=0)) == 50
    twice = np.repeat(np.random.default_rng(0).normal(size=(20, width)), 2, axis=0)
    assert np.isfinite(layout(twice)[0]).all()


def test_the_same_seed_gives_the_same_map():
    z = np.random.default_rng(0).normal(size=(60, 5))
    np.testing.assert_array_equal(layout(z, 3)[0], layout(z, 3)[0])
