import io
import json
import zipfile

import numpy as np
import pytest
from PIL import Image

from c3clust.errors import InputError, RunError
from c3clust.report import View, build, sprites
from c3clust.report.layout import layout
from c3clust.report.view import _ARRAYS


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


def test_written_and_read_views_are_equal(small_view, tmp_path):
    small_view.write(tmp_path)
    again = View.read(tmp_path)
    for name in _ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(small_view, name), err_msg=name)
        assert getattr(again, name).dtype == getattr(small_view, name).dtype
    for name in ("n", "unit", "classes", "layout", "thumbs", "names", "sheets"):
        assert getattr(again, name) == getattr(small_view, name)
    assert [p.name for p in tmp_path.iterdir()] == ["view.npz"]


def test_names_that_are_not_text_survive(tmp_path):
    names = ["\udcff\udcfe.png", "a\x00b", "日本", '"><img src=x>']
    build(None, np.eye(4), [0, 1, 0, 1], None, names).write(tmp_path)
    assert sorted(View.read(tmp_path).names) == sorted(names)


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
    "shape", [(1, 8, 8), (3, 32, 32), (3, 20, 31), (4, 33, 60), (3, 224, 224), (1, 500, 20), (3, 1, 1)]
)
def test_any_shape_of_picture(shape):
    x = np.random.default_rng(0).random((5, *shape)).astype(np.float32)
    how, fits = sprites.plan(x, np.arange(5), 10**7)
    assert fits == 5
    assert max(how.width, how.height) <= 96
    sheet = Image.open(io.BytesIO(sprites.pack(x, np.arange(5), how)[0]))
    assert sheet.width == how.columns * how.cell[0]


def test_without_webp_png_and_jpeg_are_used(monkeypatch):
    monkeypatch.setattr(sprites.features, "check", lambda name: False)
    x = np.random.default_rng(0).integers(0, 256, (3, 1, 8, 8), dtype=np.uint8)
    assert sprites.pack(x, np.arange(3), sprites.Plan(8, 8, 0))[0][:4] == b"\x89PNG"
    assert sprites.pack(x, np.arange(3), sprites.Plan(8, 8, 80))[0][:2] == b"\xff\xd8"


def test_merging_adds_up(made):
    target = np.array([0, 1, 2, 3, 4, 3, 6, 7, 8, 9])
    merged = made.view.merged(target)
    assert merged.sizes[3] == made.view.sizes[3] + made.view.sizes[5]
    assert merged.sizes[5] == 0
    both = np.isin(made.labels, [3, 5])
    np.testing.assert_allclose(merged.centres[3], made.z[both].mean(axis=0), atol=1e-5)
    assert 5 not in merged.labels
    assert merged.confusion.sum() == made.view.confusion.sum()
    assert np.isneginf(merged.similarity()[5]).all()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"z": np.ones((3, 2))}, "z 3"),
        ({"labels": []}, "zero"),
        ({"labels": [0, -1, 1, 1]}, "-1 to 1"),
        ({"n_clusters": 1}, "0 to 0 is needed"),
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


@pytest.mark.parametrize("n", [1, 2, 3, 5, 11, 12, 13, 40])
def test_maps_of_few_points(n):
    xy, _ = layout(np.random.default_rng(0).normal(size=(n, 6)))
    assert xy.shape == (n, 2)
    assert np.abs(xy).max() <= 1 + 1e-6


@pytest.mark.parametrize("width", [1, 2, 7])
def test_maps_of_a_collapsed_space(width):
    same, _ = layout(np.ones((50, width)))
    assert len(np.unique(same, axis=0)) == 50
    twice = np.repeat(np.random.default_rng(0).normal(size=(20, width)), 2, axis=0)
    assert np.isfinite(layout(twice)[0]).all()


def test_the_same_seed_gives_the_same_map():
    z = np.random.default_rng(0).normal(size=(60, 5))
    np.testing.assert_array_equal(layout(z, 3)[0], layout(z, 3)[0])


def test_a_missing_view_is_named(tmp_path):
    with pytest.raises(RunError, match=r"view\.npz does not exist"):
        View.read(tmp_path)


@pytest.mark.parametrize("content", [b"", b"junk", b"PK\x03\x04" + b"\0" * 50])
def test_a_file_that_is_no_view_is_named(tmp_path, content):
    (tmp_path / "view.npz").write_bytes(content)
    with pytest.raises(RunError, match=r"view\.npz cannot be used"):
        View.read(tmp_path)


def rewritten(view: View, folder, **changes):
    """The view with some arrays replaced, left out (None) or a changed header."""
    view.write(folder)
    with np.load(folder / "view.npz") as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes()) | changes.pop("header", {})
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    arrays = {name: value for name, value in (arrays | changes).items() if value is not None}
    np.savez(folder / "view.npz", **arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"labels": None},
        {"labels": np.full(60, 99, np.int32)},
        {"labels": np.full(60, -1, np.int32)},
        {"map_rows": np.full(11, 60, np.int32)},
        {"y": np.full(60, 12, np.int32)},
        {"confidence": np.zeros(3)},
        {"names": np.frombuffer(b"[1, 2", np.uint8)},
        {"names": np.frombuffer(b"[1, 2]", np.uint8)},
        {"sheet_0": None},
        {"header": {"format": 9}},
        {"header": {"classes": None}},
        {"header": {"thumbs": {"width": 10**6, "height": 8, "quality": 0, "n_sheets": 1}}},
        {"header": {"thumbs": {"width": 0, "height": 8, "quality": 0, "n_sheets": 1}}},
        {"sizes": np.array([object()])},
    ],
)
def test_a_damaged_view_is_refused(small_view, tmp_path, changes):
    rewritten(small_view, tmp_path, **changes)
    with pytest.raises(RunError, match=r"view\.npz cannot be used"):
        View.read(tmp_path)


def test_a_cut_off_view_is_refused(small_view, tmp_path):
    path = small_view.write(tmp_path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(RunError):
        View.read(tmp_path)


def test_damaged_bytes_within_a_view_are_refused(small_view, tmp_path):
    path = small_view.write(tmp_path)
    with zipfile.ZipFile(path) as file:
        info = file.getinfo("z.npy")
    raw = bytearray(path.read_bytes())
    at = info.header_offset + 60
    raw[at : at + 40] = b"\0" * 40
    path.write_bytes(raw)
    with pytest.raises(RunError):
        View.read(tmp_path)
