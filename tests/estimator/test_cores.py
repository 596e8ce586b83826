"""`joblib.parallel_config(n_jobs=...)` decides on the number of cores of fit, predict and what they call."""

import joblib
import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from c3clust import KMeans
from c3clust.batch import Encoder
from c3clust.data.io.workers import requested_cores, worker_count
from c3clust.estimator.cores import cores, one_by_one
from c3clust.export import onnx_model

BLOBS = np.repeat(np.eye(3, dtype=np.float32) * 9, 20, axis=0) + np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    """On a computer with four cores, all of which are used."""
    monkeypatch.setattr(joblib, "cpu_count", lambda: 4)
    monkeypatch.setattr(joblib.parallel, "cpu_count", lambda: 4)
    monkeypatch.setattr("joblib._parallel_backends.cpu_count", lambda: 4)
    before = torch.get_num_threads()
    with threadpool_limits(4):
        torch.set_num_threads(4)
        yield
        torch.set_num_threads(before)


def used():
    """Threads of torch and of the libraries that threadpoolctl knows, and processes that decode images."""
    return {torch.get_num_threads(), *(each["num_threads"] for each in threadpool_info()), worker_count(None)}


@pytest.mark.parametrize(("n_jobs", "count"), [(1, 1), (2, 2), (-1, 4), (-2, 3), (64, 4)])
def test_n_jobs_means_what_it_means_in_scikit_learn(n_jobs, count):
    with joblib.parallel_config(n_jobs=n_jobs), cores():
        assert used() == {count}
    assert torch.get_num_threads() == 4


@pytest.mark.parametrize("context", [{}, {"backend": "threading"}, {"n_jobs": None}])
def test_nothing_changes_if_it_is_not_given(context):
    with joblib.parallel_config(**context), cores():
        assert requested_cores() is None
        assert torch.get_num_threads() == 4


def test_it_ends_with_an_error():
    with pytest.raises(ZeroDivisionError), joblib.parallel_config(n_jobs=1), cores():
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == 4


def test_what_is_done_between_two_batches_is_not_limited():
    with joblib.parallel_config(n_jobs=1):
        for inside in one_by_one(torch.get_num_threads() for _ in range(2)):
            assert (inside, torch.get_num_threads()) == (1, 4)


def test_every_step_of_a_fit_and_of_a_prediction(monkeypatch):
    seen = []
    fit, embed = KMeans._fit, KMeans._embed
    monkeypatch.setattr(KMeans, "_fit", lambda *a: seen.append(used()) or fit(*a))
    monkeypatch.setattr(KMeans, "_embed", lambda *a, **b: seen.append(used()) or embed(*a, **b))
    with joblib.parallel_config(n_jobs=1):
        model = KMeans(3, random_state=0).fit(BLOBS)
        for call in (model.predict, model.predict_proba, model.transform, model.assign, model.find_outliers):
            call(BLOBS)
    assert seen == [{1}] * 6
    np.testing.assert_array_equal(model.labels_, KMeans(3, random_state=0).fit(BLOBS).labels_)


def test_an_encoder_follows_a_change(monkeypatch):
    pytest.importorskip("onnxruntime")
    from c3clust.encoders.base import about
    from c3clust.encoders.image import ImageEncoder

    encoder = ImageEncoder("own", torch.nn.Flatten(), about("own", "a module", "none"), 8)
    monkeypatch.setattr("c3clust.batch.callables._encoder", lambda spec: encoder)
    x = np.zeros((2, 3, 8, 8), np.uint8)
    for n_jobs in (1, 2, 1):
        with joblib.parallel_config(n_jobs=n_jobs):
            Encoder("own")({"image": x})
    assert [threads for _, threads in encoder._compiled] == [1, 2]


@pytest.mark.parametrize(("n_jobs", "openmp", "count"), [(1, "", 1), (2, "1", 2), (None, "3", 3), (None, "", 0)])
def test_an_onnx_file(tmp_path, monkeypatch, n_jobs, openmp, count):
    pytest.importorskip("onnxruntime")
    path = KMeans(3, random_state=0).fit(BLOBS).to_onnx(tmp_path / "model.onnx")
    monkeypatch.setenv("OMP_NUM_THREADS", openmp)
    with joblib.parallel_config(n_jobs=n_jobs):
        model = onnx_model.load(path)
    assert model.session.get_session_options().intra_op_num_threads == count
