"""SC's affinity against a double loop, its embedding against numpy, its labels against scikit-learn's."""

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits, make_circles

from c3clust import ari
from c3clust.methods import sc
from c3clust.methods.sc import SC, locally_scaled_affinity, spectral_embedding


@pytest.fixture(scope="module")
def pixels():
    return (load_digits().images[:400] / 16).reshape(400, -1)


@pytest.mark.parametrize(("n_neighbors", "scale_neighbor"), [(3, 2), (3, 7), (11, 7)])
def test_affinity_equals_the_loop(n_neighbors, scale_neighbor):
    x = np.random.default_rng(0).normal(size=(12, 3))
    d = np.array([[np.sqrt(((u - v) ** 2).sum()) for v in x] for u in x])
    near = [sorted((j for j in range(12) if j != i), key=lambda j: d[i, j])[:n_neighbors] for i in range(12)]
    sigma = [d[i, near[i][min(scale_neighbor, n_neighbors) - 1]] for i in range(12)]
    expected = np.zeros((12, 12))
    for i in range(12):
        for j in range(12):
            if j in near[i] or i in near[j]:
                expected[i, j] = np.exp(-(d[i, j] ** 2) / (sigma[i] * sigma[j]))
    np.testing.assert_allclose(locally_scaled_affinity(x, n_neighbors, scale_neighbor).toarray(), expected, atol=1e-10)


def test_embedding_is_the_leading_eigenspace_dense_and_sparse(pixels, monkeypatch):
    a = locally_scaled_affinity(pixels, 10, 7)
    d = np.diag(1 / np.sqrt(a.toarray().sum(axis=1)))
    v = np.linalg.eigh(d @ a.toarray() @ d)[1][:, -5:]
    expected = v / np.linalg.norm(v, axis=1, keepdims=True)
    dense = spectral_embedding(a, 5, seed=0)
    np.testing.assert_allclose(dense @ dense.T, expected @ expected.T, atol=1e-8)  # up to a rotation
    monkeypatch.setattr(sc, "DENSE", 0)
    sparse = spectral_embedding(a, 5, seed=0)
    np.testing.assert_allclose(sparse @ sparse.T, expected @ expected.T, atol=1e-6)


def test_labels_agree_with_scikit_learns_on_the_same_affinity(pixels):
    theirs = SpectralClustering(10, affinity="precomputed", random_state=0)
    theirs.fit(locally_scaled_affinity(pixels, 10, 7).toarray())
    assert ari(SC(10, random_state=0).fit(pixels).labels_, theirs.labels_) > 0.8


def test_rings_are_found_and_new_samples_join_the_nearest():
    x, y = make_circles(200, factor=0.4, noise=0.02, random_state=0)
    fitted = SC(2, random_state=0).fit(x)
    assert ari(y, fitted.labels_) == 1
    assert (fitted.predict(1.01 * x) == fitted.labels_).all()


def test_equal_samples_are_no_trouble():
    x = np.repeat(np.eye(3), 10, axis=0)
    labels = SC(3, random_state=0).fit(x).labels_
    assert ari(np.repeat([0, 1, 2], 10), labels) == 1
