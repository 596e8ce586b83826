"""AC is scikit-learn's, with and without the graph of neighbours."""

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import load_digits
from sklearn.neighbors import kneighbors_graph

from c3clust import ari
from c3clust.methods import ac
from c3clust.methods.ac import AC


@pytest.fixture(scope="module")
def pixels():
    return (load_digits().images[:500] / 16).astype(np.float32)


@pytest.mark.parametrize("linkage", ["ward", "average"])
def test_labels_equal_scikit_learns(pixels, linkage):
    theirs = AgglomerativeClustering(10, linkage=linkage).fit_predict(pixels.reshape(500, -1))
    ours = AC(10, linkage=linkage).fit(pixels)
    assert (ours.labels_ == theirs).all()
    assert (ours.predict(pixels[::-1]) == theirs[::-1]).all()


def test_many_samples_are_merged_among_neighbours(pixels, monkeypatch):
    graph = kneighbors_graph(pixels.reshape(500, -1), 20)
    theirs = AgglomerativeClustering(10, connectivity=graph).fit_predict(pixels.reshape(500, -1))
    assert (AC(10, n_neighbors=20).fit(pixels).labels_ == theirs).all()
    monkeypatch.setattr(ac, "ALL_PAIRS", 100)
    assert (AC(10).fit(pixels).labels_ == theirs).all()


def test_a_graph_in_parts_is_joined():
    x = np.random.default_rng(0).normal(size=(40, 2))
    x[20:] += 50
    assert ari(np.repeat([0, 1], 20), AC(2, n_neighbors=3).fit(x).labels_) == 1
