"""Adam is torch's, without its compiler."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from c3clust.training import Adam


@pytest.mark.parametrize("options", [{}, {"fused": True}, {"betas": (0.5, 0.999)}])
def test_steps_and_state_are_those_of_torch(options):
    networks = []
    for kind in (Adam, torch.optim.Adam):
        torch.manual_seed(0)
        network = nn.Linear(5, 3)
        optimiser = kind(network.parameters(), lr=1e-2, **options)
        for step in range(3):
            optimiser.zero_grad()
            network(torch.full((2, 5), 0.1 * step)).square().sum().backward()
            optimiser.step()
        networks.append([*network.parameters(), *optimiser.state_dict()["state"][0].values()])
    assert all(torch.equal(a, b) for a, b in zip(*networks, strict=True))


def test_a_state_is_loaded():
    network = nn.Linear(2, 1)
    first, second = (Adam(network.parameters(), lr=1e-2) for _ in range(2))
    network(torch.ones(1, 2)).sum().backward()
    first.step()
    second.load_state_dict(first.state_dict())
    assert torch.equal(second.state_dict()["state"][0]["exp_avg"], first.state_dict()["state"][0]["exp_avg"])


def test_training_does_not_import_the_compiler():
    code = """
import sys
import numpy as np
from c3clust import CC
CC(2, epochs=2, batch_size=8).fit(np.random.default_rng(0).random((16, 8, 8)))
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
