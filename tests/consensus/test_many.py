"""Heads for many clusters: each sample compares the nearest ones only."""

import numpy as np
import torch

from c3clust.consensus import heads
from c3clust.consensus.many import NEAR, near_clusters, sizes, summed
from c3clust.features.vectors import nearest, scale_rows
from c3clust.metrics import ari


def blobs(n, K):
    rng = np.random.default_rng(0)
    y = np.arange(n) % K
    return (rng.normal(size=(K, 16))[y] + 0.2 * rng.normal(size=(n, 16))).astype(np.float32), y


def test_near_clusters_have_the_largest_logits():
    rng = np.random.default_rng(0)
    z, weight, bias = (torch.from_numpy(rng.normal(size=shape)) for shape in ((20, 3), (50, 3), (50,)))
    expected = np.argsort(-(z @ weight.T + bias).numpy(), axis=1)[:, :NEAR]
    assert [set(row) for row in near_clusters(z, weight, bias).tolist()] == [set(row) for row in expected.tolist()]


def test_sparse_gradients_and_sizes_are_the_dense_ones():
    rng, B, C, K, f = np.random.default_rng(0), 6, 4, 20, 3
    clusters = torch.stack([torch.from_numpy(rng.permutation(K)[:C]) for _ in range(B)])
    g, rows = (torch.from_numpy(rng.normal(size=shape).astype(np.float32)) for shape in ((B, C), (B, f)))
    dense = torch.zeros(B, K).scatter_(1, clusters, g)
    weight, bias = summed(g, clusters, rows, K)
    torch.testing.assert_close(weight, dense.T @ rows)
    torch.testing.assert_close(bias, dense.sum(dim=0))
    torch.testing.assert_close(sizes(dense, clusters), dense.mean(dim=0))


def test_heads_for_many_clusters_repair_a_start_with_errors():
    """A tenth of the samples starts in a random cluster; neighbours bring them back."""
    K, n = NEAR + 8, 600
    x, y = blobs(n, K)
    z = scale_rows(x, True)[0]
    rng = np.random.default_rng(1)
    start = np.where(rng.random((2, n)) < 0.1, rng.integers(0, K, (2, n)), y)
    zs = np.stack([z, z])
    weight, bias = heads.train_heads(zs, nearest(z, 4), start, K, (1.0, 0.25), heads.Settings(), 0)
    assert weight.shape == (2, 2, K, 16)
    for w, b in zip(weight, bias, strict=True):
        found = heads.assignments(zs, w, b).argmax(2)
        assert min(ari(y, member) for member in found) > 0.97 > max(ari(y, each) for each in start)


def test_average_linkage_of_many_clusters_has_a_bounded_number_of_samples(monkeypatch):
    seen = []
    monkeypatch.setattr(heads, "linkage_start", lambda z, K, anchors: seen.append(len(anchors)) or anchors)
    for K in (10, 100, 1000, 3000):
        heads.starts(np.zeros((1, 9000, 1)), K, 1500, np.random.default_rng(0))
    assert seen == [1500, heads.MOST_LINKED, heads.MOST_LINKED, 6000]
