import numpy as np
from sklearn.datasets import load_digits

from c3clust import data


def test_the_digits_are_scikit_learns_stretched_to_bytes():
    images, raw = data.load("digits"), load_digits()
    assert images.x.shape == (1797, 1, 8, 8)
    assert images.x.dtype == np.uint8
    np.testing.assert_allclose(images.x[:, 0] / 255, raw.images / 16, atol=0.5 / 255)
    np.testing.assert_array_equal(images.y, raw.target)
    assert images.content == "handwriting"
    assert len(set(images.names)) == len(images)
