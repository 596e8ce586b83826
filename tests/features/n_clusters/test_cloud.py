"""The cloud without clusters: it has the covariance of the data and their tails, and one mode."""

import numpy as np
import pytest

from c3clust.features.n_clusters.cloud import clouds, unimodal


def drawn(x, unit=False, count=30):
    x = x.astype(np.float32)
    return x - x.mean(0), np.concatenate(clouds(x, unit, np.random.default_rng(1), count))


def kurtosis(v):
    return float((v**4).mean() / (v**2).mean() ** 2)


@pytest.mark.parametrize("kind", ["gaussian", "cube", "student", "two blobs"])
def test_it_has_the_covariance_of_the_data(kind):
    rng, mixing = np.random.default_rng(0), np.array([[2.0, 0, 0, 0], [1, 1, 0, 0], [0, 0.5, 0.3, 0], [0, 0, 0, 1]])
    x = {
        "gaussian": rng.normal(size=(500, 4)),
        "cube": rng.random((500, 4)),
        "student": rng.normal(size=(500, 4)) / np.sqrt(rng.chisquare(5, (500, 1)) / 5),
        "two blobs": rng.normal(size=(500, 4)) + 6 * (rng.random((500, 1)) < 0.5),
    }[kind]
    z, cloud = drawn(x @ mixing)
    size = np.trace(np.cov(z.T))
    np.testing.assert_allclose(np.cov(cloud.T) / size, np.cov(z.T) / size, atol=0.08)


def test_heavy_tails_stay_heavy_and_a_cube_keeps_its_sides():
    rng = np.random.default_rng(0)
    z, cloud = drawn(rng.normal(size=(500, 6)) / np.sqrt(rng.chisquare(5, (500, 1)) / 5))
    far = [np.quantile(np.linalg.norm(each, axis=1), [0.5, 0.9, 0.99]) for each in (z, cloud)]
    np.testing.assert_allclose(far[1], far[0], rtol=0.1)
    _, cloud = drawn(rng.random((500, 2)))
    assert np.abs(cloud).max() < 0.55
    assert kurtosis(cloud[:, 0]) == pytest.approx(1.8, abs=0.1)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_it_has_one_mode_where_the_data_have_two(d):
    x = np.random.default_rng(0).normal(size=(300, d))
    x[:150, 0] += 10
    _, cloud = drawn(x)
    left, middle, right = ((np.abs(cloud[:, 0] - at) < 1).mean() for at in (-5, 0, 5))
    assert middle > 0.8 * min(left, right) > 0


def test_rows_of_unit_length_stay_so():
    x = np.random.default_rng(0).normal(size=(50, 8))
    _, cloud = drawn(x, unit=True, count=1)
    np.testing.assert_allclose(np.linalg.norm(cloud, axis=1), 1, rtol=1e-5)


def test_more_features_than_samples_constant_features_and_copies_are_no_error():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(40, 100)) / np.sqrt(rng.chisquare(3, (40, 1)) / 3)
    flat = np.c_[rng.random((40, 2)), np.ones(40)]
    copies = np.repeat(np.eye(3), 10, axis=0)
    for x in (wide, flat, copies):
        assert np.isfinite(drawn(x, count=2)[1]).all()


def test_the_nearest_unimodal_distribution_of_a_unimodal_sample_is_close_to_it():
    x = np.sort(np.random.default_rng(0).normal(size=400))
    share, at = unimodal(x)
    empirical = np.arange(400) / 399
    assert np.abs(np.interp(x, at, share) - empirical).max() < 0.04
    density = np.diff(share) / np.diff(at)
    mode = density.argmax()
    assert (np.diff(density[: mode + 1]) >= -1e-9).all()
    assert (np.diff(density[mode:]) <= 1e-9).all()
