"""NMF's weights against scipy's non-negative least squares; its treatment of negative features."""

import numpy as np
import pytest
import torch
from scipy.optimize import nnls
from sklearn.datasets import load_digits

from c3clust.methods.nmf import NMF, part_weights


def test_weights_solve_non_negative_least_squares():
    random = np.random.default_rng(0)
    x, parts = random.random((8, 6)), random.random((3, 6))
    expected = [nnls(parts.T, row)[0] for row in x]
    found = part_weights(torch.from_numpy(x), torch.from_numpy(parts), sweeps=500)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_a_part_that_is_empty_gets_no_weight():
    parts = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(part_weights(torch.tensor([[2.0, 5.0]]), parts), [[2.0, 0.0]])


def test_digits_are_sums_of_unit_parts():
    images = load_digits().images[:300] / 16
    fitted = NMF(10, random_state=0).fit(images)
    parts, w = fitted.network_.body.parts.numpy(), fitted.transform(images)
    assert (parts >= 0).all()
    assert (w >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(parts, axis=1), 1, rtol=1e-5)
    x = images.reshape(300, -1)
    assert np.square(x - w @ parts).sum() < 0.35 * np.square(x - x.mean(axis=0)).sum()


def test_the_smallest_value_of_a_feature_becomes_0():
    x = np.array([[-2.0, 1.0], [0.0, 3.0], [4.0, 2.0]])
    fitted = NMF(2, random_state=0).fit(x)
    shifted = fitted.preprocessor_.scaling(x) + fitted.network_.body.shift.numpy()
    np.testing.assert_allclose(shifted.min(axis=0), 0, atol=1e-7)
    assert np.isfinite(fitted.predict_proba(np.array([[-9.0, -9.0]]))).all()


def test_a_constant_feature_is_finite():
    x = np.column_stack([np.ones(20), np.random.default_rng(0).random(20)])
    assert np.isfinite(NMF(2, random_state=0).fit(x).predict_proba(x)).all()


def test_all_zero_samples_are_finite():
    assert np.isfinite(NMF(1, random_state=0).fit(np.zeros((5, 4))).predict_proba(np.zeros((2, 4)))).all()


@pytest.mark.parametrize("changes", [{"n_parts": 0}, {"max_iter": 0}, {"n_init": -1}])
def test_bad_parameters_are_named(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        NMF(2, **changes).fit(np.ones((5, 4)))
