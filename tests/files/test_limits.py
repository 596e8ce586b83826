"""Memory in proportion: what small files ask for is refused before it is allocated."""

import io
import json
import resource
import zipfile

import numpy as np
import pytest

from c3clust import KMeans
from c3clust.errors import C3ClustError, RunError
from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.report.view import View

X = np.random.default_rng(0).random((12, 4))


@pytest.fixture
def run(tmp_path):
    KMeans(2, random_state=0).fit(X, run_dir=tmp_path / "run")
    return tmp_path / "run"


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("n", [4097, 10**8, 10**30])
def test_a_record_of_very_many_clusters(run, n):
    record = json.loads((run / "record.json").read_text())
    (run / "record.json").write_text(json.dumps(record | {"n_clusters": n}))
    before = peak()
    for read in (lambda: RunRecord.read(run / "record.json"), lambda: Edits.read(run)):
        with pytest.raises(RunError, match="more than the limit of 4,096"):
            read()
    assert peak() - before < 2**27


def test_the_limit_is_told_before_training_and_can_be_raised(tmp_path, monkeypatch):
    monkeypatch.setenv("C3CLUST_MAX_CLUSTERS", "1")
    with pytest.raises(RunError, match="C3CLUST_MAX_CLUSTERS raises it"):
        KMeans(2, random_state=0).fit(X, run_dir=tmp_path / "run")
    monkeypatch.setenv("C3CLUST_MAX_CLUSTERS", "two")
    with pytest.raises(C3ClustError, match="is not an integer"):
        KMeans(2, random_state=0).fit(X, run_dir=tmp_path / "run")


def packed(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


@pytest.mark.parametrize(("name", "array"), [("sizes", np.zeros(5000, np.int64)), ("z", np.zeros(2**26))])
def test_a_view_that_unpacks_to_much(run, name, array):
    with zipfile.ZipFile(run / "view.npz") as old:
        parts = {part: old.read(part) for part in old.namelist()}
    with zipfile.ZipFile(run / "view.npz", "w", zipfile.ZIP_DEFLATED) as new:
        for part, content in (parts | {f"{name}.npy": packed(array)}).items():
            new.writestr(part, content)
    del parts, array
    before = peak()
    with pytest.raises(RunError, match=r"clusters are more than the limit|it unpacks to"):
        View.read(run)
    assert peak() - before < 2**27
