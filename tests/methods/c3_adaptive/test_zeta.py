"""zeta="auto": the search, the probes and their account, without labels."""

import json

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch.nn import functional as F

from c3clust import CC, C3Adaptive, augment
from c3clust.errors import InputError
from c3clust.methods.c3 import c3_loss, positives_per_view
from c3clust.methods.c3_adaptive import zeta
from c3clust.networks.heads import head
from c3clust.training import encode_views


def loss(z_a, z_b, threshold):
    return c3_loss(z_a, z_b, threshold, 0.1), positives_per_view(z_a, z_b, threshold)


def blobs(sizes, spread=0.25, width=16, seed=0):
    """Two views of samples around well separated centres."""
    generator = torch.Generator().manual_seed(seed)
    centres = 2 * torch.eye(len(sizes), width)
    middle = torch.cat([centres[m].expand(size, -1) for m, size in enumerate(sizes)])
    middle = middle + spread * torch.randn(middle.shape, generator=generator)
    return tuple(middle + 0.1 * torch.randn(middle.shape, generator=generator) for _ in range(2))


@pytest.fixture(scope="module")
def x():
    return load_digits().images / 16


@pytest.fixture
def g_i():
    torch.manual_seed(0)
    return head(16, 8)


@pytest.mark.parametrize("best", range(8))
def test_search_finds_the_last_that_fills_the_clusters(best):
    candidates = [0.1 * i for i in range(8)]
    ratios = {c: 1.0 if i == best else 1.1 if i < best else 0.8 - 0.05 * i for i, c in enumerate(candidates)}
    chosen, asked = zeta.search(ratios.get, candidates)
    assert chosen == candidates[best]
    assert all(asked[c] == ratios[c] for c in asked)
    assert len(asked) <= 4


@pytest.mark.parametrize(
    ("ratios", "chosen"),
    [
        ({0.5: 3.0, 0.7: 3.0, 0.9: 3.0}, 0.9),  # all overflow
        ({0.5: 0.3, 0.7: 0.2, 0.9: 0.1}, 0.5),  # none is filled
        ({0.5: 3.0, 0.7: 1.2, 0.9: 0.1}, 0.9),  # too few do less harm than too many
        ({0.5: 1.0, 0.7: 1.0, 0.9: 1.0}, 0.9),
    ],
)
def test_search_where_nothing_fits(ratios, chosen):
    assert zeta.search(ratios.get, (0.5, 0.7, 0.9))[0] == chosen


def test_positives_settle_at_the_size_of_the_clusters(g_i):
    h = blobs([150] * 4)
    before = positives_per_view(*(F.normalize(g_i(view), dim=1) for view in h), 0.8)
    settled = zeta.settled_positives(g_i, h, 0.8, 64, loss, seed=0)
    assert settled == pytest.approx(128 / 4, rel=0.15)
    after = positives_per_view(*(F.normalize(g_i(view), dim=1) for view in h), 0.8)
    assert after == before  # the head itself is left alone


def test_a_crowded_probe_ends_early(g_i):
    assert zeta.settled_positives(g_i, blobs([150] * 4), -0.5, 64, loss, seed=0, most=40) > 40


def test_unequal_clusters_are_expected_to_hold_unequally_many(g_i):
    chosen, account = zeta.choose_zeta(g_i, blobs([400, 100, 100]), 3, 60, loss, seed=0)
    shares = np.array([400, 100, 100]) / 600
    assert account["expected_positives"] == pytest.approx(120 * (shares**2).sum(), rel=0.05)
    taken = next(p["positives_per_view"] for p in account["probes"] if p["zeta"] == chosen)
    assert zeta.FULL <= taken / account["expected_positives"] <= zeta.OVERFULL


@pytest.mark.parametrize("n", [12, 300])
def test_the_account_is_kept(x, n):
    x = x[:n]
    cc = CC(4, epochs=1, random_state=0).fit(x)
    c3 = C3Adaptive(4, start=cc, epochs=1, settle=0, random_state=0).fit(x)
    account = c3.stages_[-1]["zeta"]
    assert c3.zeta_ == account["chosen"] in zeta.CANDIDATES
    assert c3.zeta_ in {probe["zeta"] for probe in account["probes"]}
    assert account["seconds"] > 0
    assert account["why"] in c3.notes_
    assert f"zeta {c3.zeta_:g} was chosen" in account["why"]
    json.dumps(account, allow_nan=False)
    again = C3Adaptive(4, start=cc, epochs=1, settle=0, random_state=0, zeta=c3.zeta_).fit(x)
    np.testing.assert_array_equal(again.labels_, c3.labels_)  # the choice draws nothing from the stage's randomness
    assert again.stages_[-1]["zeta"] == {"chosen": c3.zeta_}


def test_views_are_encoded_without_a_trace(x):
    network, x = CC(4, epochs=1, random_state=0).fit(x[:100]).network_, x[:100, None].astype(np.float32)
    before = {name: t.clone() for name, t in network.state_dict().items()}
    h_a, h_b = encode_views(network, x, augment.policy("digit"), x.shape[-2:], batch=32, most=70, seed=0)
    assert h_a.shape == h_b.shape == (64, 256)
    assert not torch.equal(h_a, h_b)
    assert all(torch.equal(t, before[name]) for name, t in network.state_dict().items())


def test_another_word_is_refused(x):
    with pytest.raises(InputError, match="zeta='best'"):
        C3Adaptive(4, zeta="best").fit(x[:50])


def test_a_start_of_another_size_is_followed(x):
    cc = CC(4, epochs=1, image_size=12, random_state=0).fit(x[:64])
    assert C3Adaptive(4, start=cc, epochs=1, settle=0, random_state=0).fit(x[:64]).input_shape_ == (1, 12, 12)
