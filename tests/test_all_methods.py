"""What every method must do: the list is the folder c3clust/methods, so a new file is tested by being there.

The checks are those of `c3clust.testing.check_method`, one by one.
"""

from functools import lru_cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from c3clust import methods
from c3clust.testing import CHECKS, ENOUGH, EXPECTED, Subject


@lru_cache(maxsize=1)
def subject(name):
    """One after the other, so that the checks of a method share what they can and nothing is kept for long."""
    return Subject(methods.load(name))


@parametrize_with_checks([subject(name)() for name in methods.names()], expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn(estimator, check):
    if check.func.__name__ == "check_clustering":  # the only one that looks at the clusters
        known = estimator.get_params()
        estimator = clone(estimator).set_params(**{k: v for k, v in ENOUGH.items() if k in known})
    check(estimator)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", methods.names())
def test_method(name, check):
    check(subject(name))


@pytest.mark.parametrize("name", methods.names())
@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((2, 4)), "only 2 samples, fewer than the 3 requested clusters"),
        (np.full((9, 4), np.nan), "NaN"),
        (np.full((9, 4, 4), np.inf), "inf|NaN|finite"),
        (np.zeros((0, 4)), "0 sample"),
        (np.zeros((9, 2, 2, 2, 2)), "dimension|shape"),
    ],
)
def test_bad_arrays_get_one_clear_sentence(name, x, message):
    with pytest.raises(ValueError, match=message):
        subject(name)().fit(x)


@pytest.mark.parametrize("name", methods.names())
def test_each_method_names_its_reference(name):
    assert "References" in methods.load(name).__doc__
    assert methods.title(name)
