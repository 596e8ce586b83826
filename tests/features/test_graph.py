"""The fuzzy graph of neighbours and its diffusion embedding, against plain formulas and at their limits."""

import numpy as np
import pytest

from c3clust.features.graph import diffusion, diffusion_rows, neighbour_graph


def cloud(n, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def far_blobs(k, each, d=4):
    return np.repeat(1000 * np.eye(k, d, dtype=np.float32), each, axis=0) + cloud(k * each, d)


def normalised(graph):
    a = graph.toarray()
    degree = a.sum(1)
    return a / np.sqrt(np.outer(degree, degree))


def test_weights_are_those_of_a_double_loop():
    z, k = cloud(30), 6
    d = np.linalg.norm(z[:, None].astype(float) - z, axis=2)
    w = np.zeros((30, 30))
    for i in range(30):
        near = np.argsort(d[i])[1 : k + 1]
        low, high = 1e-9, 1e3
        for _ in range(200):
            sigma = (low + high) / 2
            w[i, near] = np.exp(-(d[i, near] - d[i, near].min()) / sigma)
            low, high = (sigma, high) if w[i].sum() < np.log2(k) else (low, sigma)
    np.testing.assert_allclose(neighbour_graph(z, k).toarray(), w + w.T - w * w.T, atol=1e-5)


def test_the_graph_is_symmetric_and_scale_and_shift_do_not_matter():
    z = cloud(60)
    graph = neighbour_graph(z).toarray()
    assert (graph == graph.T).all()
    assert graph.diagonal().max() == 0
    assert 0 < graph.max() <= 1
    np.testing.assert_allclose(neighbour_graph(8 * z + 2).toarray(), graph, atol=1e-3)


@pytest.mark.parametrize("n", [40, 700])
def test_eigenvectors_solve_the_equation(n):
    graph = neighbour_graph(cloud(n))
    values, vectors = diffusion(graph, 12, 0)
    a = normalised(graph)
    np.testing.assert_allclose(a @ vectors, vectors * values, atol=1e-3)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(12), atol=1e-6)
    np.testing.assert_allclose(values, np.sort(np.linalg.eigvalsh(a))[::-1][:12], atol=1e-4)


@pytest.mark.parametrize(("k", "each"), [(3, 30), (4, 500)])
def test_components_that_touch_nowhere_are_found_exactly(k, each):
    values, vectors = diffusion(neighbour_graph(far_blobs(k, each)), k + 2, 0)
    np.testing.assert_allclose(values[:k], 1, atol=1e-6)
    assert values[k] < 0.999
    rows = diffusion_rows(values[:k], vectors[:, :k])
    np.testing.assert_allclose(rows @ rows.T, np.kron(np.eye(k), np.ones((each, each))), atol=1e-4)


def test_of_more_components_than_eigenvectors_the_larger_come_first():
    z = np.repeat(1000 * np.eye(5, 4), [20, 30, 40, 25, 35], axis=0) + cloud(150, 4)
    vectors = diffusion(neighbour_graph(z.astype(np.float32), 5), 2, 0)[1]
    assert np.flatnonzero(vectors.any(1)).tolist() == [*range(50, 90), *range(115, 150)]


@pytest.mark.parametrize("n", [1, 2, 3, 5, 17])
@pytest.mark.parametrize("m", [1, 4, 50])
def test_few_samples_and_many_eigenvectors_are_no_error(n, m):
    values, vectors = diffusion(neighbour_graph(cloud(n)), m, 0)
    assert values.shape == (min(m, n),)
    assert vectors.shape == (n, min(m, n))
    assert np.isfinite(diffusion_rows(values, vectors)).all()


@pytest.mark.parametrize(
    "copies", [np.ones((60, 3)), np.repeat(np.eye(3), 40, axis=0), np.repeat(np.eye(3), 400, axis=0)]
)
def test_copies_are_no_error(copies):
    graph = neighbour_graph(copies.astype(np.float32))
    values, vectors = diffusion(graph, 10, 0)
    assert np.isfinite(graph.data).all()
    assert np.isfinite(values).all()
    assert np.isfinite(vectors).all()


def test_same_seed_same_embedding():
    graph = neighbour_graph(cloud(800))
    for a, b in zip(diffusion(graph, 9, 3), diffusion(graph, 9, 3), strict=True):
        np.testing.assert_array_equal(a, b)


def test_more_clusters_than_eigenvectors():
    """300 clusters of 8 that touch: some of the space of their eigenvectors, in a time that is known."""
    random = np.random.default_rng(0)
    y = np.arange(2400) % 300
    z = (random.normal(size=(300, 16))[y] + 0.2 * random.normal(size=(2400, 16))).astype(np.float32)
    graph = neighbour_graph(z, 10)
    values, vectors = diffusion(graph, 40, 0, crowded=True)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(40), atol=1e-8)
    a = normalised(graph)
    np.testing.assert_allclose(np.diag(vectors.T @ a @ vectors), values, atol=1e-8)
    exact = np.sort(np.linalg.eigvalsh(a))[::-1]
    assert values.min() > exact[300], "no eigenvector of the rest"
