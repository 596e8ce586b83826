import numpy as np
import pytest
from PIL import Image

from c3clust import data
from c3clust.data.io import workers
from c3clust.data.io.pictures import available_memory
from c3clust.data.io.stream import Stream


@pytest.fixture
def many(tmp_path, picture):
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(230):
        picture(12, 12, seed=i).save(folder / f"{i:03d}.png")
    (folder / "100.png").write_bytes(b"broken")
    return folder


def test_processes_and_one_process_give_the_same(many, monkeypatch):
    alone = data.load(many, workers=1)
    monkeypatch.setattr(workers, "MIN_SECONDS", 0.0)
    together = data.load(many, workers=2)
    np.testing.assert_array_equal(alone.x, together.x)
    assert alone.skipped == together.skipped
    assert alone.names == together.names


def test_what_does_not_fit_is_streamed_with_stable_indices(many):
    whole, stream = data.load(many), data.load(many, memory=1000, workers=2)
    assert isinstance(stream.x, Stream)
    assert stream.skipped == whole.skipped
    assert stream.names == whole.names
    assert stream.x.shape == whole.x.shape
    np.testing.assert_array_equal(stream.x[np.array([150, 3, 99, 100])], whole.x[[150, 3, 99, 100]])


def test_a_grey_stream_has_one_channel(tmp_path):
    for i in range(3):
        Image.new("L", (10, 10), 40 * i).save(tmp_path / f"{i}.png")
    x = data.load(tmp_path, memory=0).x
    assert x.shape == (3, 1, 10, 10)
    assert x[:][:, 0, 0, 0].tolist() == [0, 40, 80]


def test_the_default_memory_bound_is_sensible():
    assert 2**26 < available_memory() < 2**45


def test_a_dead_worker_is_one_sentence(many, monkeypatch):
    from concurrent.futures.process import BrokenProcessPool

    import joblib

    from c3clust.errors import DataError

    def die(self, jobs):
        raise BrokenProcessPool("killed")

    monkeypatch.setattr(workers, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(joblib.Parallel, "__call__", die)
    with pytest.raises(DataError, match="workers=1"):
        data.load(many, workers=2)
