"""Which clusters merge next, and which split first."""

import json

import numpy as np

from c3clust.features.n_clusters import cluster_tree


def test_near_clusters_merge_first_and_a_double_one_splits_first():
    rng = np.random.default_rng(0)
    centres = np.array([[0, 0, 0], [3, 0, 0], [30, 0, 0], [0, 40, -8], [0, 40, 8]], dtype=float)
    x = np.repeat(centres, 30, axis=0) + 0.5 * rng.normal(size=(150, 3))
    labels = np.repeat([0, 1, 2, 3, 3], 30)
    tree = cluster_tree(x, labels, seed=0)
    assert tree.merges[0][:2] == ([0], [1])
    assert sorted(tree.merges[-1][0] + tree.merges[-1][1]) == [0, 1, 2, 3]
    assert [height for *_, height in tree.merges] == sorted(height for *_, height in tree.merges)
    assert tree.splits[0][:3] == (3, 30, 30)
    assert tree.splits[0][3] > 0.7 > tree.splits[1][3]
    assert json.loads(json.dumps(tree.plain(), allow_nan=False))["splits"][0][0] == 3


def test_empty_and_small_clusters_are_left_out():
    x = np.random.default_rng(0).normal(size=(40, 3))
    tree = cluster_tree(x, np.array([0] * 37 + [5] * 3), seed=0)
    assert [merge[:2] for merge in tree.merges] == [([0], [5])]
    assert [split[0] for split in tree.splits] == [0]


def test_one_cluster_has_no_merges():
    x = np.random.default_rng(0).normal(size=(20, 3))
    assert cluster_tree(x, np.zeros(20, int), seed=0).merges == []
    copies = cluster_tree(np.ones((20, 3)), np.zeros(20, int), seed=0)
    assert copies.merges == copies.splits == []
