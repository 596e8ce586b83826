"""What every method must do: the list is the folder c3clust/methods, so a new file is tested by being there."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

from c3clust import acc, load, methods

SMALL = {
    "n_clusters": 3,
    "cc_epochs": 12,
    "pretrain_epochs": 6,
    "epochs": 6,
    "hidden": (16,),
    "n_init": 2,
    "random_state": 0,
}
"""Budgets for tests: each method takes those of these parameters that it has."""


def make(name, **changes):
    known = inspect.signature(methods.load(name)).parameters
    return methods.load(name)(**{k: v for k, v in (SMALL | changes).items() if k in known})


@parametrize_with_checks([make(name) for name in methods.names()])  # no failure is expected of any method
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    x, y = make_blobs(240, n_features=8, centers=3, cluster_std=1.0, random_state=1)
    return x, y


@pytest.mark.parametrize("name", methods.names())
def test_three_blobs_are_found(name, blobs):
    x, y = blobs
    assert acc(y, make(name, cc_epochs=60, pretrain_epochs=20, epochs=20).fit_predict(x)) > 0.95


@pytest.mark.parametrize("name", methods.names())
def test_same_seed_same_labels_bit_for_bit(name, blobs):
    x, _ = blobs
    one, other = make(name).fit(x), make(name).fit(x)
    np.testing.assert_array_equal(one.predict_proba(x), other.predict_proba(x))
    for a, b in zip(one.network_.state_dict().values(), other.network_.state_dict().values(), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("name", methods.names())
def test_labels_cannot_reach_training(name, blobs):
    x, y = blobs
    shuffled = np.random.default_rng(0).permutation(y)
    networks = [make(name).fit(x, labels).network_.state_dict() for labels in (None, y, shuffled)]
    for network in networks[1:]:
        assert all(torch.equal(a, b) for a, b in zip(networks[0].values(), network.values(), strict=True))


@pytest.mark.parametrize("name", methods.names())
def test_a_second_fit_forgets_the_first(name, blobs):
    x, _ = blobs
    images = np.random.default_rng(0).random((30, 8, 8))
    twice = make(name).fit(images).fit(x)
    np.testing.assert_array_equal(twice.predict_proba(x), make(name).fit(x).predict_proba(x))


@pytest.mark.parametrize("name", methods.names())
@pytest.mark.parametrize("shape", [(24, 5), (24, 8, 8), (24, 3, 9, 7), (24, 6, 6, 3)])
def test_save_and_load_predict_the_same(name, shape, tmp_path):
    x = np.random.default_rng(0).random(shape)
    fitted = make(name, cc_epochs=1, pretrain_epochs=1, epochs=1).fit(x)
    fitted.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(fitted.predict_proba(x), loaded.predict_proba(x))
    np.testing.assert_array_equal(fitted.transform(x), loaded.transform(x))
    assert (loaded.predict(x) == fitted.labels_).all()
    context = SimpleNamespace(x=fitted.duplicates_.distinct, shape=fitted.input_shape_)
    planned = [(stage.name, stage.epochs) for stage in fitted._stages(context)]
    trained = [(stage["name"], stage["epochs"]) for stage in fitted.stages_ if stage["curves"]]
    assert planned[: len(trained)] == trained  # the guard may end C3 before its last stage
    assert len(planned) - len(trained) <= (name == "c3")


@pytest.mark.parametrize("name", methods.names())
def test_confidence_and_probabilities_are_sound(name, blobs):
    x, _ = blobs
    fitted = make(name).fit(x)
    c = fitted.predict_proba(x)
    assert c.shape == (len(x), 3)
    np.testing.assert_allclose(c.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(fitted.confidence_, c.max(axis=1), rtol=1e-6)
    assert (fitted.labels_ == c.argmax(axis=1)).all()


@pytest.mark.parametrize("name", methods.names())
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((2, 4)), "n_clusters=3 clusters cannot be made of n_samples=2"),
        (np.full((9, 4), np.nan), "NaN"),
        (np.full((9, 4, 4), np.inf), "inf|NaN|finite"),
        (np.zeros((0, 4)), "0 sample"),
        (np.zeros((9, 2, 2, 2, 2)), "dimension|shape"),
    ],
)
def test_bad_arrays_get_one_clear_sentence(name, x, message):
    with pytest.raises(ValueError, match=message):
        make(name).fit(x)


@pytest.mark.parametrize("name", methods.names())
def test_each_method_names_its_reference(name):
    assert "References" in methods.load(name).__doc__
    assert methods.title(name)
