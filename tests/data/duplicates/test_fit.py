"""Copies do not take part in training, and get the cluster of their original."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from c3clust import C3, KMeans, load, methods
from c3clust.records.assignments import Assignments
from c3clust.records.duplicates import Duplicates


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, 80, centers=3, random_state=0)[0].astype(np.float32)


@pytest.mark.parametrize("method", ["consensus", "kmeans"])
def test_many_copies_of_one_sample_change_nothing(blobs, method):
    """Fifty copies would be a cluster of their own for k-means, and a dense place for neighbours."""
    x = np.concatenate([blobs, np.repeat(blobs[:1], 50, axis=0)])
    estimator = methods.load(method)(n_clusters=3, random_state=0)
    alone, with_copies = estimator.fit(blobs).labels_.copy(), estimator.fit(x)
    np.testing.assert_array_equal(with_copies.labels_[:120], alone)
    assert set(with_copies.labels_[120:]) == {alone[0]}
    np.testing.assert_allclose(with_copies.confidence_[120:], with_copies.confidence_[0])
    assert len(with_copies.duplicates_.copies) == 50


def test_folding_can_be_switched_off(blobs):
    x = np.concatenate([blobs, blobs[:5]])
    assert len(KMeans(3, fold_duplicates=False, random_state=0).fit(x).duplicates_.copies) == 0


def test_images_from_scratch_train_without_copies():
    images = load_digits().images[:60] / 16
    x = np.concatenate([images, images[:7]])
    c3 = C3(3, cc_epochs=1, epochs=1, random_state=0).fit(x)
    np.testing.assert_array_equal(c3.labels_[60:], c3.labels_[:7])
    assert c3.start_labels_.shape == c3.labels_.shape == (67,)


def test_fewer_distinct_samples_than_clusters_are_all_kept(blobs):
    estimator = KMeans(3, random_state=0)
    with pytest.warns(Warning, match="2 of the 3 requested clusters"):
        estimator.fit(np.repeat(blobs[:2], 10, axis=0))
    assert len(estimator.duplicates_.copies) == 0


def test_a_run_lists_its_copies(blobs, tmp_path):
    x = np.concatenate([blobs, blobs[:5]])
    C3(3, random_state=0).fit(x, run_dir=tmp_path / "run")
    found = Assignments.read(tmp_path / "run")
    copies = Duplicates.read(tmp_path / "run", found.names)
    assert copies.copies.tolist() == [120, 121, 122, 123, 124]
    assert json.loads((tmp_path / "run" / "record.json").read_text())["data"]["copies"] == 5
    np.testing.assert_array_equal(load(tmp_path / "run").predict(x), found.clusters)
