"""The checks that every method of the package passes, for methods of your own: `check_method`.

>>> from c3clust.testing import check_method
>>> from c3clust.methods.kmeans import KMeans
>>> check_method(KMeans, scikit_learn=False)  # True runs scikit-learn's estimator checks too
"""

import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import check_estimator

from c3clust import metrics
from c3clust.errors import InputError
from c3clust.estimator.base import Estimator
from c3clust.methods import find, load_model

__all__ = ["CHECKS", "ENOUGH", "Subject", "check_method", "small"]

BUDGET: dict[str, Any] = {
    "n_clusters": 3,
    "cc_epochs": 2,
    "pretrain_epochs": 2,
    "epochs": 2,
    "hidden": (16,),
    "n_init": 2,
    "members": 2,
    "random_state": 0,
}
ENOUGH = {"cc_epochs": 12, "pretrain_epochs": 6, "epochs": 12}  # for scikit-learn's `check_clustering`
EXPECTED = {  # failures of checks that take whatever has `predict_proba` for a classifier, with the classes of y
    f"check_estimator_sparse_{kind}": "the probabilities are those of clusters" for kind in ("array", "matrix")
}
LONGER = {"cc_epochs": 60, "pretrain_epochs": 40, "epochs": 20}
ONE_EPOCH = {"cc_epochs": 1, "pretrain_epochs": 1, "epochs": 1}
SHAPES = ((24, 5), (24, 8, 8), (24, 3, 9, 7), (24, 6, 6, 3))
BAD = (
    (np.zeros((2, 4)), "an array with fewer samples than clusters"),
    (np.full((9, 4), np.nan), "NaN"),
    (np.full((9, 4, 4), np.inf), "infinity"),
    (np.zeros((0, 4)), "an empty array"),
    (np.zeros((9, 2, 2, 2, 2)), "an array of five dimensions"),
)


@dataclass(frozen=True, eq=False)
class Subject:
    """The method that is checked: called with parameters, it gives an estimator with a small budget."""

    cls: Any
    params: dict[str, Any] = field(default_factory=dict)

    def __call__(self, **changes: Any) -> Any:
        return small(self.cls, **{**self.params, **changes})

    @cached_property
    def fitted(self) -> Any:
        """An estimator fitted to `blobs`, shared by the checks, which do not change it."""
        return self().fit(blobs()[0])


def check_method(cls: Any, scikit_learn: bool = True, **params: Any) -> None:
    """AssertionError if a method does not do what every method of the package does.

    Parameters
    ----------
    cls : class or str
        A subclass of `c3clust.estimator.base.Estimator`, or "module:Class"; any clusterer of scikit-learn is adapted.
    scikit_learn : bool
        Also run scikit-learn's estimator checks, which take longer.
    params
        Parameters with which the method is quick, in addition to those of `BUDGET` that it has.
    """
    cls = find(cls) if isinstance(cls, str) else cls
    if not (isinstance(cls, type) and issubclass(cls, Estimator)):
        raise InputError(f'{cls!r} is not a subclass of c3clust.estimator.base.Estimator: give one, or "module:Class".')
    subject = Subject(cls, params)
    for check in CHECKS:
        try:
            check(subject)
        except AssertionError as error:
            raise AssertionError(f"{cls.__name__}: {check.__name__}: {error}") from error
    if scikit_learn:
        check_estimator(subject(**{**ENOUGH, **params}), expected_failed_checks=EXPECTED, on_skip=None)


def small(cls: Any, **changes: Any) -> Any:
    """The method with a small budget: those of the parameters in `BUDGET` and `changes` that it has."""
    known = signature(cls).parameters
    return cls(**{name: value for name, value in (BUDGET | changes).items() if name in known})


def blobs() -> tuple[np.ndarray, np.ndarray]:
    """240 vectors of three clear clusters, and their labels."""
    x, y, *_ = make_blobs(240, n_features=8, centers=3, cluster_std=1.0, random_state=1)
    return x, y


def three_blobs_are_found(make: Subject) -> None:
    x, y = blobs()
    assert metrics.acc(y, make(**LONGER).fit_predict(x)) > 0.95, "three clear clusters were not found"


def same_seed_same_network(make: Subject) -> None:
    x, _ = blobs()
    other = make().fit(x)
    np.testing.assert_array_equal(make.fitted.predict_proba(x), other.predict_proba(x))
    assert _equal(make.fitted, other), "the same seed gave another network"


def labels_cannot_reach_training(make: Subject) -> None:
    x, y = blobs()
    assert _equal(make.fitted, make().fit(x, y)), "true labels changed the network"


def a_second_fit_forgets_the_first(make: Subject) -> None:
    x, _ = blobs()
    twice = make().fit(np.random.default_rng(0).random((30, 8, 8))).fit(x)
    np.testing.assert_array_equal(twice.predict_proba(x), make.fitted.predict_proba(x))


def save_and_load_predict_the_same(make: Subject) -> None:
    for shape in SHAPES:
        x = np.random.default_rng(0).random(shape)
        fitted = make(**ONE_EPOCH).fit(x)
        with tempfile.TemporaryDirectory() as folder:
            fitted.save(folder)
            loaded = load_model(folder, method=type(fitted))
        np.testing.assert_array_equal(fitted.predict_proba(x), loaded.predict_proba(x))
        np.testing.assert_array_equal(fitted.transform(x), loaded.transform(x))
        assert (loaded.predict(x) == fitted.labels_).all(), f"labels differ after loading, for samples of shape {shape}"
        _check_stages(fitted)


def _check_stages(fitted: Any) -> None:
    """Stages that are announced are those that were trained; a guard may end before the last one."""
    context = SimpleNamespace(x=fitted.duplicates_.distinct, shape=fitted.input_shape_, epochs={}, policy=None)
    planned = [(stage.name, stage.epochs) for stage in fitted._stages(context) if stage.epochs]
    trained = [(stage["name"], stage["epochs"]) for stage in fitted.stages_ if stage["curves"]]
    assert not planned or planned[: len(trained)] == trained, f"_stages said {planned}, and {trained} were trained"


def confidence_and_probabilities_are_sound(make: Subject) -> None:
    x, _ = blobs()
    fitted = make.fitted
    c = fitted.predict_proba(x)
    assert c.shape == (len(x), fitted.n_clusters_), f"probabilities have shape {c.shape}"
    np.testing.assert_allclose(c.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(fitted.confidence_, c.max(axis=1), rtol=1e-6)
    assert (fitted.labels_ == c.argmax(axis=1)).all(), "labels are not the argmax of the probabilities"


def bad_arrays_are_refused(make: Subject) -> None:
    for x, what in BAD:
        try:
            make().fit(x)
        except ValueError:
            continue
        raise AssertionError(f"{what} was accepted")


def _equal(one: Any, other: Any) -> bool:
    states = (one.network_.state_dict().values(), other.network_.state_dict().values())
    return all(torch.equal(a, b) for a, b in zip(*states, strict=True))


CHECKS = (
    three_blobs_are_found, same_seed_same_network, labels_cannot_reach_training, a_second_fit_forgets_the_first,
    save_and_load_predict_the_same, confidence_and_probabilities_are_sound, bad_arrays_are_refused,
)  # fmt: skip
