"""Awkward samples: each works, or one of our own errors says why not; no NaN leaves the library."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from c3clust import acc, ari, methods, nmi
from c3clust.errors import C3ClustError
from c3clust.methods.c3 import c3_loss
from c3clust.methods.cc import cluster_loss, instance_loss

SMALL = {
    "cc_epochs": 2, "pretrain_epochs": 1, "epochs": 1, "batch_size": 16, "cc_batch_size": 16, "hidden": (8,),
    "n_init": 2, "projection_dim": 8, "random_state": 0,
}  # fmt: skip
RNG = np.random.default_rng(0)
UNBALANCED = np.concatenate([RNG.normal(0, 1, (99, 6)), RNG.normal(9, 1, (1, 6))])
SAMPLES = {
    "all zero pictures": (np.zeros((20, 8, 8)), 2),
    "all white pictures": (np.full((20, 8, 8, 3), 255, np.uint8), 2),
    "one picture, repeated": (np.tile(RNG.random((1, 8, 8)), (20, 1, 1)), 3),
    "identical vectors": (np.ones((20, 5)), 2),
    "all zero vectors": (np.zeros((20, 5)), 2),
    "fewer samples than a batch": (RNG.random((5, 8, 8)), 2),
    "as many samples as clusters": (RNG.random((4, 8, 8)), 4),
    "one cluster": (RNG.random((20, 8, 8)), 1),
    "two samples": (RNG.random((2, 8, 8)), 2),
    "odd sizes": (RNG.random((20, 1, 7, 13)), 2),
    "a row of pixels": (RNG.random((20, 1, 1, 9)), 2),
    "one pixel": (RNG.random((20, 1, 1, 1)), 2),
    "one feature": (RNG.random((20, 1)), 2),
    "huge vectors": (RNG.normal(size=(20, 5)) * 1e30, 2),
    "tiny vectors": (RNG.normal(size=(20, 5)) * 1e-30, 2),
    "one huge value": (np.where(np.arange(100).reshape(20, 5) == 7, 1e30, 1.0), 2),
    "values beyond float32": (RNG.normal(size=(20, 5)) * 1e300, 2),
    "a constant feature": (np.column_stack([np.ones(20), RNG.random(20)]), 2),
    "99 to 1": (UNBALANCED, 2),
    "one class": (RNG.normal(size=(40, 6)), 3),
    "bool pictures": (RNG.random((20, 8, 8)) > 0.5, 2),
    "integers": (RNG.integers(0, 256, (20, 8, 8)), 2),
}


def make(name, n_clusters):
    known = methods.parameters(name)
    return methods.load(name)(n_clusters, **{k: v for k, v in SMALL.items() if k in known})


def assert_sound(fitted, x, n_clusters):
    c, z = fitted.predict_proba(x), fitted.transform(x)
    assert np.isfinite(c).all()
    assert np.isfinite(z).all()
    np.testing.assert_allclose(c.sum(axis=1), 1, rtol=1e-4)
    assert set(fitted.labels_) <= set(range(n_clusters))
    assert np.isfinite(fitted.confidence_).all()
    for stage in fitted.stages_:
        for curve in stage["curves"].values():
            assert np.isfinite(np.asarray(curve, dtype=float)).all()


def works_or_says_why(name, what):
    x, n_clusters = SAMPLES[what]
    try:
        fitted = make(name, n_clusters).fit(x)
    except C3ClustError as error:
        return str(error)
    assert_sound(fitted, x, n_clusters)
    return "works"


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # scikit-learn's k-means, on identical samples
@pytest.mark.parametrize("what", list(SAMPLES))
def test_c3(what):
    assert works_or_says_why("consensus", what) == "works" or what == "values beyond float32"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize(("name", "what"), list(itertools.product(methods.names(), SAMPLES)))
def test_every_method(name, what):
    said = works_or_says_why(name, what)
    print(f"{name}, {what}: {said}")


# Losses: finite, with finite gradients, whatever unit rows they are given.

rows = hnp.arrays(np.float64, st.tuples(st.integers(2, 6), st.integers(1, 4)), elements=st.floats(-1, 1, width=16))
quick = settings(max_examples=60, deadline=None)


def unit(a):
    return torch.nn.functional.normalize(torch.from_numpy(a) + 0.0, dim=1).requires_grad_()


def finite(loss, *leaves):
    gradients = torch.autograd.grad(loss, leaves, allow_unused=True)
    return bool(loss.isfinite()) and all(g is None or bool(g.isfinite().all()) for g in gradients)


@quick
@given(a=rows, seed=st.integers(0, 9), zeta=st.floats(-1, 1), gamma=st.floats(0, 100))
def test_c3_loss(a, seed, zeta, gamma):
    z_a = unit(a)
    z_b = unit(np.random.default_rng(seed).permutation(a))
    loss = c3_loss(z_a, z_b, zeta, gamma)
    assert finite(loss, z_a, z_b)
    torch.testing.assert_close(loss, c3_loss(z_b, z_a, zeta, gamma))
    order = torch.randperm(len(a), generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(loss, c3_loss(z_a[order], z_b[order], zeta, gamma))


@quick
@given(a=rows, seed=st.integers(0, 9), tau=st.floats(0.01, 10))
def test_instance_loss(a, seed, tau):
    z_a, z_b = unit(a), unit(np.random.default_rng(seed).permutation(a))
    loss = instance_loss(z_a, z_b, tau)
    assert finite(loss, z_a, z_b)
    torch.testing.assert_close(loss, instance_loss(z_b, z_a, tau))


@quick
@given(a=rows, b=st.floats(0, 1000), tau=st.floats(0.01, 10))
def test_cluster_loss(a, b, tau):
    """From uniform assignments to certain ones, with clusters that are empty."""
    logits = (torch.from_numpy(a) * b).requires_grad_()
    c = torch.softmax(logits, dim=1)
    loss = cluster_loss(c, c.flip(0), tau)
    assert finite(loss, logits)


labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


@quick
@given(pairs=labels, shift=st.integers(1, 9))
def test_metrics(pairs, shift):
    """Within their ranges, symmetric where they should be, blind to the names of clusters; 1 for equal partitions."""
    y_true, y_pred = (np.array(side) for side in zip(*pairs, strict=True))
    for metric, low in ((acc, 0.0), (nmi, 0.0), (ari, -1.0)):
        value = metric(y_true, y_pred)
        assert low - 1e-9 <= value <= 1 + 1e-9
        assert metric(y_true, (y_pred + shift) * 7) == pytest.approx(value, abs=1e-9)
        assert metric(y_true, y_true) == pytest.approx(1.0)
    assert nmi(y_true, y_pred) == pytest.approx(nmi(y_pred, y_true), abs=1e-9)
    assert ari(y_true, y_pred) == pytest.approx(ari(y_pred, y_true), abs=1e-9)
    assert acc(y_true, y_pred) >= np.bincount(y_true).max() / len(y_true) / 5 - 1e-9
