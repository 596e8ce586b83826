import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from c3clust import data
from c3clust.data.io import npy
from c3clust.data.io.npy import NpyFile, open_npy
from c3clust.errors import C3ClustError


@pytest.fixture
def on_disk(monkeypatch):
    monkeypatch.setattr(npy, "IN_MEMORY", 0)
    monkeypatch.setattr(npy, "BLOCK", 100)


@pytest.fixture(params=[np.uint8, np.float32, ">i2"])
def saved(request, tmp_path):
    x = np.random.default_rng(0).integers(0, 200, (30, 3, 4)).astype(request.param)
    np.save(tmp_path / "x.npy", x)
    return x, tmp_path / "x.npy"


@pytest.mark.parametrize(
    "index",
    [3, -1, slice(None), slice(4, 9), slice(9, 4, -2), slice(0, 0), [5, 6, 7, 2, 2, 29], np.arange(30) % 3 == 0],
)
def test_rows_are_those_of_the_array(saved, on_disk, index):
    x, path = saved
    found = open_npy(path)
    assert isinstance(found, NpyFile)
    assert (found.shape, found.dtype, len(found), found.nbytes) == (x.shape, x.dtype, len(x), x.nbytes)
    for each in (found, pickle.loads(pickle.dumps(found))):
        np.testing.assert_array_equal(each[index], x[index])
    np.testing.assert_array_equal(found.changed(lambda rows: rows[:, None])[index], x[:, None][index])


@pytest.mark.parametrize("shape", [(12, 5), (12, 4, 4), (12, 6, 6, 3), (12, 3, 6, 6)])
@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_samples_on_the_disk_are_those_in_memory(tmp_path, monkeypatch, shape, kind, order):
    x = np.asarray(np.random.default_rng(0).integers(0, 255, shape), dtype=kind, order=order)
    np.save(tmp_path / "x.npy", x)
    here = data.load(tmp_path / "x.npy")
    monkeypatch.setattr(npy, "IN_MEMORY", 0)
    there = data.load(tmp_path / "x.npy")
    stays = order == "C" and (kind == np.uint8) == (len(shape) > 2)
    assert isinstance(there.x, NpyFile) == stays
    assert (here.x.shape, here.x.dtype) == (there.x.shape, there.x.dtype)
    np.testing.assert_array_equal(here.x, there.x[:])
    assert data.fingerprint(here) == data.fingerprint(there)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2,)])
def test_arrays_that_are_no_samples(tmp_path, shape):
    np.save(tmp_path / "x.npy", np.zeros(shape))
    with pytest.raises(C3ClustError):
        data.load(tmp_path / "x.npy")


CUT = """
import os, sys
from c3clust import cli
from c3clust.data.io import npy
from c3clust.methods.kmeans import KMeans
npy.IN_MEMORY = 0
fit = KMeans._fit

def cut(self, context):
    os.truncate("x.npy", 4096)
    return fit(self, context)

KMeans._fit = cut
sys.argv = ["c3clust", "fit", "x.npy", "-k", "2", "--method", "kmeans", "-o", "run", "-q"]
cli.main()
"""


@pytest.mark.parametrize("kind", [np.float32, np.uint8])
def test_a_file_that_is_cut_during_a_fit_is_one_sentence(tmp_path, kind):
    """A mapped file would end the process by SIGBUS."""
    shape = (2000, 64) if kind == np.float32 else (2000, 8, 8)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).integers(0, 255, shape).astype(kind))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, "-c", CUT], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert done.returncode == 2, done.stderr
    assert "x.npy was cut while it was in use: it has 4,096 bytes" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_reading_without_pread(tmp_path, monkeypatch):
    """As on Windows, by several threads at once."""
    x = np.arange(4000, dtype=np.int32).reshape(1000, 4)
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(npy, "IN_MEMORY", 0)
    monkeypatch.setattr(npy, "read_at", npy.seek_and_read)
    found = open_npy(tmp_path / "x.npy")
    parts = [np.random.default_rng(i).permutation(1000) for i in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for part, rows in zip(parts, pool.map(found.__getitem__, parts), strict=True):
            np.testing.assert_array_equal(rows, x[part])
