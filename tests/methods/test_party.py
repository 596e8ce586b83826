"""PARTY's sparse sums against scikit-learn's lasso, its loss against a plain loop, and its labels."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso

from c3clust.methods.party import PARTY, PARTYObjective, expression_errors, lasso, sparse_sums
from c3clust.training import Batch


def test_the_sums_equal_the_lasso_of_scikit_learn():
    rng = np.random.default_rng(0)
    near, x = rng.normal(size=(3, 4, 6)), rng.normal(size=(3, 6))
    found = lasso(near @ near.transpose(0, 2, 1), np.einsum("nkd,nd->nk", near, x), 0.3, steps=3000)
    for i in range(3):
        expected = Lasso(alpha=0.3 / 6, fit_intercept=False, tol=1e-10).fit(near[i].T, x[i]).coef_
        np.testing.assert_allclose(found[i], expected, atol=1e-4)


def test_samples_of_a_subspace_are_sums_of_its_samples():
    rng = np.random.default_rng(0)
    x = np.zeros((40, 4))
    x[:20, :2], x[20:, 2:] = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    c = sparse_sums(x, 8, 0.01).toarray()
    assert (np.diag(c) == 0).all()
    assert np.abs(c[:20, 20:]).max() < 1e-6
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    assert np.abs(c @ unit - unit).max() < 0.1


def test_the_errors_equal_the_loop():
    h, target = torch.randn(2, 5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = [
        sum((a - b) ** 2 for a, b in zip(*rows, strict=True)) for rows in zip(h.tolist(), target.tolist(), strict=True)
    ]
    assert expression_errors(h, target).tolist() == pytest.approx(expected)
    assert (expression_errors(h, h) == 0).all()


def test_the_labels_are_those_of_the_stored_codes():
    x = np.random.default_rng(0).normal(size=(30, 4))
    found = PARTY(3, hidden=(8,), code_dim=2, pretrain_epochs=1, epochs=1, n_init=1, random_state=0).fit(x)
    assert [stage["name"] for stage in found.stages_] == ["ae", "party"]
    assert (found.labels_ == found.network_.readout.labels.numpy()).all()
    objective = PARTYObjective(None, 0.1, 0.0)
    objective.load_state_dict({"targets": torch.zeros(30, 2)})
    batch = Batch(torch.randn(6, 4), torch.randn(6, 4), torch.arange(6))
    terms = objective(found.network_, batch)
    torch.testing.assert_close(terms["loss"], terms["reconstruction_loss"] + 0.1 * terms["expression_loss"])
