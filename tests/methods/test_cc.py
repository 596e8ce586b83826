"""CC's losses against plain loops written from CC's equations 3 and 6, and at their limits."""

import math

import pytest
import torch

from c3clust.losses.terms import nt_xent
from c3clust.methods.cc import cluster_contrast_loss, cluster_loss, instance_loss


def unit(n, d, seed=0, dtype=torch.float64):
    z = torch.randn(n, d, generator=torch.Generator().manual_seed(seed), dtype=dtype)
    return z / z.norm(dim=1, keepdim=True)


def soft(n, m, seed=0, dtype=torch.float64):
    return torch.randn(n, m, generator=torch.Generator().manual_seed(seed), dtype=dtype).softmax(dim=1)


def cosine(u, v):
    return sum(a * b for a, b in zip(u, v, strict=True)) / math.sqrt(sum(a * a for a in u) * sum(b * b for b in v))


def loop_contrast(rows_a, rows_b, tau):
    rows = rows_a + rows_b
    k, total = len(rows_a), 0.0
    for i, anchor in enumerate(rows):
        twin = (i + k) % (2 * k)
        denominator = sum(math.exp(cosine(anchor, rows[j]) / tau) for j in range(2 * k) if j != i)
        total -= math.log(math.exp(cosine(anchor, rows[twin]) / tau) / denominator)
    return total / (2 * k)


def loop_cluster(c_a, c_b, tau):
    loss = loop_contrast(c_a.T.tolist(), c_b.T.tolist(), tau)
    for c in (c_a.tolist(), c_b.tolist()):
        m = len(c[0])
        loss += math.log(m)
        for k in range(m):
            p = sum(row[k] for row in c) / len(c)
            loss += p * math.log(p) if p > 0 else 0.0
    return loss


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("tau", [0.5, 0.1, 2.0])
def test_instance_loss_equals_the_loop(n, tau):
    z_a, z_b = unit(n, 4, 1), unit(n, 4, 2)
    assert instance_loss(z_a, z_b, tau).item() == pytest.approx(
        loop_contrast(z_a.tolist(), z_b.tolist(), tau), abs=1e-10
    )


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 3), (4, 1), (6, 3), (8, 5)])
def test_cluster_loss_equals_the_loop(n, m):
    c_a, c_b = soft(n, m, 1), soft(n, m, 2)
    assert cluster_loss(c_a, c_b, 1.0).item() == pytest.approx(loop_cluster(c_a, c_b, 1.0), abs=1e-10)


def test_many_clusters_are_contrasted_in_one_pass():
    c = [soft(6, 600, seed).requires_grad_() for seed in (1, 2)]
    found = cluster_contrast_loss(*c, 0.7)
    plain = nt_xent(c[0].T, c[1].T, 0.7)
    assert found.item() == pytest.approx(plain.item(), abs=1e-12)
    for one, other in zip(torch.autograd.grad(found, c), torch.autograd.grad(plain, c), strict=True):
        assert torch.allclose(one, other, atol=1e-12)


def test_gradients():
    z_a, z_b = unit(5, 3, 1).requires_grad_(), unit(5, 3, 2).requires_grad_()
    assert torch.autograd.gradcheck(instance_loss, (z_a, z_b))
    c_a, c_b = soft(5, 3, 1).requires_grad_(), soft(5, 3, 2).requires_grad_()
    assert torch.autograd.gradcheck(cluster_loss, (c_a, c_b))


def test_equal_embeddings_give_a_known_logarithm():
    z = torch.ones(6, 4)
    assert instance_loss(z, z).item() == pytest.approx(math.log(11))


def test_one_image_has_nothing_to_be_contrasted_with():
    assert instance_loss(unit(1, 4, 1), unit(1, 4, 2)).item() == pytest.approx(0)


def test_order_of_views_and_of_the_batch_does_not_matter():
    z_a, z_b, c_a, c_b = unit(7, 4, 1), unit(7, 4, 2), soft(7, 3, 1), soft(7, 3, 2)
    order = torch.randperm(7, generator=torch.Generator().manual_seed(0))
    for loss, a, b in ((instance_loss, z_a, z_b), (cluster_loss, c_a, c_b)):
        assert loss(a, b).item() == pytest.approx(loss(b, a).item())
        assert loss(a, b).item() == pytest.approx(loss(a[order], b[order]).item())


def test_balanced_one_hot_clusters_pay_no_entropy():
    c = torch.eye(4, dtype=torch.float64)
    assert cluster_loss(c, c).item() == pytest.approx(loop_contrast(c.tolist(), c.tolist(), 1.0))


def test_an_empty_cluster_is_finite_with_a_finite_gradient():
    c = torch.tensor([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]], requires_grad=True)
    loss = cluster_loss(c, c)
    loss.backward()
    assert loss.isfinite()
    assert c.grad.isfinite().all()


def test_an_underflowing_softmax_is_finite_with_a_finite_gradient():
    logits = torch.tensor([[0.0, 500.0, -500.0], [0.0, 400.0, -400.0]], requires_grad=True)
    loss = cluster_loss(logits.softmax(dim=1), logits.softmax(dim=1))
    loss.backward()
    assert loss.isfinite()
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_finite(dtype):
    assert instance_loss(unit(64, 8, 1).to(dtype), unit(64, 8, 2).to(dtype), 0.05).isfinite()
    c = torch.zeros(64, 5, dtype=dtype)
    c[:, 0] = 1
    assert cluster_loss(c, c).isfinite()
