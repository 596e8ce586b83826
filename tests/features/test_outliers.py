"""What belongs nowhere: by distance, by disagreement, and the same for new samples."""

import csv
import json

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.datasets import make_blobs

from c3clust import Consensus, KMeans, load, methods
from c3clust.features.outliers import OutlierRule
from c3clust.records.assignments import Assignments
from c3clust.records.outliers import Outlier
from c3clust.records.state import State
from c3clust.report import View, editing
from c3clust.report.export import export


@pytest.fixture(scope="module")
def samples():
    """300 samples of four clusters, then 8 that belong to none."""
    x, _ = make_blobs(300, 20, centers=4, random_state=0)
    away = 40 * np.random.default_rng(0).normal(size=(8, 20))
    return np.concatenate([x, away]).astype(np.float32)


@pytest.fixture(scope="module")
def run(samples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    Consensus(4, outliers=True, random_state=0).fit(samples, run_dir=folder)
    return folder


def test_the_samples_that_were_planted_are_found(run):
    found = Assignments.read(run)
    assert np.flatnonzero(found.clusters < 0).tolist() == list(range(300, 308))
    with open(run / "outliers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["kind"] for row in rows} == {"far"}
    assert all("far from all clusters" in row["reason"] for row in rows)


def test_no_label_is_negative_unless_asked_for(samples):
    c3 = Consensus(4, random_state=0).fit(samples)
    assert set(c3.labels_) == {0, 1, 2, 3}
    assert set(c3.outliers_) == set(range(300, 308))


def test_new_samples_follow_the_same_rule(samples, run):
    model = load(run)
    np.testing.assert_array_equal(model.predict(samples), Assignments.read(run).clusters)
    new = np.concatenate([samples[:5] + 0.01, 60 * np.ones((1, 20))]).astype(np.float32)
    assert (model.predict(new) == -1).tolist() == [False] * 5 + [True]
    assert list(model.find_outliers(new)) == [5]
    assert model.predict_proba(new).sum(axis=1) == pytest.approx(1)


def test_a_tie_is_a_reason():
    rule = OutlierRule.fit(np.eye(2)[[0, 1] * 20], np.array([0, 1] * 20), 2)
    near, clear = rule.judge(np.eye(2), np.array([[0.52, 0.48], [0.2, 0.8]]))
    assert (near.kind, clear) == ("between", None)


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_a_loose_cluster_is_not_far(spread):
    """Distances count in units of the cluster's own spread."""
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(size=(200, 5)), 500 + spread * rng.normal(size=(200, 5))])
    rule = OutlierRule.fit(z, np.repeat([0, 1], 200), 2)
    assert (rule.distances(z)[0][200:] > rule.limit).sum() <= 6


def test_a_rule_is_read_as_it_was_written(samples):
    """With a cluster that is empty, which is never the nearest."""
    rule = OutlierRule.fit(samples[:300], np.arange(300) % 4, 5)
    assert set(rule.distances(np.zeros((3, 20)))[1]) <= {0, 1, 2, 3}
    again = OutlierRule.of(rule.tensors())
    assert again.limit == rule.limit
    np.testing.assert_array_equal(again.centres, rule.centres)
    with pytest.raises(ValueError, match="incomplete"):
        OutlierRule.of({"outliers.limit": torch.zeros(())})


def test_nothing_is_between_merged_clusters():
    assert Outlier("between", 1, 2, 0.4, 0.3).settled([0, 1, 1])
    assert not Outlier("far", 1, 2, 1.4).settled([0, 1, 1])


def test_after_a_merge_predict_and_assignments_agree(tmp_path):
    """Samples between two clusters are in none; they stay there when the two are merged."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 30.0]])
    x = np.concatenate([centres[np.arange(150) % 3] + rng.normal(0, 1, (150, 2)), [[3.0, 0.0], [3.01, 0.1]]])
    model = KMeans(3, outliers=True, random_state=0).fit(x, run_dir=tmp_path / "run")
    assert (model.labels_[150:] == -1).any()
    pair = sorted({int(model.labels_[0]), int(model.labels_[1])})
    editing.merge(tmp_path / "run", pair)
    np.testing.assert_array_equal(load(tmp_path / "run").predict(x), State.read(tmp_path / "run").assignments.clusters)


def test_report_and_merge_leave_outliers_apart(run, samples, tmp_path):
    view = View.read(run)
    assert view.unassigned
    assert (view.n_clusters, view.sizes[-1], view.n_outliers) == (4, 8, 8)
    editing.merge(run, [0, 1])
    labels = load(run).predict(samples)
    assert set(labels) == {-1, 0, 2, 3}
    editing.undo(run)
    assert json.loads((run / "record.json").read_text())["params"]["outliers"] is True


def test_export_puts_them_into_a_folder_of_their_own(run, tmp_path):
    files = []
    for i in range(308):
        files.append(tmp_path / f"{i}.png")
        Image.new("L", (1, 1)).save(files[-1])
    exported = export(run, tmp_path / "out", files=files)
    assert exported.folders["outliers"] == 8


def test_every_method_takes_the_parameter():
    assert all("outliers" in methods.parameters(name) for name in methods.names())
