"""C3Adaptive: what its head is trained by, its stages, and that it is C3 without its changes."""

import copy

import numpy as np
import pytest
import torch

from c3clust import C3, CC, C3Adaptive
from c3clust.methods.c3_adaptive.estimator import AdaptiveObjective
from c3clust.methods.cc import cluster_loss
from c3clust.networks import ClusterNet
from c3clust.training import Batch


@pytest.fixture
def network():
    torch.manual_seed(0)
    return ClusterNet(torch.nn.Linear(6, 5), 5, 4, 3)


def views():
    g = torch.Generator().manual_seed(0)
    return torch.randn(10, 6, generator=g), torch.randn(10, 6, generator=g)


def gradients(network, loss):
    network.zero_grad()
    loss.backward()
    return {name: None if p.grad is None else p.grad.clone() for name, p in network.named_parameters()}


def small(rng, n=60):
    return np.concatenate([rng.normal(k * 4, 1, size=(n // 3, 5)) for k in range(3)])


def test_without_its_changes_it_is_c3():
    x = small(np.random.default_rng(0))
    same = {"cc_epochs": 2, "epochs": 2, "cc_lr": 1e-3, "lr": 1e-4, "cc_schedule": "constant", "random_state": 0}
    off = C3Adaptive(3, warmup=0, zeta=0.6, head="frozen", settle=0, guard=False, encoder=None, **same).fit(x)
    np.testing.assert_array_equal(off.predict_proba(x), C3(3, **same).fit(x).predict_proba(x))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"head": "frozn"}, "Did you mean frozen"),
        ({"zeta": 2}, r"zeta=2 is outside \[-1, 1\]"),
        ({"warmup": 2}, "warmup=2"),
        ({"settle": -1}, "settle=-1"),
        ({"guard": 3}, "guard=3"),
    ],
)
def test_bad_parameters_get_one_sentence(params, message):
    with pytest.raises(ValueError, match=message):
        C3Adaptive(2, **params).fit(np.random.default_rng(0).normal(size=(20, 3)))


def test_a_following_head_leaves_f_and_g_i_exactly_the_c3_loss(network):
    frozen = gradients(network, AdaptiveObjective(0.6, 1.0, "frozen")(network, Batch(*views()))["loss"])
    follow = gradients(network, AdaptiveObjective(0.6, 1.0, "follow")(network, Batch(*views()))["loss"])
    x_a, x_b = views()
    with torch.no_grad():
        h_a, h_b = network.encode(x_a), network.encode(x_b)
    head = gradients(network, cluster_loss(network.assign(h_a), network.assign(h_b)))
    for name, gradient in follow.items():
        torch.testing.assert_close(gradient, head[name] if name.startswith("g_c") else frozen[name])


def test_a_frozen_head_is_unchanged_by_stage_2_and_a_following_one_moves():
    x = small(np.random.default_rng(0))
    cc = CC(3, epochs=3, random_state=0).fit(x)
    for head in ("frozen", "follow"):
        before = copy.deepcopy(cc.network_.state_dict())
        c3 = C3Adaptive(3, start=cc, head=head, epochs=2, settle=0, zeta=0.6, lr=1e-2, guard=False, random_state=0).fit(
            x
        )
        after = c3.network_.state_dict()
        same = {name: torch.equal(before[name], after[name]) for name in before}
        assert all(same[name] == (head == "frozen") for name in same if name.startswith("g_c"))
        assert not same["g_i.0.weight"]
        assert all(torch.equal(before[k], v) for k, v in cc.network_.state_dict().items()), "start must not change"


def test_a_head_that_lost_the_clusters_is_taught_them_before_settling():
    x = small(np.random.default_rng(0), n=120)
    cc = CC(3, epochs=30, random_state=0).fit(x)
    kept = C3Adaptive(3, start=cc, epochs=1, settle=1, zeta=0.8, random_state=0).fit(x)
    assert kept.notes_ == []
    with torch.no_grad():
        cc.network_.g_c[2].weight.zero_()  # a head that puts all samples into one cluster
        cc.network_.g_c[2].bias.copy_(torch.tensor([5.0, 0.0, 0.0]))
    taught = C3Adaptive(3, start=cc, epochs=1, settle=1, zeta=0.8, random_state=0).fit(x)
    assert "disagreed with k-means in z" in taught.notes_[0]
    assert np.bincount(taught.labels_, minlength=3).min() > 30


def test_settling_is_recorded_as_a_stage_and_can_be_left_out():
    x = small(np.random.default_rng(0))

    def stages(**params):
        return [s["name"] for s in C3Adaptive(3, epochs=1, random_state=0, **params).fit(x).stages_]

    assert stages(cc_epochs=3) == ["warmup", "cc", "c3", "settle"]
    assert stages(warmup=0, cc_epochs=2, settle=0) == ["cc", "c3"]
    assert stages(warmup=0, cc_epochs=2, head="frozen") == ["cc", "c3"]


def test_a_head_keeps_its_clusters_where_those_of_z_have_become_uneven(monkeypatch):
    x = small(np.random.default_rng(0), n=120)
    cc = CC(3, epochs=30, random_state=0).fit(x)
    even, uneven = torch.arange(120) % 3, torch.zeros(120, dtype=torch.int64)
    uneven[:8], uneven[8:16] = 1, 2
    found = iter([even, uneven])
    h = torch.zeros(120, cc.network_.g_c[0].in_features)
    monkeypatch.setattr(
        "c3clust.methods.c3_adaptive.estimator.cluster_projections", lambda network, context: (h, next(found))
    )
    kept = C3Adaptive(3, start=cc, epochs=1, settle=1, zeta=0.8, random_state=0).fit(x)
    assert "left unchanged" in kept.notes_[0]
    assert np.bincount(kept.labels_, minlength=3).min() > 30
