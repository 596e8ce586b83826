"""The choice of zeta: what is expected, what it costs, and that it lands where clusters are whole."""

import numpy as np
import pytest

from c3clust import C3, CC
from c3clust.trainer import Stage
from c3clust.zeta import CANDIDATES, _steps, expected_positives


def test_equal_clusters_expect_2n_over_m():
    assert expected_positives(np.arange(600) % 6, 240) == pytest.approx(40)


def test_unequal_clusters_expect_more():
    labels = np.array([0] * 90 + [1] * 10)
    assert expected_positives(labels, 100) == pytest.approx(100 * (0.81 + 0.01))


@pytest.mark.parametrize(("epochs", "epoch"), [(8, 14), (5, 78), (20, 468), (1, 3), (20, 1)])
def test_the_probes_cost_a_quarter_of_the_stage_and_two_epochs_at_most(epochs, epoch):
    total = len(CANDIDATES) * 2 * _steps(Stage("c3", epochs, 128, 1e-4), epoch)
    assert total <= max(0.25 * epochs * epoch + 2 * epoch, 2 * len(CANDIDATES))


def test_auto_is_recorded_and_never_trains_the_start():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(k * 4, 1, size=(60, 5)) for k in range(3)])
    cc = CC(3, epochs=20, random_state=0).fit(x)
    before = cc.predict_proba(x)
    c3 = C3(3, start=cc, zeta="auto", epochs=4, batch_size=32, random_state=0).fit(x)
    account = c3.stages_[0]["zeta"]
    assert c3.zeta_ == account["chosen"] in CANDIDATES
    assert [probe["zeta"] for probe in account["probes"]] == list(CANDIDATES)
    best = min(account["probes"], key=lambda p: abs(np.log(p["ratio"])))
    assert best["zeta"] == c3.zeta_
    assert c3.notes_ == [account["why"]]
    np.testing.assert_array_equal(before, cc.predict_proba(x))


def test_probes_do_not_disturb_the_stage():
    """The chosen zeta given outright trains the same network: probes draw from a generator of their own."""
    x = np.random.default_rng(0).normal(size=(90, 5))
    cc = CC(3, epochs=2, random_state=0).fit(x)
    auto = C3(3, start=cc, zeta="auto", epochs=2, batch_size=32, random_state=0).fit(x)
    given = C3(3, start=cc, zeta=auto.zeta_, epochs=2, batch_size=32, random_state=0).fit(x)
    np.testing.assert_array_equal(auto.predict_proba(x), given.predict_proba(x))
