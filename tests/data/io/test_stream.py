import pickle
import threading

import numpy as np
import pytest

from c3clust import data
from c3clust.data.samples import ArrayLike
from c3clust.errors import DataError


@pytest.fixture
def both(photos):
    """The same folder in memory and as a stream."""
    return data.load(photos).x, data.load(photos, memory=0, workers=2).x


def test_a_stream_indexes_like_an_array(both):
    x, stream = both
    assert isinstance(stream, ArrayLike)
    assert len(stream) == len(x)
    assert (stream.shape, stream.dtype, stream.ndim, stream.nbytes) == (x.shape, x.dtype, x.ndim, x.nbytes)
    mask = np.arange(12) % 5 == 0
    for index in (3, -1, slice(2, 9, 3), np.array([5, 5, 0]), [1, 2], mask, slice(0, 0), np.array([], int)):
        np.testing.assert_array_equal(stream[index], x[index])
    with pytest.raises(IndexError):
        stream[12]


def test_prefetch_keeps_order_and_looks_ahead_within_bounds(both):
    x, stream = both
    asked = []

    def index_batches():
        for i in range(10):
            asked.append(i)
            yield np.array([i, (i + 1) % 12])

    got = []
    for i, batch in enumerate(data.batches(stream, index_batches())):
        assert len(asked) <= i + 3  # memory=0 leaves room for one batch ahead
        got.append(batch)
    np.testing.assert_array_equal(np.concatenate(got), x[np.concatenate([[i, (i + 1) % 12] for i in range(10)])])


def test_leaving_early_ends_the_threads(both):
    _, stream = both
    before = threading.active_count()
    batches = stream.prefetch(np.array([i]) for i in range(12))
    next(batches)
    batches.close()
    assert threading.active_count() == before


def test_a_file_that_vanishes_is_named(photos):
    stream = data.load(photos, memory=0).x
    (photos / "bee" / "1.png").unlink()
    with pytest.raises(DataError, match=r"bee/1.png.*No such file"):
        stream[np.arange(12)]


def test_a_stream_survives_pickle_and_a_change_of_folder(both, tmp_path, monkeypatch):
    x, stream = both
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(stream))[:], x)


def test_a_subset_stays_undecoded(both):
    x, stream = both
    part = stream.subset(np.array([7, 1]))
    assert part.shape == (2, 3, 20, 20)
    np.testing.assert_array_equal(part[:], x[[7, 1]])
