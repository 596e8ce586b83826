"""The study of draws: its tasks, and what is learned from them, on made-up numbers. One small study is run."""

import json

import numpy as np
import pytest

from c3clust import paper
from c3clust.consensus.quality import Model
from c3clust.errors import InputError
from c3clust.paper import Setting, draws
from c3clust.paper.calibration import judged, learned
from c3clust.paper.values import read_rows


@pytest.fixture
def folder(tmp_path):
    """Two small data sets."""
    place, rng = tmp_path / "data", np.random.default_rng(0)
    place.mkdir()
    for name, kind in (("one", "text"), ("other", "table")):
        y = np.arange(120) % 4
        x = rng.normal(size=(4, 6))[y] * 4 + rng.normal(size=(120, 6))
        np.savez(place / f"{name}.npz", x=x.astype(np.float32), y=y, kind=kind, scaled=kind == "table")
    return place


def rows(sets=40, draws_of_each=3, noise=0.05):
    """The accuracy is .3 + .6 squared agreement, with an error that a data set's draws share; half as much at 2 K."""
    rng, found = np.random.default_rng(1), []
    for i in range(sets):
        error, squared = rng.normal(0, noise), rng.uniform(0.3, 0.9)
        for seed in range(draws_of_each):
            acc = float(np.clip(0.3 + 0.6 * squared + error, 0, 1))
            row = {"name": f"set {i}", "kind": f"kind {i % 4}", "seed": seed, "n": 200, "K": 4, "ratio": 1.0}
            row |= {"asked": 4, "default": acc, "k-means": acc - 0.05, "Ward": "", "mixture": acc, "UMAP + k-means": ""}
            found.append(row | {"clusters": 4, "two": 0.0, "several": squared})
            found.append(found[-1] | {"asked": 8, "default": acc / 2})
    return found


def test_a_draw_is_the_same_for_its_seed_and_has_every_class():
    whole = draws.Task("digits", "digits", 0, np.random.default_rng(0).normal(size=(900, 3)), np.arange(900) % 9, True)
    for seed in range(6):
        one, two = draws.drawn(whole, seed), draws.drawn(whole, seed)
        np.testing.assert_array_equal(one.x, two.x)
        assert set(one.y) == set(range(one.y.max() + 1))
        assert np.bincount(one.y).min() >= 4
        np.testing.assert_allclose(one.x.mean(0), 0, atol=1e-5)
    assert len(draws.drawn(whole, 0).y) == 900
    sizes = np.bincount(draws.drawn(whole, 2).y)
    assert sizes.max() / sizes.min() > 2


@pytest.mark.parametrize("shape", draws.SHAPES)
def test_made_up_clusters_are_finite_and_of_every_class(shape):
    for seed in range(5):
        task = draws.made_up(shape, seed)
        assert np.isfinite(task.x).all()
        assert set(task.y) == set(range(task.y.max() + 1))


def test_the_model_is_found_and_its_interval_covers_data_sets_that_were_left_out():
    model = learned(rows())
    assert model.constant == pytest.approx(0.3, abs=0.06)
    assert model.weights["several"] == pytest.approx(0.6, abs=0.1)
    assert model.loss == pytest.approx(0.5 / np.log(2))
    left_out = judged(rows(), "name")
    assert len(left_out) == 120  # those with the right K
    assert 0.8 < np.mean([row["low"] <= row["default"] <= row["high"] for row in left_out]) <= 1


def test_no_signal_can_lower_the_estimate():
    against = [row | {"several": 1 - row["several"]} for row in rows()]
    assert min(learned(against).weights.values()) >= 0


def test_a_data_set_that_is_left_out_has_no_influence():
    others = [row for row in rows() if row["name"] != "set 0"]
    strange = [row | {"default": 0.05} for row in rows() if row["name"] == "set 0"]
    found = [row for row in judged(others + strange, "name") if row["name"] == "set 0"]
    model = learned(others)
    assert [row["estimate"] for row in found] == [model(row)[0] for row in strange if row["asked"] == 4]


def test_the_table_has_kinds_differences_and_the_estimate():
    text = draws.table(rows())
    assert "| kind | data sets | draws | default | k-means | mixture |" in text
    assert "| all | 40 | 120 |" in text
    assert "default - k-means: +0.050 [+0.050, +0.050]" in text
    assert "with the data set left out: mean absolute error 0.0" in text
    assert "with the kind left out" in text


def test_a_study_is_continued_and_writes_the_coefficients(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(draws, "SHAPES", ("round",))
    monkeypatch.setattr(draws, "_umap", lambda task, K: task.y)
    out, done = tmp_path / "out", []
    monkeypatch.setattr(draws, "scored", lambda task, real=draws.scored: done.append(task.name) or real(task))
    files = paper.make("draws", Setting(str(folder), (0,)), out)
    assert [file.name for file in files] == ["draws.csv", "draws-table.md", "estimate.json"]
    found = read_rows(files[0])
    assert {row["name"] for row in found} == {"one", "other", "made-up round"} == set(done)
    assert {"name", "kind", "seed", "n", "K", "ratio", "default", "estimate", "low", "high"} <= found[0].keys()
    assert all(0 <= row["low"] <= row["estimate"] <= row["high"] <= 1 for row in found)
    assert Model(**json.loads(files[2].read_text())) == learned(found)
    assert paper.make("draws", Setting(str(folder), (0,)), out)
    assert len(done) == 3


def test_an_empty_folder_and_a_file_without_classes_are_named(tmp_path):
    with pytest.raises(InputError, match="has no file"):
        list(draws.tasks(Setting(str(tmp_path), (0,))))
    np.savez(tmp_path / "a.npz", x=np.zeros((5, 2)))
    with pytest.raises(InputError, match="has no kind and no y"):
        list(draws.tasks(Setting(str(tmp_path), (0,))))
