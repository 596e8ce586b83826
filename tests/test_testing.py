"""check_method finds what is wrong with a method."""

import numpy as np
import pytest

from c3clust.errors import InputError
from c3clust.methods._own import Adapted, adapted
from c3clust.testing import check_method


class Good:
    """Three clusters by the nearest of three samples that are far apart."""

    def fit_predict(self, X):
        first = [0]
        for _ in range(2):
            distance = np.min([((X - X[i]) ** 2).reshape(len(X), -1).sum(1) for i in first], axis=0)
            first.append(int(distance.argmax()))
        return np.argmin([((X - X[i]) ** 2).sum(1) for i in first], axis=0)


class Random(Good):
    """Other labels for the same seed."""

    def fit_predict(self, X):
        return np.random.default_rng().integers(0, 3, len(X))


def test_a_sound_method_passes_and_others_are_named():
    check_method(adapted(Good, "tests:Good"), scikit_learn=False)
    with pytest.raises(AssertionError, match="Random: three_blobs_are_found: three clear clusters were not found"):
        check_method(adapted(Random, "tests:Random"), scikit_learn=False)
    with pytest.raises(InputError, match="not a subclass"):
        check_method(Good)
    assert issubclass(adapted(Good, "tests:Good"), Adapted)
