"""Kinds of files that are read here, and what is left out is counted and told."""

import pytest
from PIL import Image, features

from c3clust import data
from c3clust.data.io import decode
from c3clust.errors import DataError


@pytest.fixture
def again():
    """The kinds of files are looked up again, before and after."""
    _forget()
    yield
    _forget()


@pytest.fixture
def without_heif(again, monkeypatch):
    monkeypatch.setattr(decode, "find_spec", lambda name: None)


def _forget():
    decode.formats.cache_clear()
    decode.extensions.cache_clear()


def test_what_is_left_out_is_told(tmp_path, without_heif):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "b.heic").write_bytes(b"x")
    (tmp_path / "c.heic").write_bytes(b"x")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / ".DS_Store").write_bytes(b"x")
    (tmp_path / ".thumbs").mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / ".thumbs" / "a.png")
    assert data.load(tmp_path).left == [
        "3 files of kinds that are not read: 2 .heic, 1 .txt; pip install 'c3clust[heic]' to read HEIC",
        "1 image in a folder or file whose name begins with a dot",
    ]


def test_a_folder_without_images_says_what_it_has(tmp_path, without_heif):
    (tmp_path / "b.heic").write_bytes(b"x")
    with pytest.raises(DataError, match=r"1 file of a kind that is not read: 1 \.heic; pip install 'c3clust\[heic\]'"):
        data.load(tmp_path)


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow was built without AVIF")
def test_avif_is_read(tmp_path):
    Image.new("RGB", (8, 8), "white").save(tmp_path / "a.avif", quality=100)
    found = data.load(tmp_path)
    assert found.names == ["a.avif"]
    assert found.x.min() > 250


def test_without_avif_such_files_are_counted(tmp_path, monkeypatch, again):
    monkeypatch.setattr(features, "check", lambda name: name != "avif")
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    (tmp_path / "a.avif").write_bytes(b"x")
    assert data.load(tmp_path).left == ["1 file of a kind that is not read: 1 .avif"]


def test_heic_is_read_where_pillow_heif_is_installed(tmp_path, again):
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.from_pillow(Image.new("RGB", (64, 48), "red")).save(tmp_path / "a.HEIC", quality=95)
    whole = (tmp_path / "a.HEIC").read_bytes()
    (tmp_path / "cut.heic").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "noise.heif").write_bytes(whole[:200] + bytes(len(whole) - 200))
    (tmp_path / "other.hif").write_bytes(b"x")
    found = data.load(tmp_path, workers=1, max_bad=1)
    assert found.names == ["a.HEIC"]
    red, green, blue = found.x[0].reshape(3, -1).mean(axis=1)
    assert (red > 245, green < 10, blue < 10) == (True, True, True)
    assert sorted(name for name, _ in found.skipped) == ["cut.heic", "noise.heif", "other.hif"]
    assert found.left == []


def test_a_single_heic_file_names_the_package_that_reads_it(tmp_path, without_heif):
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(20))
    with pytest.raises(DataError, match=r"a HEIC image: pip install 'c3clust\[heic\]' to read it"):
        data.load(tmp_path / "a.heic")
