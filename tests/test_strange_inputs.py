"""Inputs that were read wrongly, or ended in an error of somebody else's: one sentence each."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.torch import load_file

from c3clust import KMeans, data, label, load
from c3clust.errors import DataError, InputError, RunError
from c3clust.files import model_io
from c3clust.records.record import RunRecord
from c3clust.report import View, payload, view_file
from c3clust.report.card import model_card

X = np.random.default_rng(0).random((30, 4))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted") / "run"
    KMeans(3, random_state=0).fit(X, run_dir=folder)
    return folder


@pytest.fixture
def run(fitted, tmp_path):
    return shutil.copytree(fitted, tmp_path / "run")


def csv(folder, text):
    (folder / "t.csv").write_text(text)
    return folder / "t.csv"


def test_masked_values_are_gaps():
    masked = np.ma.masked_array(X, X > 0.9)
    assert np.array_equal(np.isnan(data.load(masked).x), masked.mask)
    model = KMeans(2, random_state=0).fit(masked)
    assert model.predict(masked).shape == model.predict(X).shape == (30,)
    assert data.load(np.ma.masked_array(X)).kind == "vector"
    with pytest.raises(InputError, match=r"masked values\. Fill them"):
        data.load(masked[:, None, :].repeat(4, axis=1))


def test_splits_above_a_hugging_face_folder(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "set").mkdir()
    for name in ("..", ".", ""):
        (tmp_path / "set" / "dataset_dict.json").write_text(json.dumps({"splits": [name]}))
        with pytest.raises(DataError, match="outside of the folder"):
            data.load(tmp_path / "set")


def test_decimal_commas(tmp_path):
    table = data.load(csv(tmp_path, "a;b;c\n1,5;x;1,500\n-2;y;2,000\n,25;x;3,250\n"), kind="table")
    np.testing.assert_array_equal(table.x[:, 0], [1.5, -2, 0.25])
    assert table.columns[2].levels == ("1,500", "2,000", "3,250"), "these may be thousands"


def test_an_identifier_with_a_repeated_value_is_no_feature(tmp_path):
    rows = "\n".join(f"{1000 + 7 * min(i, 28)},{i % 5},{i % 3}" for i in range(30))
    table = data.load(csv(tmp_path, f"id,a,b\n{rows}\n"))
    assert [column.name for column in table.columns] == ["a", "b"]
    assert any("identifies the rows" in left for left in table.left)
    assert [c.name for c in data.load(csv(tmp_path, f"id,a,b\n{rows}\n"), columns=["id", "a"]).columns] == ["id", "a"]


def test_predict_replaces_only_its_own_files(run, tmp_path, c3clust):
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "thesis.txt").write_text("years of work")
    words = ("predict", run, tmp_path / "x.npy", "-o")
    done = c3clust(*words, tmp_path / "thesis.txt")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is no list of predictions" in done.stderr
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    assert c3clust(*words, tmp_path / "p.csv").returncode == c3clust(*words, tmp_path / "p.csv").returncode == 0


def test_html_in_a_card_is_text(run):
    label(run, {0: "<img src=x onerror=alert(1)>"})
    record = RunRecord.read(run / "record.json")
    record.notes.append("<script>alert(1)</script>")
    text = model_card("kmeans", "k-means", 3, {0: "<img src=x onerror=alert(1)>"}, record)
    assert "<img" not in text
    assert "<script" not in text
    assert "&lt;img src=x" in text


def test_the_page_looks_at_no_path_of_somebody_else(run, monkeypatch):
    record, view = RunRecord.read(run / "record.json"), View.read(run)
    record.data["place"] = "/etc"
    monkeypatch.setattr("pathlib.Path.is_file", lambda path: pytest.fail(f"{path} was looked at"))
    assert payload._files(record, view, str(run)) is None


@pytest.mark.parametrize("kind", ["U3", "complex128", "int8"])
def test_a_view_of_other_types(run, kind, c3clust):
    """Each array in turn: read, or refused in one sentence."""
    with np.load(run / "view.npz") as arrays:
        whole = dict(arrays)
    for name in (*view_file.ARRAYS, "header", "names"):
        with np.errstate(all="ignore"):
            np.savez(run / "view.npz", **whole | {name: np.zeros(whole[name].shape, kind)})
        done = c3clust("report", run)
        assert done.returncode in (0, 2)
        assert "Unexpected error" not in done.stderr, (name, done.stderr)


@pytest.mark.parametrize("name", ["xy", "certain", "centres", "confidence", "z"])
def test_a_view_with_values_that_are_not_finite(run, name, c3clust):
    with np.load(run / "view.npz") as arrays:
        whole = dict(arrays)
    whole[name].reshape(-1)[0] = np.inf
    np.savez(run / "view.npz", **whole)
    done = c3clust("report", run)
    assert done.returncode == (2 if name in ("xy", "centres") else 0), done.stderr
    assert "Unexpected error" not in done.stderr


@pytest.mark.parametrize("seed", [-1, 2**31, 2**70, True])
def test_a_seed_that_is_none(seed):
    with pytest.raises(InputError, match=r"random_state=.* is not an integer from 0 to 2147483647"):
        KMeans(3, random_state=seed).fit(X)


@pytest.mark.parametrize("kind", ["float64", "int64", "bool"])
def test_a_model_of_other_types(run, kind, c3clust, tmp_path):
    np.save(tmp_path / "x.npy", X)
    meta = {k: v for k, v in json.loads((run / "model.json").read_text()).items() if k not in ("format", "sha256")}
    whole = load_file(run / "model.safetensors")
    for name in whole:
        model_io.write(run / "model", meta, whole | {name: whole[name].to(getattr(__import__("torch"), kind))})
        done = c3clust("predict", run, tmp_path / "x.npy")
        assert done.returncode in (0, 2), done.stderr
        assert "Unexpected error" not in done.stderr, (name, done.stderr)


def test_probabilities_that_are_not_finite(run):
    model = load(run)
    for parameter in model.network_.state_dict().values():
        parameter.fill_(float("nan"))
    with pytest.raises(RunError, match="no finite probabilities for 30 samples"):
        model.predict(X)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signal on this system")
def test_a_closed_terminal_leaves_no_lock(tmp_path):
    code = """
import signal, sys, time
from pathlib import Path
from c3clust.cli import options
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a parent that was started by nohup ignores it
from c3clust.files.lock import locked
with options.terminable(), locked(Path(sys.argv[1])):
    print("ready", flush=True)
    time.sleep(60)
"""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=os.environ, **pipes) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.1)
        child.send_signal(signal.SIGHUP)
        assert "stopped by SIGHUP" in child.stderr.read()
    assert child.returncode == 129
    assert not list(tmp_path.iterdir())
