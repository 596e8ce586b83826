"""correct and questions of an estimator: pins hold, predict and a saved model follow, no pins restore the fit."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

import c3clust
from c3clust.errors import RunError
from c3clust.methods import load
from c3clust.records.pins import Pin


@pytest.fixture(scope="module", params=["kmeans", "consensus", "ac"])
def fitted(request):
    x, y = make_blobs(200, 8, centers=4, cluster_std=1.0, random_state=3)
    x = x.astype(np.float32)
    return load(request.param)(n_clusters=3, random_state=0).fit(x), x, y


def test_answers_make_a_new_cluster_and_predict_and_a_saved_model_follow(fitted, tmp_path):
    model, x, y = fitted
    before = model.labels_.copy()
    mixed = next(c for c in range(3) if len(set(y[before == c])) > 1)
    hidden = np.bincount(y[before == mixed]).argmax()
    rows = np.flatnonzero((before == mixed) & (y == hidden))
    pins = [Pin("in", (str(rows[0]),)), *(Pin("in", (str(row),), 3) for row in rows[1:6])]
    model.correct(pins)
    assert (model.labels_[rows[:6]] == 3).all()
    assert (model.labels_[rows] == 3).mean() > 0.5
    np.testing.assert_array_equal(model.predict(x), model.labels_)
    np.testing.assert_array_equal(c3clust.load(model.save(tmp_path / "model")).predict(x), model.labels_)
    model.correct([])
    np.testing.assert_array_equal(model.labels_, before)
    np.testing.assert_array_equal(model.predict(x), before)


def test_questions_are_about_its_samples(fitted):
    model, x, _ = fitted
    for question in model.questions(6):
        assert question.kind in ("where", "pair", "split")
        assert max(question.samples) < len(x)


def test_a_loaded_model_has_no_samples_to_correct(fitted, tmp_path):
    model = c3clust.load(fitted[0].save(tmp_path / "model"))
    with pytest.raises(RunError, match="c3clust answer"):
        model.correct([])
