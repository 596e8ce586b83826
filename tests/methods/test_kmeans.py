"""K-means is scikit-learn's."""

import tracemalloc

import numpy as np
import pytest
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from c3clust import KMeans, ari, data, methods
from c3clust.networks import readouts


def test_labels_equal_scikit_learns_on_the_same_pixels():
    pixels = (load_digits().images / 16).astype(np.float32)
    ours = KMeans(10, random_state=0).fit(pixels)
    theirs = SklearnKMeans(10, n_init=10, random_state=0).fit(pixels.reshape(len(pixels), -1))
    assert (ours.labels_ == theirs.labels_).mean() > 0.999
    assert (ours.predict(pixels) == ours.labels_).all()


def test_identical_samples_give_finite_probabilities():
    c = KMeans(1, random_state=0).fit(np.zeros((5, 2))).predict_proba(np.zeros((2, 2)))
    assert np.isfinite(c).all()


def test_fewer_distinct_samples_than_clusters_are_told_once():
    with pytest.warns(ConvergenceWarning, match="1 of the 3 requested clusters have samples") as told:
        KMeans(3, random_state=0).fit(np.ones((20, 2)))
    assert len(told) == 1


def test_starts_are_compared_on_a_sample_of_many(monkeypatch):
    """One start only sees all samples, and ends where k-means on all of them does."""
    x = np.random.default_rng(0).normal(size=(3000, 2)) + 6 * np.eye(2)[np.arange(3000) % 2]
    whole, seen = KMeans(2, random_state=0).fit(x), []

    class Counted(SklearnKMeans):
        def fit(self, x):
            seen.append((len(x), self.n_init))
            return super().fit(x)

    monkeypatch.setattr(readouts, "KMeans", Counted)
    monkeypatch.setattr(readouts, "COMPARED", 400)
    found = KMeans(2, random_state=0).fit(x)
    assert seen == [(400, 10), (3000, 1)]
    assert ari(whole.labels_, found.labels_) > 0.99
    seen.clear()
    KMeans(2, random_state=0).fit(x[:800])
    assert seen == [(800, 10)]


# Memory


@pytest.fixture(scope="module")
def pictures():
    """8,000 colour pictures of 16 px around four kinds, 25 MB as float32."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 8000)
    x = rng.integers(60, 190, (4, 3, 16, 16))[y] + rng.normal(0, 25, (8000, 3, 16, 16))
    return np.clip(x, 0, 255).astype(np.uint8), y


def traced_peak(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["kmeans", "nmf"])
def test_all_samples_are_held_once_or_twice(name, pictures):
    x, _ = pictures
    fitted = methods.load(name)(4, n_init=1, random_state=0)
    assert traced_peak(lambda: fitted.fit(x)) < 2.1 * 4 * x.size  # scikit-learn computes the variances of a copy


def test_above_the_limit_it_is_computed_in_mini_batches(pictures, tmp_path):
    x, y = pictures
    np.save(tmp_path / "x.npy", x)
    samples, fitted = data.load(tmp_path / "x.npy", memory=2**20), KMeans(4, n_init=3, random_state=0)
    peak = traced_peak(lambda: fitted.fit(samples))
    assert peak < 4 * x.size
    assert ari(y, fitted.labels_) > 0.99
    assert any("mini-batches" in note and "23 MB" in note for note in fitted.notes_)
    assert (fitted.predict(samples) == fitted.labels_).all()
    whole = KMeans(4, n_init=3, random_state=0).fit(x)
    assert ari(whole.labels_, fitted.labels_) > 0.99
    np.testing.assert_allclose(fitted.network_.spread, whole.network_.spread, rtol=0.01)
    assert not any("mini-batches" in note for note in whole.notes_)


def test_a_run_above_the_limit_has_its_report(pictures, tmp_path):
    x, _ = pictures
    np.save(tmp_path / "x.npy", x[:300])
    KMeans(4, random_state=0).fit(data.load(tmp_path / "x.npy", memory=1000), run_dir=tmp_path / "run")
    assert "mini-batches" in (tmp_path / "run" / "record.json").read_text()
    assert (tmp_path / "run" / "report.html").exists()


def test_other_methods_say_that_they_hold_all_samples(pictures, caplog):
    x, _ = pictures
    samples = data.load(x[:100], memory=1000)
    fitted = methods.load("ac")(4).fit(samples)
    assert any("holds all 100 samples in memory" in note for note in fitted.notes_)
    assert "holds all 100 samples" in caplog.text
