"""DDC's losses against plain loops, its threshold, and its limits."""

import math

import pytest
import torch

from c3clust import methods
from c3clust.methods.ddc import BINS, DDC, DDCObjective, best_threshold, cosines, local_loss, relation_loss
from c3clust.networks.heads import LabelNet
from c3clust.training import Batch


def assignments(n=6, m=3, seed=0):
    return (3 * torch.randn(n, m, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).softmax(dim=1)


def test_the_relation_loss_equals_the_loop():
    p_a, p_b, p = assignments(), assignments(seed=1), assignments(seed=2)
    r, total = cosines(p, p) > 0.6, 0.0
    for i in range(6):
        for j in range(6):
            a, b = p_a[i].tolist(), p_b[j].tolist()
            cosine = sum(u * v for u, v in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)
            total -= math.log(cosine if r[i, j] else 1 - cosine)
    assert relation_loss(p_a, p_b, r).item() == pytest.approx(total / 36, abs=1e-10)
    assert relation_loss(p_a, p_b, torch.ones_like(r)).isfinite()


def test_clusters_that_are_merged_by_a_few_pairs_cost_more_than_clusters_that_are_kept():
    """Two of the four clusters have a few wrong pairs in common: keeping them apart must be cheaper than merging."""
    kept = torch.eye(4, dtype=torch.float64).repeat_interleave(5, dim=0) * 0.98 + 0.005
    merged = kept.clone()
    merged[5:10] = kept[:5]
    r = torch.block_diag(*[torch.ones(5, 5, dtype=torch.float64)] * 4).bool()
    r[:2, 5:7] = r[5:7, :2] = True
    assert relation_loss(kept, kept, r) < relation_loss(merged, merged, r)


def test_the_threshold_equals_the_loop():
    p = assignments(8)
    g = cosines(p, p)
    values, best = g.flatten().tolist(), (-1.0, 0.0)
    for step in range(BINS):
        t = 0.5 + 0.5 * step / BINS
        low, high = [v for v in values if v < t], [v for v in values if v >= t]
        gap = sum(high) / max(len(high), 1) - sum(low) / max(len(low), 1)
        best = max(best, (len(low) * len(high) * gap**2, -t))
    assert best_threshold(g).item() == pytest.approx(-best[1])


def test_two_groups_are_separated():
    g = torch.tensor([0.1, 0.2, 0.15, 0.9, 0.95, 1.0])
    assert 0.5 <= best_threshold(g).item() <= 0.9


def test_the_local_loss():
    p = assignments()
    assert local_loss(p).item() == pytest.approx(sum(1 - max(row) for row in p.tolist()) / 6)
    assert local_loss(torch.eye(3)).item() == 0


def test_the_relations_are_those_of_the_samples():
    torch.manual_seed(0)
    network, x = LabelNet(torch.nn.Linear(4, 5), 5, 3).double().eval(), torch.randn(3, 6, 4, dtype=torch.float64)
    p = [network.head(network.encode(each.float().double())).softmax(1).detach() for each in x]
    g = cosines(p[2], p[2])
    r = g >= best_threshold(g)
    expected = (relation_loss(p[0], p[1], r) + 0.1 * (local_loss(p[0]) + local_loss(p[1])) / 2).item()
    network.float()
    x = x.float()
    found = DDCObjective(0.1)(network, Batch(x[0], x[1], raw=x[2], size=(4,)))["loss"].item()
    assert found == pytest.approx(expected, rel=1e-4)


def test_a_reconstruction_is_marked_as_one():
    assert not DDC.ranked
    assert "Not the authors' method" in DDC.__doc__
    others = [name for name in methods.names() if not getattr(methods.load(name), "ranked", True)]
    assert others == ["ddc"]
