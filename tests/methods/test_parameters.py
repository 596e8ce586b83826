"""Every parameter of the package's main methods acts: another value gives another result, or there is a reason.

A result is the network, the labels, the views and the stages of a short fit.
"""

import numpy as np
import pytest
import torch

from c3clust import methods
from c3clust.networks.vector_head import VectorHead

METHODS = ("cc", "c3", "c3_adaptive", "consensus")
RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 255, (24, 3, 8, 8), dtype=np.uint8)
BLOBS = np.concatenate([RNG.normal(4 * k, 1 + k, size=(20, 70)) for k in range(3)])
REASONS = {
    "device": "there is one device here",
    "compile": "it changes the speed only",
    "verbose": "it changes what is printed only",
}
START = methods.load("cc")(3, epochs=0, random_state=5).fit(IMAGES)
SHORT = {
    "epochs": 2,
    "cc_epochs": 2,
    "guided_epochs": 1,
    "batch_size": 8,
    "cc_batch_size": 8,
    "settle": 1,
    "members": 3,
}
COPIES = np.concatenate([IMAGES[:12], IMAGES[:12]])

ON_IMAGES = {
    "n_clusters": 2, "image_size": 6, "outliers": True, "random_state": 1, "epochs": 1, "batch_size": 12, "lr": 0.1,
    "schedule": "other", "backbone": "resnet18", "stem": "imagenet", "augment": "none", "projection_dim": 7,
    "tau_i": 0.1, "tau_c": 0.2, "start": START, "zeta": 0.1, "gamma": 30.0, "twins": "threshold", "cc_epochs": 1,
    "cc_batch_size": 12, "cc_lr": 0.1, "cc_schedule": "other", "head": "joint", "settle": 0, "guard": False,
    "warmup": 0.0, "guided_epochs": 0, "members": 2, "prior": "free", "fold_duplicates": False,
    "encoder": torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 5)),
}  # fmt: skip
GIVEN = {"stem": {"backbone": "resnet18"}, "schedule": {"epochs": 3}, "cc_schedule": {"cc_epochs": 3}}
FEATURES = {"views": 0, "finetune": True}  # of an encoder


def short(name, **changes):
    known = methods.parameters(name)
    params = {key: value for key, value in SHORT.items() if key in known}
    if name == "c3_adaptive":
        params |= {"zeta": 0.6}  # "auto" searches for seconds
    return methods.load(name)(3, random_state=0).set_params(**params | changes)


def outcome(name, x, **changes):
    """What a fit gives, as numbers that can be compared."""
    torch.manual_seed(0)
    fitted = short(name, **changes).fit(x)
    weights = [tensor.double().sum().item() for tensor in fitted.network_.state_dict().values()]
    stages = [(stage["name"], stage["epochs"], "guard" in stage) for stage in fitted.stages_]
    return weights, fitted.labels_.tolist(), fitted.policy_, stages, len(fitted.duplicates_.distinct)


@pytest.mark.parametrize("name", methods.names())
def test_no_method_has_more_than_32_parameters(name):
    assert len(methods.parameters(name)) <= 32


@pytest.mark.parametrize(("name", "parameter"), [(m, p) for m in METHODS for p in methods.parameters(m)])
def test_another_value_gives_another_result(name, parameter):
    if parameter in REASONS:
        assert REASONS[parameter]
        return
    x = COPIES if parameter == "fold_duplicates" else IMAGES
    given = GIVEN.get(parameter, {})
    value = ON_IMAGES.get(parameter)
    if parameter in FEATURES:
        given = {"encoder": torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 5))}
        value = FEATURES[parameter]
    elif parameter == "scale":
        x = BLOBS
        value = "l2"
    elif value == "other":
        value = "cosine" if getattr(short(name), parameter) == "constant" else "constant"
    assert outcome(name, x, **given) != outcome(name, x, **given | {parameter: value})


def test_the_parameters_of_consensus_for_vectors_act_on_vectors():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 96)) / np.sqrt(96)
    x = centres[np.repeat(range(3), (150, 40, 20))] + 0.3 * rng.normal(size=(210, 96))  # k-means is not as good here
    even = outcome("consensus", x, prior="even")
    assert even != outcome("consensus", x, prior="free")
    assert isinstance(short("consensus").fit(x).network_, VectorHead)
