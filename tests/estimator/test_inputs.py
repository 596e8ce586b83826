"""Inputs of `fit` beside plain arrays: views, sparse matrices, arrays of other libraries; and what it says."""

import logging

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.exceptions import ConvergenceWarning

import c3clust
from c3clust.errors import InputError
from c3clust.methods.kmeans import KMeans

RNG = np.random.default_rng(0)
BLOBS = np.repeat(np.eye(3) * 9, 20, axis=0) + RNG.normal(size=(60, 3))


class Foreign:
    """An array of another library."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def test_arrays_of_other_libraries():
    model = KMeans(3, random_state=0).fit(Foreign(BLOBS))
    np.testing.assert_array_equal(model.labels_, KMeans(3, random_state=0).fit(BLOBS).labels_)
    np.testing.assert_array_equal(model.predict(Foreign(BLOBS)), model.labels_)


def test_tensors_of_bfloat16():
    x = torch.from_numpy(BLOBS).bfloat16()
    labels = KMeans(3, random_state=0).fit(x).labels_
    np.testing.assert_array_equal(labels, KMeans(3, random_state=0).fit(x.float()).labels_)


def test_views_of_embeddings():
    views = np.stack([BLOBS, BLOBS + 0.1], axis=1)
    model = KMeans(3, random_state=0).fit(views, embeddings=True)
    assert model.input_shape_ == (3,)
    np.testing.assert_array_equal(model.predict(BLOBS), model.predict(views))


def test_a_sparse_matrix_is_reduced_and_the_model_says_so(tmp_path):
    topics = sp.kron(sp.eye(2), np.ones((30, 20)), "csr")
    words = sp.hstack([topics, sp.random(60, 360, 0.02, random_state=0)], "csr")
    model = KMeans(2, random_state=0).fit(words)
    assert c3clust.acc(np.repeat([0, 1], 30), model.labels_) == 1
    model.save(tmp_path / "model")
    again = c3clust.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(words), model.labels_)
    np.testing.assert_array_equal(again.predict(words.toarray()), model.labels_)
    with pytest.raises(ValueError, match="400 features"):
        again.predict(words[:, :399])
    KMeans(2, random_state=0).fit(words, run_dir=tmp_path / "run")
    assert "truncated SVD" in (tmp_path / "run" / "record.json").read_text()


def test_a_small_sparse_matrix_is_dense():
    model = KMeans(3, random_state=0).fit(sp.csr_matrix(BLOBS))
    np.testing.assert_array_equal(model.labels_, KMeans(3, random_state=0).fit(BLOBS).labels_)


def test_fewer_clusters_than_requested():
    model = c3clust.Consensus(3, random_state=0)
    same = np.repeat([[0.0, 1.0], [5.0, 2.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match=r"2 of the 3 requested clusters .* ask for fewer \(n_clusters\)\.$"):
        model.fit(same)


def test_fewer_clusters_of_a_network_that_was_trained():
    model = c3clust.CC(3, epochs=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="or train longer"):
        model.fit(np.repeat(np.eye(4), 5, axis=0) * 9)


def test_a_word_as_number_of_clusters_names_auto():
    with pytest.raises(InputError, match=r"n_clusters='twenty'.*auto"):
        KMeans("twenty").fit(BLOBS)
    assert KMeans().n_clusters == "auto"


def test_stages_are_logged(caplog):
    with caplog.at_level(logging.INFO, "c3clust"):
        c3clust.Consensus(3, random_state=0).fit(BLOBS)
    for part in ("60 samples are read", "Stage partition: 60", "assigned to 3 clusters"):
        assert part in caplog.text
