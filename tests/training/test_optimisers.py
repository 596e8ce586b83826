"""Optimisers and schedules by name: their settings, warm-up, and the schedules of torch."""

from functools import partial

import numpy as np
import pytest
import torch

from c3clust import methods
from c3clust.errors import InputError
from c3clust.methods.scan import SCAN
from c3clust.methods.simclr import SimCLR
from c3clust.methods.spice import SelfObjective
from c3clust.training import Stage
from c3clust.training.loop import _optimisers
from c3clust.training.optimisers import make_optimiser, rate_factor
from c3clust.training.state import _load_optimiser_state, _optimiser_state


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


def test_a_schedule_may_be_a_function_of_an_optimiser():
    halved = partial(torch.optim.lr_scheduler.StepLR, step_size=1, gamma=0.5)
    assert [rate_factor(halved, epoch / 3, 3) for epoch in range(3)] == [1, 0.5, 0.25]
    x = np.random.default_rng(0).random((12, 4)).astype(np.float32)
    curves = SimCLR(2, epochs=3, lr=0.1, schedule=halved, random_state=0).fit(x).stages_[0]["curves"]
    assert curves["learning_rate"] == pytest.approx([0.1, 0.05, 0.025])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"schedule": lambda optimiser: None}, "gave a NoneType"),
        ({"optimizer": "sdg"}, "optimizer='sdg' is unknown. Did you mean sgd"),
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
    stage = Stage("self", 2, 8, 0.1, optimiser="sgd")
    with pytest.raises(InputError, match="Stage self has optimisers of its own"):
        _optimisers(SelfObjective(), torch.nn.Linear(2, 2), stage)


@pytest.mark.parametrize("spec", ["adamw", "rmsprop", {"name": "sgd", "momentum": 0.9, "weight_decay": 0.1}])
def test_the_state_of_an_optimiser_is_resumed_bit_for_bit(spec):
    weights = [torch.ones(3, requires_grad=True) for _ in range(2)]
    optimisers = [make_optimiser(spec, [weight], 0.1) for weight in weights]

    def step(i):
        weights[i].grad = weights[i].detach().square() + 1
        optimisers[i].step()

    step(0)
    with torch.no_grad():
        weights[1].copy_(weights[0])
    saved = {name: value.clone() for name, value in _optimiser_state(optimisers[0]).items()}
    _load_optimiser_state(optimisers[1], saved)
    step(0)
    step(1)
    assert torch.equal(*weights)


def test_methods_train_with_the_optimiser_and_the_schedule():
    x = np.random.default_rng(0).random((24, 4)).astype(np.float32)
    params = {"pretrain_epochs": 2, "epochs": 2, "lr": 0.01, "random_state": 0}
    schedule = {"name": "StepLR", "step_size": 1, "gamma": 0.5}
    found = SCAN(3, **params, optimizer="sgd", schedule=schedule).fit(x)
    assert found.stages_[1]["curves"]["learning_rate"] == [0.01, 0.005]
    other = SCAN(3, **params, schedule=schedule).fit(x)
    assert not torch.equal(found.network_.heads.linear.weight, other.network_.heads.linear.weight)


@pytest.mark.parametrize("name", [name for name in methods.names() if "optimizer" in methods.parameters(name)])
def test_every_method_with_the_parameter_trains_with_it(name):
    known = methods.parameters(name)
    short = {"epochs": 1, "pretrain_epochs": 1, "hidden": (8,), "n_init": 1, "batch_size": 8, "random_state": 0}
    params = {key: value for key, value in short.items() if key in known}
    x = np.random.default_rng(0).random((24, 4)).astype(np.float32)
    plain, decayed = (
        methods.load(name)(3, **params, optimizer=optimizer).fit(x).network_.state_dict()
        for optimizer in ("adam", {"name": "adam", "weight_decay": 0.5})
    )
    assert any(not torch.equal(plain[key], decayed[key]) for key in plain)
