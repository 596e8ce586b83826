"""The Sobel filter against its definition, and networks that begin with it."""

import numpy as np
import pytest
import torch
from scipy import ndimage
from sklearn.datasets import load_digits

import c3clust
from c3clust.errors import InputError
from c3clust.methods.iic import IIC
from c3clust.methods.pica import PICA
from c3clust.networks.sobel import Sobel


def test_the_maps_are_scipys_gradients_of_the_mean():
    x = torch.rand(2, 3, 7, 6, generator=torch.Generator().manual_seed(0))
    found = Sobel()(x).numpy()
    for image, (across, down) in zip(x.mean(dim=1).numpy(), found, strict=True):
        np.testing.assert_allclose(across, -ndimage.sobel(image, axis=1, mode="constant"), atol=1e-5)
        np.testing.assert_allclose(down, -ndimage.sobel(image, axis=0, mode="constant"), atol=1e-5)


@pytest.mark.parametrize("method", [IIC, PICA])
def test_a_network_with_the_filter_is_saved_with_it(method, tmp_path):
    x = load_digits().images[:60] / 16
    fitted = method(3, sobel=True, repeats=2, epochs=1, batch_size=20, random_state=0).fit(x)
    flat = fitted.network_.f[0](torch.full((1, 1, 8, 8), 0.3))
    assert flat[:, :, 1:-1, 1:-1].abs().max() < 1e-6
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(c3clust.load(tmp_path / "model").predict_proba(x), fitted.predict_proba(x))


def test_vectors_have_no_gradients():
    with pytest.raises(InputError, match="sobel=True needs images"):
        IIC(2, sobel=True, epochs=1, random_state=0).fit(np.random.default_rng(0).random((20, 4)))
