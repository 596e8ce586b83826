"""The interval of a check covers the true accuracy, whatever the clusters are; it knows what halves it."""

import numpy as np
import pytest

from c3clust.errors import InputError
from c3clust.review.check import accuracy, draw


@pytest.mark.parametrize("shares", [(0.9, 0.9), (1.0, 0.5), (0.99, 0.97, 0.2), (0.6,) * 40, (0.995,) * 5])
@pytest.mark.parametrize("n", [90, 2000])
def test_the_interval_covers_the_true_accuracy(shares, n):
    rng = np.random.default_rng(0)
    labels = np.minimum(rng.geometric(2 / (1 + len(shares)), n) - 1, len(shares) - 1)  # uneven
    right = rng.random(n) < np.asarray(shares)[labels]
    found = [accuracy(right[draw(labels, 30, seed)], n) for seed in range(200)]
    assert np.mean([each.low <= right.mean() <= each.high for each in found]) >= 0.9
    assert np.mean([each.estimate for each in found]) == pytest.approx(right.mean(), abs=0.01)


def test_every_cluster_has_its_share_of_the_checks_and_no_sample_two():
    labels = np.repeat([0, 1, 2, -1], [600, 300, 90, 10])
    for seed in range(20):
        rows = draw(labels, 30, seed)
        assert len(set(rows.tolist())) == 30
        counts = [int((labels[rows] == cluster).sum()) for cluster in (0, 1, 2)]
        assert all(abs(count - share) < 1 for count, share in zip(counts, (18, 9, 2.7), strict=True))


def test_more_checks_halve_the_interval():
    right = np.arange(30) % 5 > 0
    first = accuracy(right, 10_000)
    assert first.low < 0.8 < first.high
    again = accuracy(np.arange(30 + first.more) % 5 > 0, 10_000)
    assert (again.high - again.low) / (first.high - first.low) == pytest.approx(0.5, abs=0.02)


def test_all_samples_checked_leave_no_doubt():
    found = accuracy(np.array([True, True, False, True]), 4)
    assert found.low == found.high == 0.75
    assert found.more == 0
    assert accuracy(np.ones(30, bool), 1000).low < 0.95


def test_no_checks_are_refused():
    with pytest.raises(InputError, match="0 checks of 10 samples"):
        accuracy(np.array([]), 10)
