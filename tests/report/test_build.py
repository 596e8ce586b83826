import io

import numpy as np
import pytest
from PIL import Image

from c3clust.errors import InputError
from c3clust.report import View, build


class Lazy:
    """A stream: pictures are made when asked for by an array of positions, and never many at once."""

    def __init__(self, n, shape=(3, 40, 30)):
        self.shape, self.dtype, self.most, self.asked = (n, *shape), np.dtype(np.uint8), 0, set()

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, index):
        assert isinstance(index, np.ndarray)
        self.most = max(self.most, len(index))
        self.asked |= set(index.tolist())
        return np.broadcast_to(index[:, None, None, None] % 251, (len(index), *self.shape[1:])).astype(np.uint8)


def tile(view: View, row: int) -> np.ndarray:
    """The stored thumbnail of a row, as a browser would cut it out."""
    how = view.thumbs
    sheet = Image.open(io.BytesIO(view.sheets[row // (how.columns * how.rows)]))
    at = row % (how.columns * how.rows)
    left, top = at % how.columns * how.cell[0], at // how.columns * how.cell[1]
    return np.asarray(sheet.convert("RGB").crop((left, top, left + how.width, top + how.height)))


def test_small_pictures_are_kept_without_loss(made):
    for row in (0, 17, 599):
        expected = made.x[made.view.index[row], 0]
        np.testing.assert_array_equal(tile(made.view, row)[..., 0], expected)


def test_sums_over_all_samples(made):
    view = made.view
    np.testing.assert_array_equal(view.sizes, np.bincount(made.labels, minlength=10))
    np.testing.assert_allclose(view.certain.sum(), made.confidence.sum(), rtol=1e-5)
    assert view.confusion.sum() == 600
    assert view.confusion[3, 7] == ((made.labels == 3) & (made.y == 7)).sum()


def test_samples_are_ordered_by_cluster_and_then_typical_first(made):
    assert (np.diff(made.view.labels) >= 0).all()
    close = made.view.closeness()
    for cluster in range(10):
        assert (np.diff(close[made.view.labels == cluster]) < 1e-3).all()


def test_a_stream_is_read_in_chunks_and_only_where_sampled():
    n, rng = 3000, np.random.default_rng(0)
    x, labels, confidence = Lazy(n), rng.integers(0, 5, n), rng.random(n)
    view = build(x, rng.normal(size=(n, 3)), labels, confidence, range(n), max_thumbs=700, max_map=20)
    assert len(view.index) == 700
    assert x.asked == set(view.index.tolist())
    assert x.most <= 256
    assert view.thumbs.width == 30
    for row in (0, 300, 699):
        assert abs(tile(view, row).astype(int).mean() - view.index[row] % 251) < 4


def test_the_least_certain_of_each_cluster_are_in_the_sample():
    n, rng = 4000, np.random.default_rng(0)
    labels, confidence = rng.integers(0, 4, n), rng.random(n)
    view = build(None, rng.normal(size=(n, 3)), labels, confidence, range(n), max_thumbs=400, max_map=20)
    for cluster in range(4):
        members = np.flatnonzero(labels == cluster)
        assert set(members[np.argsort(confidence[members])[:8]]) <= set(view.index)
    assert view.map_rows.size == 20


def test_the_map_is_a_fair_sample_not_of_extremes():
    n, rng = 4000, np.random.default_rng(1)
    confidence = rng.random(n)
    view = build(
        None, rng.normal(size=(n, 3)), rng.integers(0, 4, n), confidence, range(n), max_thumbs=900, max_map=300
    )
    assert abs(view.confidence[view.map_rows].mean() - 0.5) < 0.06


def test_the_budget_holds_and_fewer_are_kept():
    noise = np.random.default_rng(0).integers(0, 256, (400, 3, 96, 96), dtype=np.uint8)
    labels = np.arange(400) % 4
    view = build(
        noise, np.random.default_rng(1).normal(size=(400, 3)), labels, None, range(400), budget=60_000, max_map=20
    )
    assert sum(map(len, view.sheets)) <= 60_000
    assert 10 < len(view.index) < 400
    assert set(view.labels) == {0, 1, 2, 3}
    assert view.sizes.sum() == 400


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"z": np.ones((3, 2))}, "z 3"),
        ({"labels": []}, "zero"),
        ({"labels": [0, -2, 1, 1]}, "-2 to 1"),
        ({"n_clusters": 1}, "must be in 0 to 0"),
        ({"z": np.full((4, 2), np.nan)}, "NaN"),
        ({"y": [1]}, "y 1"),
    ],
)
def test_wrong_arrays_are_named(change, told):
    right = {"x": None, "z": np.ones((4, 2)), "labels": [0, 0, 1, 1], "confidence": None, "names": list("abcd")}
    with pytest.raises(InputError, match=told):
        build(**{**right, **change})


def test_classes_without_names_and_samples_without_class():
    view = build(None, np.eye(4), [0, 0, 1, 1], None, list("abcd"), y=[0, -1, 2, 2])
    assert view.classes == ["0", "1", "2"]
    assert view.confusion.tolist() == [[1, 0, 0], [0, 0, 2]]


def test_samples_that_differ_are_counted():
    rng = np.random.default_rng(0)
    three = rng.normal(size=(3, 40))[np.arange(60) % 3]
    three *= 1 + 1e-7 * rng.normal(size=three.shape)  # batches round differently
    for z, distinct in ((np.zeros((60, 2)), 1), (np.full((60, 4), 7.0), 1), (three, 3), (rng.normal(size=(60, 4)), 60)):
        assert build(None, z, np.zeros(60, int), None, range(60), n_clusters=2, max_map=5).distinct == distinct
