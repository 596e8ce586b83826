"""DeCNN's cost against a plain loop, its inference, and its filters."""

import numpy as np
import pytest
import torch

from c3clust.methods.decnn import DeCNN, infer, largest_gain, reconstruct, sparse_cost


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_cost_equals_the_loop():
    y, z, filters = random(1, 2, 4, 4), random(1, 3, 4, 4, seed=1), random(3, 2, 3, 3, seed=2)
    made = np.zeros((2, 4, 4))
    for c in range(2):
        for k in range(3):
            for i in range(4):
                for j in range(4):
                    for a in range(3):
                        for b in range(3):
                            if 0 <= i + a - 1 < 4 and 0 <= j + b - 1 < 4:
                                made[c, i + a - 1, j + b - 1] += (z[0, k, i, j] * filters[k, c, a, b]).item()
    np.testing.assert_allclose(reconstruct(z, filters)[0].numpy(), made, atol=1e-10)
    expected = 5 * np.square(made - y[0].numpy()).sum() + z.abs().sum().item()
    assert sparse_cost(y, z, filters, 10.0).item() == pytest.approx(expected)


def test_inference_lowers_the_cost_to_a_minimum():
    y, filters = random(2, 1, 6, 6), torch.nn.functional.normalize(random(4, 1, 3, 3).flatten(1)).view(4, 1, 3, 3)
    gain = largest_gain(filters.float(), (1, 4, 6, 6)).double()
    costs = [sparse_cost(y, infer(y, filters, 10.0, gain, steps), filters, 10.0).sum().item() for steps in (0, 10, 300)]
    assert costs[0] > costs[1] > costs[2]
    best = infer(y, filters, 10.0, gain, 300)
    for seed in range(3):
        other = best + 0.01 * random(*best.shape, seed=seed)
        assert sparse_cost(y, other, filters, 10.0).sum() > costs[2]


def test_strong_sparsity_leaves_nothing():
    y, filters = random(1, 1, 4, 4), random(2, 1, 3, 3)
    assert (infer(y, filters, 1e-6, torch.tensor(10.0), 5) == 0).all()


def test_one_stage_for_each_layer_and_filters_of_unit_length():
    x = np.random.default_rng(0).random((20, 8, 8))
    found = DeCNN(2, maps=(4, 6), epochs=1, n_init=1, random_state=0).fit(x)
    assert [stage["name"] for stage in found.stages_] == ["layer 1", "layer 2"]
    assert found.transform(x).shape == (20, 6 * 16)
    norms = found.network_.body.unit(1).flatten(1).norm(dim=1)
    torch.testing.assert_close(norms, torch.ones(6))


def test_a_filter_needs_a_centre():
    with pytest.raises(ValueError, match="kernel=4 is even"):
        DeCNN(2, kernel=4).fit(np.zeros((5, 8, 8)))
