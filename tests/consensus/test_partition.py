"""The clusters on which clusterings agree, against plain loops and on data whose clusters are known."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from c3clust import acc
from c3clust.consensus import members
from c3clust.consensus import partition as room
from c3clust.consensus.partition import Partition, linked, partition, spectral_vote
from c3clust.features.graph import neighbour_graph
from c3clust.metrics import rand_index


def blobs(sizes=(40, 40, 40), width=5, apart=8.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    x = apart * rng.normal(size=(len(sizes), width))[y] + rng.normal(size=(len(y), width))
    return x.astype(np.float32), y


@pytest.mark.parametrize("prior", ["auto", "even", "free"])
def test_blobs_are_found_by_every_member(prior):
    x, y = blobs()
    found = partition(x, x, 3, prior, 0)
    assert acc(y, found.labels) == 1
    assert min(found.agreements().values()) == 1
    np.testing.assert_allclose(found.votes(), np.eye(3)[found.labels])


def test_a_curved_cluster_is_found_by_the_graph_where_k_means_cuts_it():
    t = np.random.default_rng(0).uniform(0, np.pi, 400)
    y = np.arange(400) % 2
    x = np.c_[np.cos(t) * (1 - 2 * y) + y, np.sin(t) * (1 - 2 * y) + 0.4 * y]
    x = (x + np.random.default_rng(1).normal(0, 0.06, x.shape)).astype(np.float32)
    found = partition(x, x, 2, "even", 0)
    assert acc(y, found.members["graph"]) > 0.97 > 0.9 > acc(y, found.members["k-means"])


def test_columns_have_a_mixture_among_the_members_and_embeddings_have_none():
    x, _ = blobs(width=room.NARROW + 1)
    assert "mixture" not in partition(x, x, 3, "auto", 0).members
    assert "mixture" in partition(x[:, 1:], x[:, 1:], 3, "auto", 0).members


def test_uneven_sizes_are_taken_where_they_are_clearer():
    x, y = blobs((300, 20, 20), apart=6.0)
    found = partition(x, x, 3, "auto", 0)
    assert acc(y, found.labels) > 0.98


@pytest.mark.parametrize(("n", "K"), [(12, 3), (40, 10), (30, 1), (300, 75)])
def test_k_asked_is_k_given_also_on_noise(n, K):
    x = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    for prior in ("even", "free"):
        assert len(np.unique(partition(x, x, K, prior, 0).labels)) == K


def test_the_same_seed_gives_the_same_labels():
    x = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)
    np.testing.assert_array_equal(partition(x, x, 5, "auto", 3).labels, partition(x, x, 5, "auto", 3).labels)


def test_many_clusters_are_those_of_the_clearest_clustering(monkeypatch):
    monkeypatch.setattr(room, "MANY", 2)
    x, y = blobs()
    found = partition(x, x, 3, "auto", 0)
    assert set(found.members) == {"graph 0", "graph 1", "graph 2", "k-means"}
    assert acc(y, found.labels) == 1


def test_linked_is_average_linkage_of_the_fraction_of_clusterings():
    rng = np.random.default_rng(0)
    labels = [rng.integers(0, 3, 30) for _ in range(5)]
    apart = np.array([[np.mean([each[i] != each[j] for each in labels]) for j in range(30)] for i in range(30)])
    tree = linkage(squareform(apart, checks=False), "average")
    heights = np.unique(tree[:, 2])
    K = 30 - int((tree[:, 2] <= heights[len(heights) // 2]).sum())  # a height that is no tie
    expected = fcluster(tree, K, "maxclust")
    assert rand_index(linked(labels, K, rng), expected - 1) == pytest.approx(1)


def test_of_many_samples_the_others_join_the_cluster_they_are_with_most_often(monkeypatch):
    monkeypatch.setattr(room, "ANCHORS", 40)
    y = blobs()[1]
    labels = [y, y, np.random.default_rng(0).integers(0, 3, len(y))]
    assert acc(y, linked(labels, 3, np.random.default_rng(1))) == 1


def test_the_spectral_vote_follows_the_majority():
    y = np.repeat([0, 1, 2], 20)
    wrong = np.random.default_rng(0).permutation(y)
    assert acc(y, spectral_vote([y, (y + 1) % 3, wrong], 3, 0)) == 1


def test_votes_are_shares_of_the_clusters_of_the_members():
    labels, other = np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])
    votes = Partition(labels, {"other": other}, True, np.zeros((4, 0), int), 2).votes()
    np.testing.assert_allclose(votes, [[2 / 3, 1 / 3]] * 3 + [[0, 1]], atol=1e-6)


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_merging_takes_the_strongest_link_first(power):
    x, _ = blobs((15, 15, 15, 15), apart=2.0)
    graph = neighbour_graph(x, 8)
    small = np.arange(60) // 6
    found, links = small.copy(), graph.toarray()
    while len(set(found)) > 4:  # the plain loop
        ids = sorted(set(found))
        strength = {
            (a, b): links[np.ix_(found == a, found == b)].sum() / ((found == a).sum() * (found == b).sum()) ** power
            for a in ids
            for b in ids
            if a < b
        }
        a, b = max(strength, key=strength.get)
        found[found == b] = a
    assert rand_index(members.merged(graph, small, 4, power), np.unique(found, return_inverse=True)[1]) == 1


def test_a_mixture_finds_clusters_that_differ_in_shape_alone():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    x = rng.normal(size=(400, 4)) * np.where(y[:, None] == 0, 0.2, 3.0)
    assert acc(y, members.mixture(x.astype(np.float32), 2, 0)) > 0.95
