import os
import sys

import numpy as np
import pytest

from c3clust import data
from c3clust.errors import DataError, InputError, MissingExtraError


def test_csv_of_paths_and_labels(photos):
    rows = ["path,label", "ant/0.png,red", "cat/3.png,blue", f"{photos / 'bee' / '1.png'},red"]
    (photos / "list.csv").write_text("\n".join(rows))
    images = data.load(photos / "list.csv")
    whole = data.load(photos)
    np.testing.assert_array_equal(images.x, whole.x[[0, 11, 5]])
    assert images.classes == ["blue", "red"]
    np.testing.assert_array_equal(images.y, [1, 0, 1])
    assert images.names[:2] == ["ant/0.png", "cat/3.png"]


def test_csv_without_labels_with_a_byte_order_mark_and_a_row_twice(photos):
    (photos / "list.csv").write_text("\ufeffFile_Name\nant/0.png\nant/0.png\n", encoding="utf-8")
    images = data.load(photos / "list.csv")
    assert images.y is None
    assert images.names == ["ant/0.png", "ant/0.png#2"]


def test_rows_without_a_readable_file_are_skipped(photos):
    lines = ["path"] + [f"{c}/{i}.png" for c in ("ant", "bee", "cat") for i in range(4)]
    (photos / "list.csv").write_text("\n".join([*lines, "absent.png", '""']))
    images = data.load(photos / "list.csv", max_bad=0.2)
    assert dict(images.skipped) == {"absent.png": "no such file in the folder of the list", "": "an empty cell"}
    assert len(images) == 12


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ant/0.png,red\nant/1.png,blue\n", "none for images"),
        ("path,label\n", "contains no images"),
        ("path,label\nant/0.png,\n", "no label in row 1"),
        ("path,label\nant/0.png\n", "1 cells in row 1"),
    ],
)
def test_a_csv_that_cannot_be_used_gets_one_sentence(photos, text, words):
    (photos / "list.csv").write_text(text)
    with pytest.raises(DataError, match=words):
        data.load(photos / "list.csv")


def test_a_csv_that_is_not_text(photos):
    (photos / "list.csv").write_bytes(b"path\n\xff\xfe\xfd\n")
    with pytest.raises(DataError, match="UTF-8"):
        data.load(photos / "list.csv")


@pytest.fixture
def write_parquet():
    pyarrow = pytest.importorskip("pyarrow", reason="the extra c3clust[tables] is not installed")
    import pyarrow.parquet as parquet

    return lambda target, **columns: parquet.write_table(pyarrow.table(columns), target)


def test_parquet_of_paths(photos, write_parquet):
    write_parquet(photos / "list.parquet", path=["ant/0.png", "bee/1.png"], label=[7, 3])
    images = data.load(photos / "list.parquet")
    np.testing.assert_array_equal(images.x, data.load(photos).x[[0, 5]])
    assert images.classes == ["3", "7"]
    np.testing.assert_array_equal(images.y, [1, 0])


@pytest.mark.parametrize("memory", [None, 0])
def test_parquet_of_bytes(photos, tmp_path, write_parquet, memory):
    files = sorted(photos.rglob("*.png"))
    write_parquet(tmp_path / "t.parquet", image=[file.read_bytes() for file in files], id=list(range(12)))
    images = data.load(tmp_path / "t.parquet", memory=memory)
    np.testing.assert_array_equal(images.x[:], data.load(photos).x)
    assert images.names == [str(i) for i in range(12)]


def test_parquet_with_empty_cells_and_no_image_column(tmp_path, photos, write_parquet):
    write_parquet(tmp_path / "t.parquet", image=[(photos / "ant/0.png").read_bytes(), None])
    assert data.load(tmp_path / "t.parquet", max_bad=0.5).skipped == (("1", "an empty cell"),)
    write_parquet(tmp_path / "u.parquet", number=[1, 2])
    with pytest.raises(DataError, match="columns number, and none for images"):
        data.load(tmp_path / "u.parquet", kind="image")
    write_parquet(tmp_path / "v.parquet", image=[1, 2])
    with pytest.raises(DataError, match="no readable image"):
        data.load(tmp_path / "v.parquet")


def test_damaged_parquet_is_named(tmp_path, write_parquet):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 nonsense PAR1")
    with pytest.raises(DataError, match=r"t.parquet cannot be read as Parquet"):
        data.load(tmp_path / "t.parquet")


def test_without_pyarrow_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtraError, match=r"pip install \"c3clust\[tables\]\""):
        data.load(tmp_path / "t.parquet")


def test_a_text_file_of_paths_is_a_list_of_images(photos, caplog):
    (photos / "list.txt").write_text("ant/0.png\r\n\n cat/3.png \nbee/1.png\n")
    images = data.load(photos / "list.txt")
    np.testing.assert_array_equal(images.x, data.load(photos).x[[0, 11, 5]])
    assert images.names == ["ant/0.png", "cat/3.png", "bee/1.png"]
    assert "list.txt is a list of image files" in images.notes[0]
    assert caplog.messages == list(images.notes)
    assert data.load(photos / "list.txt", kind="text").x.tolist() == ["ant/0.png", "cat/3.png", "bee/1.png"]


def test_a_list_of_paths_may_have_names_that_are_not_utf8(photos):
    try:
        (photos / "ant" / "0.png").rename(photos / os.fsdecode(b"caf\xe9.png"))
    except OSError:
        pytest.skip("this file system has no such names")
    (photos / "list.txt").write_bytes(b"caf\xe9.png\nant/1.png\n")
    assert data.load(photos / "list.txt").names == [os.fsdecode(b"caf\xe9.png"), "ant/1.png"]


def test_a_list_of_paths_reports_files_that_are_missing_or_outside(photos, tmp_path, picture):
    picture().save(tmp_path / "outside.png")
    paths = [f"{c}/{i}.png" for c in ("ant", "bee", "cat") for i in range(4)]
    (photos / "list.txt").write_text("\n".join([*paths, "absent.png", "../outside.png"]))
    images = data.load(photos / "list.txt", max_bad=0.2)
    assert images.names == paths
    assert [name for name, _ in images.skipped] == ["absent.png", "../outside.png"]
    assert images.skipped[0][1] == "no such file in the folder of the list"
    assert "--outside" in images.skipped[1][1]
    assert len(data.load(photos / "list.txt", max_bad=0.2, outside=True)) == 13


def test_a_list_of_paths_that_do_not_exist_is_not_read_as_texts(photos):
    (photos / "list.txt").write_text("a.png\nb.png\n")
    with pytest.raises(
        DataError, match=r"no readable image among its 2 files \(a.png and 1 more: no such file in the folder"
    ):
        data.load(photos / "list.txt")
    (photos / "list.txt").write_text("a.png\nnot an image\n")
    assert data.load(photos / "list.txt").kind == "text"
    with pytest.raises(DataError, match="no readable image"):
        data.load(photos / "list.txt", kind="image")


def test_folders_of_a_list_of_paths_are_labels_on_request(photos, tmp_path):
    (photos / "list.txt").write_text("ant/0.png\ncat/3.png\nbee/1.png\n")
    images = data.load(photos / "list.txt", labels="folders")
    assert images.classes == ["ant", "bee", "cat"]
    assert images.y.tolist() == [0, 2, 1]
    np.save(tmp_path / "x.npy", np.zeros((3, 4)))
    with pytest.raises(InputError, match="no sub-folders that could be classes"):
        data.load(tmp_path / "x.npy", labels="folders")
