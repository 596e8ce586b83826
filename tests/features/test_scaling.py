"""A common shift or scale of the features changes nothing: they are centred in float64 before they become float32."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from c3clust import ari, data, load, methods
from c3clust.errors import InputError

SMALL = {
    "n_clusters": 3, "cc_epochs": 30, "pretrain_epochs": 10, "epochs": 12, "hidden": (16,), "n_init": 2,
    "random_state": 0,
}  # fmt: skip
CHANGES = {
    "offset": lambda x: x + 1e6,
    "small": lambda x: x * 1e-6,
    "large": lambda x: x * 1e6,
    "small and far": lambda x: x * 1e-6 + 1,
}
QUICK = ("ac", "consensus", "kmeans", "nmf", "sc")
CASES = [
    *((name, "small and far") for name in methods.names()),
    *((name, change) for name in QUICK for change in ("offset", "small", "large")),
]


def make(name, **changes):
    known = methods.parameters(name)
    return methods.load(name)(**{k: v for k, v in (SMALL | changes).items() if k in known})


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(150, n_features=8, centers=3, cluster_std=1.0, random_state=1)


@pytest.mark.parametrize(("name", "change"), CASES)
def test_blobs_are_found_wherever_they_are(name, change, blobs, tmp_path):
    x, y = blobs
    x = CHANGES[change](x)
    fitted = make(name).fit(x)
    assert ari(y, fitted.labels_) > 0.9
    np.testing.assert_array_equal(fitted.predict(x), fitted.labels_)
    fitted.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(x), fitted.predict_proba(x))


@pytest.mark.parametrize("scale", ["auto", "standard", "l2", "none"])
@pytest.mark.parametrize("change", [*CHANGES, "far"])
def test_labels_of_kmeans_are_the_same(change, scale, blobs):
    x, _ = make_blobs(300, n_features=8, centers=6, cluster_std=3.0, random_state=2)  # they overlap
    changed = x + 1e9 if change == "far" else CHANGES[change](x)
    if scale == "l2" and change in ("offset", "far", "small and far"):
        pytest.skip("unit length is measured from the origin")
    before, after = (make("kmeans", n_clusters=6, scale=scale).fit_predict(values) for values in (x, changed))
    np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("name", ["kmeans", "consensus"])
def test_wide_vectors_and_stored_views(name, blobs):
    x, y = make_blobs(120, n_features=80, centers=3, random_state=1)
    assert ari(y, make(name).fit_predict(x + 1e8)) > 0.95
    views = np.stack([x, x + 0.01], axis=1) + 1e8
    assert ari(y, make(name).fit(data.load(views, embeddings=True)).labels_) > 0.95


def test_float32_features_with_an_offset(blobs):
    x, y = blobs
    assert ari(y, make("kmeans").fit_predict((x + 1e4).astype(np.float32))) == 1


def test_probabilities_do_not_depend_on_the_scale(blobs):
    x, _ = blobs
    small, large = (make("kmeans").fit(x * k).predict_proba(x * k) for k in (2.0**-60, 2.0**60))
    np.testing.assert_array_equal(small, large)


def test_a_feature_that_is_lost_beside_another_is_noted(blobs, caplog, tmp_path):
    x, _ = blobs
    fitted = make("kmeans").fit(np.column_stack([x * 1e60, x[:, 0]]), run_dir=tmp_path / "run")
    assert "feature 8 differ so little" in caplog.text
    assert any("feature 8" in note for note in fitted.notes_)
    assert "feature 8" in (tmp_path / "run" / "record.json").read_text()


@pytest.mark.parametrize("name", ["kmeans", "cc", "c3"])
def test_values_that_differ_by_rounding_only_are_refused(name):
    x = np.random.default_rng(0).normal(size=(30, 3)) * 1e-16 + 1
    assert len(np.unique(x)) > 1
    with pytest.raises(InputError, match="only by rounding errors"):
        make(name, scale="standard").fit(x)


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_whose_differences_floats_lose_are_refused(kind):
    near, rng = np.arange(60).reshape(30, 2), np.random.default_rng(0)
    blobs = rng.integers(0, 3000, (30, 2)) * 10  # several steps of 1,024 apart: rounded, and not equal
    for x in (2**62 + near, 2**62 + blobs):
        with pytest.raises(InputError, match="differences are lost in floats, which have steps of 1024"):
            make("kmeans").fit(x.astype(kind))
    assert len(make("kmeans").fit((2**62 + blobs * 2**40).astype(kind)).labels_) == 30
