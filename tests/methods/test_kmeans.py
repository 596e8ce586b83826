"""K-means is scikit-learn's."""

import numpy as np
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.datasets import load_digits

from c3clust import KMeans


def test_labels_equal_scikit_learns_on_the_same_pixels():
    pixels = (load_digits().images / 16).astype(np.float32)
    ours = KMeans(10, random_state=0).fit(pixels)
    theirs = SklearnKMeans(10, n_init=10, random_state=0).fit(pixels.reshape(len(pixels), -1))
    assert (ours.labels_ == theirs.labels_).mean() > 0.999
    assert (ours.predict(pixels) == ours.labels_).all()


def test_identical_samples_give_finite_probabilities():
    c = KMeans(1, random_state=0).fit(np.zeros((5, 2))).predict_proba(np.zeros((2, 2)))
    assert np.isfinite(c).all()
