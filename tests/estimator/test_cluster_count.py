"""n_clusters="auto": the number is found, saved, resumed and predicted with, for images and for vectors."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from c3clust import CC, acc, load, methods
from c3clust.errors import InputError
from c3clust.methods.c3 import C3
from c3clust.methods.c3_adaptive import C3Adaptive
from c3clust.methods.consensus import Consensus
from c3clust.records.record import RunRecord
from c3clust.runs import Run
from c3clust.training.checkpoint import Checkpoints

CHOOSE = [name for name in methods.names() if methods.load(name).chooses_k]
QUICK = {"epochs": 2, "cc_epochs": 2, "random_state": 0, "n_init": 2}


def auto(name, **changes):
    known = methods.parameters(name)
    return methods.load(name)("auto", **{k: v for k, v in (QUICK | changes).items() if k in known})


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(200, 6, centers=4, cluster_std=0.8, random_state=0)


@pytest.fixture(scope="module")
def strokes():
    """90 grey pictures of 12 px of three kinds: a bar at the left, in the middle, at the bottom."""
    rng, y = np.random.default_rng(0), np.arange(90) % 3
    x = np.zeros((90, 12, 12), dtype=np.float32)
    x[y == 0, :, 1:4], x[y == 1, :, 7:9], x[y == 2, 8:11, :] = 0.8, 0.9, 0.8
    return np.clip(x + 0.1 * rng.random(x.shape), 0, 1).astype(np.float32), y


def test_which_methods_can_find_it():
    assert CHOOSE == ["ac", "c3", "c3_adaptive", "cc", "consensus", "kmeans", "nmf", "sc"]


@pytest.mark.parametrize("name", CHOOSE)
def test_blobs_are_counted_and_found(name, blobs):
    x, y = blobs
    model = auto(name, epochs=20).fit(x)
    assert model.n_clusters_ == 4
    assert model.n_clusters == "auto"
    assert acc(y, model.labels_) > 0.95
    assert model.predict_proba(x[:3]).shape == (3, 4)
    assert model.choice_.reason in model.notes_
    assert len(model.tree_.merges) == 3
    assert clone(model).n_clusters_ == 1  # not found yet
    assert model.fit(x[y < 3]).n_clusters_ == 3  # a second fit forgets the first


@pytest.mark.parametrize("name", sorted(set(methods.names()) - set(CHOOSE)))
def test_other_methods_need_a_number(name, blobs):
    with pytest.raises(InputError, match=rf'"auto" is not possible with {name}: give a number .*use consensus, c3'):
        methods.load(name)(n_clusters="auto").fit(blobs[0])


@pytest.mark.parametrize("value", ["many", "", None, 2.5, True])
def test_other_values_are_refused(value, blobs):
    with pytest.raises(InputError, match="n_clusters="):
        C3(n_clusters=value).fit(blobs[0])


@pytest.mark.parametrize(
    "model",
    [
        Consensus("auto", epochs=20, guided_epochs=1, members=1),
        CC("auto", epochs=20),
        C3Adaptive("auto", cc_epochs=20, epochs=1),
    ],
    ids=["c3", "cc", "views"],
)
def test_images_are_learned_first_and_counted_then(model, strokes, tmp_path):
    x, y = strokes
    model.set_params(random_state=0).fit(x, run_dir=tmp_path / "run")
    assert model.n_clusters_ == 3
    assert acc(y, model.labels_) > 0.9
    record, again = RunRecord.read(tmp_path / "run" / "record.json"), load(tmp_path / "run")
    assert (record.n_clusters, record.params["n_clusters"], record.choice["chosen"]) == (3, "auto", 3)
    assert again.n_clusters_ == again.n_clusters == 3
    np.testing.assert_array_equal(again.predict(x), model.labels_)


class Killed(Exception):
    pass


class KilledAfterStageTwo(Checkpoints):
    def save_end(self, number, *args):
        super().save_end(number, *args)
        if number == 1:
            raise Killed


def test_a_run_that_finds_its_number_resumes_bit_for_bit(strokes, tmp_path):
    x, _ = strokes
    x = x[:60]
    whole, part = (Consensus("auto", epochs=2, guided_epochs=1, members=1, random_state=0) for _ in range(2))
    whole.fit(x, run_dir=tmp_path / "whole")
    with pytest.raises(Killed):
        part.fit(x, run_dir=Run(tmp_path / "part", checkpoints=KilledAfterStageTwo))
    part.fit(x, run_dir=tmp_path / "part")
    assert part.n_clusters_ == whole.n_clusters_
    np.testing.assert_array_equal(part.predict_proba(x), whole.predict_proba(x))


@pytest.mark.parametrize("name", CHOOSE)
def test_a_cloud_is_one_cluster(name, tmp_path):
    x = np.random.default_rng(0).normal(size=(150, 5))
    model = auto(name).fit(x, run_dir=tmp_path / "run")
    assert model.n_clusters_ == 1
    assert "one cluster" in " ".join(model.notes_)
    assert set(load(tmp_path / "run").predict(x)) == {0}


@pytest.mark.parametrize("name", CHOOSE)
def test_copies_of_one_picture_are_one_cluster(name, tmp_path):
    x = np.tile(np.random.default_rng(0).random((1, 10, 10)), (100, 1, 1)).astype(np.float32)
    model = auto(name, fold_duplicates=True).fit(x, run_dir=tmp_path / "run")
    assert model.n_clusters_ == 1
    assert any("same" in note for note in model.notes_)
    assert (tmp_path / "run" / "report.html").exists()


def test_auto_means_the_number_of_the_start(blobs):
    x, _ = blobs
    start = CC(5, epochs=1, random_state=0).fit(x)
    assert C3("auto", start=start, epochs=1, random_state=0).fit(x).n_clusters_ == 5


def test_true_labels_do_not_reach_the_choice(blobs):
    x, y = blobs
    one, other = (auto("kmeans").fit(x, labels).choice_.plain() for labels in (None, y % 2))
    assert {**one, "seconds": 0} == {**other, "seconds": 0}
