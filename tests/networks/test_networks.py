"""Encoders by name: shapes, sizes, stems, and what does not fit."""

import pytest
import torch
from torch import nn

from c3clust.errors import InputError
from c3clust.networks import ClusterNet, backbone, names
from c3clust.networks.maps import as_map, deep_channels, deep_map, shallow_channels, shallow_map
from c3clust.networks.momentum import MomentumNetwork


@pytest.mark.parametrize("name", [n for n in names() if n not in ("mlp", "shallow")])
@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 33, 17)])
def test_encoders_give_the_width_they_promise(name, shape):
    f, width = backbone(name, shape)
    assert f(torch.rand(2, *shape)).shape == (2, width)


def test_auto_follows_the_input():
    assert type(backbone("auto", (1, 28, 28))[0]).__name__ == "ConvNet"
    assert type(backbone("auto", (3, 64, 64))[0]).__name__ == "ResNet"
    layers = {features: [type(m) for m in backbone("auto", (features,))[0]] for features in (7, 1280)}
    assert layers[7].count(nn.Linear) == 2
    assert layers[1280].count(nn.Linear) == 1


@pytest.mark.parametrize(("name", "millions"), [("resnet18", 11.2), ("resnet34", 21.3), ("resnet50", 23.5)])
def test_resnets_have_the_known_numbers_of_weights(name, millions):
    """Those of the original networks without their last layer."""
    f, _ = backbone(name, (3, 224, 224))
    assert sum(p.numel() for p in f.parameters()) / 1e6 == pytest.approx(millions, abs=0.05)


@pytest.mark.parametrize(
    ("side", "stem", "kernel"), [(32, "auto", 3), (224, "auto", 7), (32, "imagenet", 7), (224, "small", 3)]
)
def test_the_stem_follows_the_size_unless_asked_otherwise(side, stem, kernel):
    f, _ = backbone("resnet18", (3, side, side), stem)
    assert f.stem[0].kernel_size == (kernel, kernel)


def test_a_module_of_ones_own_is_copied_and_measured():
    own = nn.Sequential(nn.Flatten(), nn.Linear(12, 5))
    f, width = backbone(own, (3, 2, 2))
    assert width == 5
    assert f is not own


@pytest.mark.parametrize(
    ("which", "shape", "message"),
    [
        ("rsnet34", (3, 8, 8), "Did you mean resnet34"),
        ("mlp", (3, 8, 8), "does not fit inputs"),
        ("convnet", (9,), "does not fit inputs"),
        (nn.Linear(3, 4), (3, 8, 8), "Linear does not take inputs"),
    ],
)
def test_what_does_not_fit_is_said(which, shape, message):
    with pytest.raises(InputError, match=message):
        backbone(which, shape)


def test_heads_give_unit_rows_and_distributions():
    network = ClusterNet(nn.Flatten(), 12, 4, 3)
    z, c = network(torch.rand(5, 3, 2, 2))
    torch.testing.assert_close(z.norm(dim=1), torch.ones(5))
    torch.testing.assert_close(c.sum(dim=1), torch.ones(5))


def test_a_momentum_network_follows_without_gradient():
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    copy = MomentumNetwork(network, 0.75)
    before = network[0].weight.detach().clone()
    with torch.no_grad():
        network[0].weight.add_(4.0)
        network[1].num_batches_tracked.fill_(7)
    copy.follow(network)
    torch.testing.assert_close(copy.network[0].weight, before + 1)
    assert copy.network[1].num_batches_tracked == 7
    assert not any(p.requires_grad for p in copy.network.parameters())


@pytest.mark.parametrize(("which", "shape"), [("convnet", (1, 12, 9)), ("resnet18", (3, 32, 32)), ("mlp", (7,))])
def test_maps_inside_an_encoder(which, shape):
    f, width = backbone(which, shape)
    x = torch.rand(2, *shape)
    shallow, deep = shallow_map(f, x), deep_map(f, x)
    assert (shallow.shape[1], deep.shape[1]) == (shallow_channels(f, shape), deep_channels(f, width))
    assert shallow.ndim == deep.ndim == 4
    assert shallow.shape[2] >= deep.shape[2]
    own = torch.nn.Flatten()
    assert torch.equal(shallow_map(own, x), as_map(x))
    assert shallow_channels(own, shape) == as_map(x).shape[1]
    assert deep_map(own, x).shape == (2, x[0].numel(), 1, 1)
