import json
import zipfile

import numpy as np
import pytest

from c3clust.errors import RunError
from c3clust.report import View, build
from c3clust.report.view_file import ARRAYS


def test_written_and_read_views_are_equal(small_view, tmp_path):
    small_view.write(tmp_path)
    again = View.read(tmp_path)
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(small_view, name), err_msg=name)
        assert getattr(again, name).dtype == getattr(small_view, name).dtype
    for name in ("n", "unit", "classes", "layout", "thumbs", "names", "sheets", "distinct"):
        assert getattr(again, name) == getattr(small_view, name)
    assert [p.name for p in tmp_path.iterdir()] == ["view.npz"]


def test_names_that_are_not_text_survive(tmp_path):
    names = ["\udcff\udcfe.png", "a\x00b", "日本", '"><img src=x>']
    build(None, np.eye(4), [0, 1, 0, 1], None, names).write(tmp_path)
    assert sorted(View.read(tmp_path).names) == sorted(names)


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
