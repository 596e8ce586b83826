import os

import numpy as np
import pytest

from c3clust import data
from c3clust.data.io import pictures
from c3clust.errors import DataError


@pytest.fixture
def decoded(monkeypatch):
    """A list that grows with every decoding."""
    calls = []
    original = pictures._chunks

    def count(*args):
        calls.append(args)
        return original(*args)

    monkeypatch.setattr(pictures, "_chunks", count)
    return calls


def test_the_second_load_decodes_nothing(photos, tmp_path, decoded):
    plain = data.load(photos, labels="folders")
    first = data.load(photos, cache=tmp_path / "cache", labels="folders")
    second = data.load(photos, cache=tmp_path / "cache", labels="folders")
    assert len(decoded) == 2
    for images in (first, second):
        np.testing.assert_array_equal(images.x, plain.x)
        np.testing.assert_array_equal(images.y, plain.y)
    assert data.fingerprint(second) == data.fingerprint(plain)


def test_a_change_of_source_or_settings_decodes_again(photos, tmp_path, decoded, picture):
    cache = tmp_path / "cache"
    data.load(photos, cache=cache)
    data.load(photos, cache=cache, image_size=16)
    data.load(photos, cache=cache, channels=1)
    assert len(decoded) == 3
    os.utime(photos / "ant" / "0.png", ns=(1, 1))
    data.load(photos, cache=cache)
    assert len(decoded) == 4
    picture(seed=99).save(photos / "new.png")
    assert len(data.load(photos, cache=cache)) == 13
    (photos / "new.png").rename(photos / "renamed.png")
    assert "renamed.png" in data.load(photos, cache=cache).names
    assert len(decoded) == 6


def test_skipped_files_are_remembered_and_grey_stays_grey(tmp_path):
    from PIL import Image

    (tmp_path / "grey").mkdir()
    for i in range(4):
        Image.new("L", (9, 9), i).save(tmp_path / "grey" / f"{i}.png")
    (tmp_path / "grey" / "1.png").write_bytes(b"?")
    for _ in range(2):
        images = data.load(tmp_path / "grey", cache=tmp_path / "cache", max_bad=0.5)
        assert images.x.shape == (3, 1, 9, 9)
        assert images.x[:, 0, 0, 0].tolist() == [0, 2, 3]
        assert [name for name, _ in images.skipped] == ["1.png"]


def test_an_archive_that_passes_through_a_spool_is_cached_too(photos, tmp_path, decoded):
    import tarfile

    with tarfile.open(tmp_path / "photos.tar.gz", "w:gz") as archive:
        archive.add(photos, "photos")
    for _ in range(2):
        data.load(tmp_path / "photos.tar.gz", cache=tmp_path / "cache")
    assert len(decoded) == 1


def test_a_damaged_entry_is_made_anew_and_nothing_half_written_stays(photos, tmp_path, decoded):
    cache = tmp_path / "cache"
    expected = np.array(data.load(photos, cache=cache).x)
    array = next(cache.glob("*.npy"))
    array.write_bytes(array.read_bytes()[:1000])
    np.testing.assert_array_equal(data.load(photos, cache=cache).x, expected)
    assert len(decoded) == 2
    assert sorted(path.suffix for path in cache.iterdir()) == [".json", ".npy"]


def test_a_cache_that_cannot_be_written_is_one_sentence(photos, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="cannot be written"):
        data.load(photos, cache=tmp_path / "file" / "cache")
