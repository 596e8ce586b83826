import io
import os
import struct
import tarfile
import zipfile

import numpy as np
import pytest

from c3clust import data
from c3clust.data.io.spans import Span, Unreadable, read_span
from c3clust.errors import DataError


def make_tar(path, photos, mode):
    with tarfile.open(path, mode) as archive:
        archive.add(photos, "photos")


def make_zip(path, photos, method):
    with zipfile.ZipFile(path, "w", method) as archive:
        for file in sorted(photos.rglob("*.png")):
            archive.write(file, f"photos/{file.relative_to(photos)}")


def add(archive: tarfile.TarFile, name: str, content: bytes = b"", **fields) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for field, value in fields.items():
        setattr(member, field, value)
    archive.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize("memory", [None, 0])
@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tgz", "a.tar.bz2", "a.tar.xz", "stored.zip", "deflated.zip"])
def test_an_archive_gives_what_its_folder_gives(photos, tmp_path, name, memory):
    path = tmp_path / name
    if name.endswith(".zip"):
        make_zip(path, photos, zipfile.ZIP_STORED if name.startswith("stored") else zipfile.ZIP_DEFLATED)
    else:
        make_tar(
            path, photos, {"tar": "w", "gz": "w:gz", "tgz": "w:gz", "bz2": "w:bz2", "xz": "w:xz"}[name.split(".")[-1]]
        )
    folder, images = data.load(photos, labels="folders"), data.load(path, labels="folders", memory=memory)
    np.testing.assert_array_equal(images.x[:], folder.x)
    np.testing.assert_array_equal(images.y, folder.y)
    assert images.classes == folder.classes
    assert images.names == [f"photos/{name}" for name in folder.names]


def test_a_tar_that_is_secretly_compressed(photos, tmp_path):
    make_tar(tmp_path / "a.tar", photos, "w:gz")
    assert len(data.load(tmp_path / "a.tar")) == 12


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_escapes_and_links_in_a_tar_are_refused_and_nothing_is_written(tmp_path, picture, encode, mode):
    png = encode(picture())
    secret = tmp_path / "secret.png"
    secret.write_bytes(png)
    inner = tmp_path / "inner"
    inner.mkdir()
    with tarfile.open(inner / "a.tar", mode) as archive:
        add(archive, "good.png", png)
        add(archive, "../escape.png", png)
        add(archive, "/absolute.png", png)
        add(archive, "link.png", type=tarfile.SYMTYPE, linkname=str(secret))
        add(archive, "hard.png", type=tarfile.LNKTYPE, linkname="good.png")
        add(archive, "pipe.png", type=tarfile.FIFOTYPE)
        add(archive, "notes.txt", b"not looked at")
    images = data.load(inner / "a.tar", max_bad=1.0)
    assert images.names == ["good.png"]
    reasons = dict(images.skipped)
    assert reasons["../escape.png"] == reasons["/absolute.png"] == "its path leads out of the archive"
    assert {reasons["link.png"], reasons["hard.png"], reasons["pipe.png"]} == {"a link or special file"}
    assert sorted(os.listdir(tmp_path)) == ["inner", "secret.png"]


def test_escapes_links_and_odd_methods_in_a_zip_are_refused(tmp_path, picture, encode):
    png = encode(picture())
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("good.png", png)
        archive.writestr("../escape.png", png)
        archive.writestr("C:\\windows.png", png)
        link = zipfile.ZipInfo("link.png")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("odd.png", png, zipfile.ZIP_LZMA)
    images = data.load(tmp_path / "a.zip", max_bad=1.0)
    assert images.names == ["good.png"]
    reasons = dict(images.skipped)
    assert reasons["../escape.png"] == reasons["C:/windows.png"] == "its path leads out of the archive"
    assert reasons["link.png"] == "a link or special file"
    assert "method 14" in reasons["odd.png"]


def test_an_encrypted_file_in_a_zip_is_refused(tmp_path, picture, encode):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("good.png", encode(picture()))
        archive.writestr("locked.png", encode(picture()))
    raw = bytearray((tmp_path / "a.zip").read_bytes())
    flags = raw.rindex(b"PK\1\2") + 8
    raw[flags] |= 1
    (tmp_path / "a.zip").write_bytes(raw)
    assert data.load(tmp_path / "a.zip", max_bad=1.0).skipped == (("locked.png", "encrypted"),)


@pytest.mark.parametrize("name", ["bomb.zip", "bomb.tar.gz"])
def test_a_bomb_is_refused_as_a_whole(tmp_path, monkeypatch, name):
    monkeypatch.setenv("C3CLUST_MAX_SMALL", "0")
    zeros = bytes(20_000_000)
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a.bmp", zeros)
    else:
        with tarfile.open(tmp_path / name, "w:gz") as tar:
            add(tar, "a.bmp", zeros)
    with pytest.raises(DataError, match="decompression bomb"):
        data.load(tmp_path / name)


def test_a_tar_that_claims_a_huge_member_is_refused_without_reading_on(tmp_path):
    member = tarfile.TarInfo("a.png")
    member.size = 2**50
    (tmp_path / "a.tar").write_bytes(member.tobuf() + bytes(1024))
    with pytest.raises(DataError, match="decompression bomb"):
        data.load(tmp_path / "a.tar")


def test_a_zip_member_cannot_unfold_beyond_what_it_declares(tmp_path):
    import zlib

    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    raw = engine.compress(bytes(10_000_000)) + engine.flush()
    (tmp_path / "raw").write_bytes(raw)
    for size in (0, 10, 20_000_000):
        with pytest.raises(Unreadable, match="differs from what the archive declares"):
            read_span(Span(str(tmp_path / "raw"), size, 0, len(raw), deflated=True))
    assert len(read_span(Span(str(tmp_path / "raw"), 10_000_000, 0, len(raw), deflated=True))) == 10_000_000


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
@pytest.mark.parametrize("content", [b"", b"nonsense" * 200, struct.pack("<4sH", b"PK\5\6", 0)])
def test_what_is_no_archive_is_named(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"{name} (is damaged or not an archive|contains no images)"):
        data.load(tmp_path / name)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tar"])
def test_a_truncated_archive_is_an_error_or_a_skip_never_a_traceback(photos, tmp_path, name):
    path = tmp_path / name
    make_zip(path, photos, zipfile.ZIP_DEFLATED) if name == "a.zip" else make_tar(
        path, photos, "w:gz" if "gz" in name else "w"
    )
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match=name):
        data.load(path, max_bad=0)


def test_an_archive_without_images(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("notes.txt", "nothing")
    with pytest.raises(DataError, match="contains no images"):
        data.load(tmp_path / "a.zip")


def test_a_name_that_occurs_twice_stays_unique(tmp_path, picture, encode):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        add(archive, "a.png", encode(picture(seed=1)))
        add(archive, "a.png", encode(picture(seed=2)))
    assert data.load(tmp_path / "a.tar").names == ["a.png", "a.png#2"]


def test_no_temporary_file_is_left(photos, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    make_tar(tmp_path / "a.tar.gz", photos, "w:gz")
    stream = data.load(tmp_path / "a.tar.gz", memory=0)
    assert len(os.listdir(tmp_path / "temporary")) == 1
    assert stream.x[0].shape == (3, 20, 20)
    del stream
    assert os.listdir(tmp_path / "temporary") == []


def test_the_shared_photographs(shared):
    images = data.load(shared / "photos-subset.tar", labels="folders")
    assert images.x.shape == (500, 3, 64, 64)
    np.testing.assert_array_equal(np.bincount(images.y), [50] * 10)
