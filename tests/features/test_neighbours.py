"""Neighbours of many samples, against all distances."""

import numpy as np
import pytest

from c3clust.errors import MissingExtraError
from c3clust.features import neighbours, vectors


def brute_force(z, k):
    d = ((z[:, None] - z) ** 2).sum(2)
    np.fill_diagonal(d, np.inf)
    return np.argsort(d, axis=1)[:, :k]


@pytest.fixture
def z():
    return np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)


@pytest.mark.parametrize("columns", [7, 64, 300, 1000])
def test_exact_whatever_the_blocks(z, columns, monkeypatch):
    monkeypatch.setattr(vectors, "COLUMNS", columns)
    found = vectors.nearest(z, 10, block=37)
    assert np.array_equal(np.sort(found, axis=1), np.sort(brute_force(z, 10), axis=1))
    part = vectors.nearest(z, 10, block=37, part=range(74, 200))
    assert np.array_equal(np.sort(part, axis=1), np.sort(found[74:200], axis=1))


def test_beyond_the_limit_the_package_is_named(z, monkeypatch):
    monkeypatch.setattr(neighbours, "EXACT", 100)
    monkeypatch.setattr(neighbours.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="faiss"):
        neighbours.nearest_neighbours(z, 3)


def test_faiss_finds_most_of_them(z, monkeypatch):
    pytest.importorskip("faiss")
    monkeypatch.setattr(neighbours, "EXACT", 100)
    monkeypatch.setattr(neighbours, "LISTS", 1)
    monkeypatch.setattr(neighbours, "PROBES", 8)
    found, exact = neighbours.nearest_neighbours(z, 10), brute_force(z, 10)
    assert found.shape == exact.shape
    assert not (found == np.arange(len(z))[:, None]).any()
    assert np.mean([len(set(a) & set(b)) for a, b in zip(found, exact, strict=True)]) > 9
