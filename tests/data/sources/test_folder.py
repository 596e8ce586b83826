import os

import numpy as np
import pytest
from PIL import Image

from c3clust import data
from c3clust.errors import DataError, InputError


def test_a_folder_is_read_in_the_order_of_its_paths(photos):
    images = data.load(photos)
    assert images.names[:5] == ["ant/0.png", "ant/1.png", "ant/2.png", "ant/3.png", "bee/0.png"]
    assert images.x.shape == (12, 3, 20, 20)
    assert images.y is None
    np.testing.assert_array_equal(images.x[4], np.asarray(Image.open(photos / "bee/0.png")).transpose(2, 0, 1))


def test_sub_folders_are_labels_only_if_asked(photos):
    images = data.load(str(photos), labels="folders")
    assert images.classes == ["ant", "bee", "cat"]
    np.testing.assert_array_equal(images.y, np.repeat([0, 1, 2], 4))


def test_labels_without_sub_folders(photos):
    with pytest.raises(InputError, match="no class sub-folders"):
        data.load(photos / "ant", labels="folders")


def test_working_size_is_the_longest_side_up_to_64(tmp_path, picture):
    picture(20, 28).save(tmp_path / "a.png")
    assert data.load(tmp_path).x.shape == (1, 3, 28, 28)
    picture(48, 12).save(tmp_path / "b.png")
    assert data.load(tmp_path).x.shape == (2, 3, 48, 48)
    picture(300, 200).save(tmp_path / "c.jpg")
    assert data.load(tmp_path).x.shape == (3, 3, 64, 64)
    assert data.load(tmp_path, image_size=96).x.shape == (3, 3, 96, 96)


def test_all_grey_gives_one_channel_whatever_the_mode(tmp_path):
    for i, mode in enumerate(["L", "RGB", "1", "I;16"]):
        Image.new(mode, (10, 10), (7, 7, 7) if mode == "RGB" else 1).save(tmp_path / f"{i}.png")
    assert data.load(tmp_path).x.shape == (4, 1, 10, 10)
    assert data.load(tmp_path, channels=3).x.shape == (4, 3, 10, 10)
    Image.new("RGB", (10, 10), (7, 8, 7)).save(tmp_path / "colour.png")
    assert data.load(tmp_path).x.shape == (5, 3, 10, 10)


def test_other_files_hidden_files_and_macos_copies_do_not_count(photos):
    for name in ("notes.txt", ".hidden.png", "__MACOSX/ant/._0.png", ".git/x.png"):
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        (photos / name).write_bytes(b"?")
    images = data.load(photos)
    assert len(images) == 12
    assert not images.skipped


def test_unreadable_files_are_skipped_with_their_reason(photos, picture, encode):
    for i in range(30):
        picture(seed=i).save(photos / f"more-{i}.png")
    (photos / "ant" / "broken.jpg").write_bytes(encode(picture(200, 200), "JPEG")[:900])
    images = data.load(photos, labels="folders")
    assert [name for name, _ in images.skipped] == ["ant/broken.jpg"]
    assert "truncated" in images.skipped[0][1]
    assert len(images) == len(images.names) == len(images.y) == 42
    assert "ant/broken.jpg" not in images.names


def test_too_many_unreadable_files_stop_the_run_by_name(photos):
    for i in range(5):
        (photos / f"bad-{i}.png").write_bytes(b"?")
    with pytest.raises(DataError, match=r"5 of 17 files cannot be read \(bad-0.png and 4 more: .*--max-bad"):
        data.load(photos)
    assert len(data.load(photos, max_bad=0.5).skipped) == 5


def test_nothing_readable_and_nothing_at_all(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="contains no images"):
        data.load(tmp_path / "empty")
    (tmp_path / "empty" / "a.png").write_bytes(b"?")
    with pytest.raises(DataError, match="cannot be read"):
        data.load(tmp_path / "empty", max_bad=1.0)


def test_links_are_followed_once_and_dangling_ones_reported(photos, tmp_path):
    os.symlink(photos, photos / "loop")
    os.symlink(tmp_path / "absent.png", photos / "dangling.png")
    images = data.load(photos, max_bad=0.5)
    assert len(images) == 12
    assert images.skipped == (("dangling.png", "No such file or directory"),)


def test_odd_names(tmp_path, picture):
    for name in ("ü ñ 図.png", "new\nline.png", "a'b\"c.png"):
        picture().save(tmp_path / name)
    assert len(data.load(tmp_path)) == 3
