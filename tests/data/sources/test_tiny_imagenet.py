import tarfile
import zipfile

import numpy as np
import pytest

from c3clust import data
from c3clust.errors import DataError

SYNSETS = ["n01443537", "n01629819"]


@pytest.fixture
def tiny(tmp_path, picture):
    """The official layout with two classes of three images, and files that are not for training."""
    folder = tmp_path / "tiny-imagenet-200"
    for c, synset in enumerate(SYNSETS):
        (folder / "train" / synset / "images").mkdir(parents=True)
        (folder / "train" / synset / f"{synset}_boxes.txt").write_text("boxes")
        for i in range(3):
            picture(64, 64, seed=10 * c + i).save(folder / "train" / synset / "images" / f"{synset}_{i}.JPEG")
    (folder / "val" / "images").mkdir(parents=True)
    picture(64, 64).save(folder / "val" / "images" / "val_0.JPEG")
    (folder / "words.txt").write_text("n01443537\tgoldfish\n")
    return folder


def pack(folder, path):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, f"{folder.name}/{file.relative_to(folder)}")
    else:
        with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
            archive.add(folder, folder.name)


@pytest.mark.parametrize("end", ["", ".zip", ".tar", ".tar.gz"])
def test_training_images_with_their_classes(tiny, tmp_path, end, caplog):
    place = tiny if not end else tmp_path / f"packed{end}"
    if end:
        pack(tiny, place)
    for images in (data.load(place), data.load("tiny-imagenet", root=place)):
        assert images.x.shape == (6, 3, 64, 64)
        assert images.classes == SYNSETS
        np.testing.assert_array_equal(images.y, [0, 0, 0, 1, 1, 1])
        assert all("train/" in name for name in images.names)
    assert "contains 6 images; the official Tiny-ImageNet has 100,000" in caplog.text


def test_smaller_if_asked_but_never_enlarged(tiny):
    assert data.load(tiny, image_size=32).x.shape[-1] == 32
    assert data.load(tiny, image_size=224).x.shape[-1] == 64


def test_an_archive_without_training_images(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("tiny-imagenet-200/words.txt", "")
    with pytest.raises(DataError, match="no training image"):
        data.load(tmp_path / "a.zip")


def test_the_shared_subset(shared):
    images = data.load("tiny-imagenet", root=shared)
    assert images.x.shape == (4000, 3, 64, 64)
    np.testing.assert_array_equal(np.bincount(images.y), [200] * 20)
