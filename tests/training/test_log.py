"""A function of the user is called after each epoch, with what the curves then have, and changes nothing."""

import numpy as np
import pytest

from c3clust.methods.scan import SCAN
from c3clust.training import log_to

PARAMS = {"n_clusters": 3, "pretrain_epochs": 2, "epochs": 1, "random_state": 0}


@pytest.fixture
def x():
    return np.random.default_rng(0).random((24, 4)).astype(np.float32)


def test_every_epoch_is_logged_as_in_the_curves(x):
    seen = []
    with log_to(seen.append):
        model = SCAN(**PARAMS).fit(x)
    assert [(entry["stage"], entry["epoch"]) for entry in seen] == [
        ("simclr", 1),
        ("simclr", 2),
        ("scan", 1),
        ("self_label", 1),
    ]
    for name in ("loss", "learning_rate", "cluster_sizes"):
        assert [entry[name] for entry in seen[:2]] == model.stages_[0]["curves"][name]
    SCAN(**PARAMS).fit(x)
    assert len(seen) == 4  # the block has ended


def test_two_logs_and_a_log_that_fails(x):
    first, second = [], []
    with log_to(first.append), log_to(second.append):
        logged = SCAN(**PARAMS).fit(x)
    assert first == second
    assert (logged.labels_ == SCAN(**PARAMS).fit(x).labels_).all()
    with pytest.raises(ZeroDivisionError), log_to(lambda entry: 1 / 0):
        SCAN(**PARAMS).fit(x)
    SCAN(**PARAMS).fit(x)


def test_fit_logs_to_a_function(x):
    seen, block = [], []
    SCAN(**PARAMS).fit(x, log=seen.append)
    with log_to(block.append):
        SCAN(**PARAMS).fit(x)
    assert [(entry["stage"], entry["loss"]) for entry in seen] == [(entry["stage"], entry["loss"]) for entry in block]
