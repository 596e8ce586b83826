"""VotingHeads: the vote, its calibration, and what a file may hold."""

import numpy as np
import pytest
import torch

from c3clust.networks.voting import VotingHeads


def filled(unit=True):
    g = torch.Generator().manual_seed(0)
    network = VotingHeads(3, 6)
    network.centre.copy_(torch.randn(6, generator=g))
    network.unit.fill_(unit)
    network.scale.fill_(1.0 if unit else 2.0)
    network.dims = torch.tensor([[0, 2, 4], [1, 3, 5]])
    network.weight, network.bias = torch.randn(2, 3, 3, generator=g), torch.randn(2, 3, generator=g)
    return network


@pytest.mark.parametrize("unit", [True, False])
def test_the_vote_equals_the_loop(unit):
    network, x = filled(unit), torch.randn(5, 6, generator=torch.Generator().manual_seed(1))
    z, c = network(x)
    for i in range(5):
        row = (x[i] - network.centre) / network.scale
        row = row / row.norm() if unit else row
        votes = []
        for m in range(2):
            seen = row[network.dims[m]]
            seen = seen / seen.norm() if unit else seen
            votes.append(torch.softmax(network.weight[m] @ seen + network.bias[m], dim=0))
        np.testing.assert_allclose(c[i], torch.stack(votes).mean(0), atol=1e-6)
        np.testing.assert_allclose(z[i], row, atol=1e-6)


def test_temperature_one_changes_nothing_and_a_high_one_makes_all_clusters_alike():
    network, x = filled(), torch.randn(5, 6)
    before = network(x)[1]
    torch.testing.assert_close(network.vote(network.project(x)).float(), before)
    network.temperature.fill_(1e4)
    torch.testing.assert_close(network(x)[1], torch.full((5, 3), 1 / 3), atol=1e-3, rtol=0)


def test_the_number_of_members_comes_from_the_file():
    other = VotingHeads(3, 6)
    other.load_state_dict(filled().state_dict())
    x = torch.randn(4, 6)
    assert torch.equal(other(x)[1], filled()(x)[1])


@pytest.mark.parametrize(
    ("name", "value"), [("dims", torch.tensor([[0, 9, 4], [1, 3, 5]])), ("weight", torch.zeros(2, 3, 2))]
)
def test_heads_that_do_not_fit_are_refused(name, value):
    with pytest.raises(ValueError, match="do not fit together"):
        VotingHeads(3, 6).load_state_dict(filled().state_dict() | {name: value})
