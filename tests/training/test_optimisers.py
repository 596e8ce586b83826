"""Optimisers and schedules by name: their settings, warm-up, and the schedules of torch."""

import numpy as np
import pytest
import torch

from c3clust.errors import InputError
from c3clust.methods.scan import SCAN
from c3clust.methods.simclr import SimCLR
from c3clust.training import Stage
from c3clust.training.optimisers import make_optimiser, rate_factor


def test_optimisers_have_their_settings():
    weight = [torch.zeros(2, requires_grad=True)]
    made = make_optimiser({"name": "sgd", "momentum": 0.9, "weight_decay": 5e-4}, weight, 0.1)
    assert isinstance(made, torch.optim.SGD)
    assert made.defaults["momentum"] == 0.9
    assert made.defaults["weight_decay"] == 5e-4
    assert isinstance(make_optimiser("adamw", weight, 0.1), torch.optim.AdamW)
    assert isinstance(make_optimiser("rmsprop", weight, 0.1), torch.optim.RMSprop)


def test_warm_up_grows_and_the_rest_follows_the_schedule():
    spec = {"name": "cosine", "warmup": 10}
    assert [rate_factor(spec, done, 100) for done in (0, 0.05, 0.1, 0.55, 1)] == pytest.approx([0, 0.5, 1, 0.5, 0])
    assert rate_factor({"name": "constant", "warmup": 4}, 0.5, 4) == 0.5
    assert rate_factor("cosine", 0.5, 7) == pytest.approx(0.5)


def test_schedules_of_torch():
    spec = {"name": "MultiStepLR", "milestones": [2, 3], "gamma": 0.5}
    assert [rate_factor(spec, epoch / 4, 4) for epoch in range(4)] == [1, 1, 0.5, 0.25]
    assert rate_factor({"name": "ExponentialLR", "gamma": 0.9}, 0.5, 4) == pytest.approx(0.81)
    assert rate_factor({**spec, "warmup": 2}, 0.75, 4) == 1


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"optimizer": "sdg"}, "optimizer='sdg' is unknown. Did you mean 'sgd'"),
        ({"optimizer": {"name": "sgd", "momentun": 1}}, "does not fit sgd"),
        ({"optimizer": {"momentum": 0.9}}, "has no name"),
        ({"schedule": "cosin"}, "schedule='cosin' is unknown"),
        ({"schedule": {"name": "MultiStep"}}, "schedule='MultiStep' is unknown"),
        ({"schedule": {"name": "MultiStepLR"}}, "does not fit MultiStepLR"),
    ],
)
def test_a_wrong_setting_is_found_before_training(setting, message):
    with pytest.raises(InputError, match=message):
        SimCLR(2, epochs=1, **setting).fit(np.random.default_rng(0).random((12, 4)))


def test_a_stage_with_optimisers_of_its_own_rejects_another():
    from c3clust.methods.spice import SPICE

    assert "optimizer" not in SPICE().get_params()
    assert Stage("one", 2, 8, 0.1).optimiser == "adam"


@pytest.mark.parametrize("optimizer", ["rmsprop", {"name": "sgd", "momentum": 0.9}])
def test_a_run_with_another_optimiser_is_resumed_bit_for_bit(optimizer, tmp_path):
    x = np.random.default_rng(0).random((24, 4)).astype(np.float32)
    params = {"pretrain_epochs": 2, "epochs": 2, "optimizer": optimizer, "lr": 0.01, "random_state": 0}
    whole = SCAN(3, **params).fit(x)
    schedule = {"name": "StepLR", "step_size": 1, "gamma": 0.5}
    rates = SCAN(3, **params, schedule=schedule).fit(x).stages_[1]["curves"]["learning_rate"]
    assert rates == [0.01, 0.005]
    other = SCAN(3, **{**params, "optimizer": "adam"}).fit(x)
    assert not torch.equal(whole.network_.body.f[0].weight, other.network_.body.f[0].weight)
