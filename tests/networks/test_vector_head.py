"""VectorHead: its probabilities, their calibration, and what a file may hold."""

import numpy as np
import pytest
import torch

from c3clust.networks.vector_head import VectorHead, expand, expanded_width


def filled(unit=True, quadratic=False):
    g = torch.Generator().manual_seed(0)
    network = VectorHead(3, 6)
    network.centre.copy_(torch.randn(6, generator=g))
    network.unit.fill_(unit)
    network.scale.fill_(1.0 if unit else 2.0)
    network.weight = torch.randn(3, expanded_width(6) if quadratic else 6, generator=g)
    network.bias = torch.randn(3, generator=g)
    return network


@pytest.mark.parametrize("unit", [True, False])
@pytest.mark.parametrize("quadratic", [True, False])
def test_the_probabilities_equal_the_loop(unit, quadratic):
    network, x = filled(unit, quadratic), torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
    z, c = network(x)
    for i in range(5):
        row = (x[i] - network.centre) / network.scale
        row = row / row.norm() if unit else row
        terms = [*row, *(row[a] * row[b] for a in range(6) for b in range(a, 6))] if quadratic else row
        logits = torch.stack([sum(w * t for w, t in zip(weight, terms, strict=True)) for weight in network.weight])
        np.testing.assert_allclose(c[i], torch.softmax(logits + network.bias, dim=0), atol=1e-5)
        np.testing.assert_allclose(z[i], row, atol=1e-6)


def test_the_number_of_products():
    assert expand(torch.randn(2, 6)).shape == (2, expanded_width(6))


def test_temperature_one_changes_nothing_and_a_high_one_makes_all_clusters_alike():
    network, x = filled(), torch.randn(5, 6)
    before = network(x)[1]
    torch.testing.assert_close(network.assign(network.project(x)).float(), before, atol=1e-5, rtol=0)
    network.temperature.fill_(1e4)
    torch.testing.assert_close(network(x)[1], torch.full((5, 3), 1 / 3), atol=1e-3, rtol=0)


def test_one_sample_alone_has_the_same_probabilities():
    network, x = filled(quadratic=True), torch.randn(50, 6)
    assert torch.equal(network(x)[1].argmax(1), torch.cat([network(row[None])[1] for row in x]).argmax(1))


@pytest.mark.parametrize("quadratic", [True, False])
def test_whether_it_is_quadratic_comes_from_the_file(quadratic):
    other = VectorHead(3, 6)
    other.load_state_dict(filled(quadratic=quadratic).state_dict())
    x = torch.randn(4, 6)
    assert torch.equal(other(x)[1], filled(quadratic=quadratic)(x)[1])


@pytest.mark.parametrize("value", [torch.zeros(3, 7), torch.zeros(2, 3, 2)])
def test_weights_that_do_not_fit_are_refused(value):
    with pytest.raises(ValueError, match="do not fit"):
        VectorHead(3, 6).load_state_dict(filled().state_dict() | {"weight": value})
