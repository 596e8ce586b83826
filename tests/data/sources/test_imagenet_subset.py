import numpy as np
import pytest

from c3clust import data
from c3clust.data.sources.imagenet_subset import SYNSETS
from c3clust.errors import DataError


@pytest.fixture
def train(tmp_path, picture):
    """A training folder with the synsets of both sets and one more."""
    folder = tmp_path / "sets" / "imagenet" / "train"
    for i, synset in enumerate(sorted({"n01440764", *SYNSETS["imagenet-10"], *SYNSETS["imagenet-dogs"]})):
        (folder / synset).mkdir(parents=True)
        for j in range(2):
            picture(30, 20, seed=10 * i + j).save(folder / synset / f"{synset}_{j}.JPEG")
    return folder


@pytest.mark.parametrize(("name", "n_classes"), [("imagenet-10", 10), ("imagenet-dogs", 15)])
def test_only_the_synsets_of_the_set_are_read(train, name, n_classes, monkeypatch, caplog):
    monkeypatch.setenv("C3CLUST_DATA", str(train.parents[1]))
    images = data.load(name, image_size=16)
    assert images.x.shape == (2 * n_classes, 3, 16, 16)
    assert tuple(images.classes) == SYNSETS[name]
    np.testing.assert_array_equal(images.y, np.repeat(np.arange(n_classes), 2))
    assert [entry.split("/")[0] for entry in images.names[::2]] == list(SYNSETS[name])
    assert "the official ImageNet" in caplog.text


def test_the_papers_224_pixels_by_default(train):
    assert data.load("imagenet-10", root=train).x.shape[-1] == 224


def test_crops_are_taken_from_the_original_files(train):
    x = data.load("imagenet-10", root=train).x
    sizes = []
    whole = x.crops(lambda i, h, w: sizes.append((i, h, w)) or np.array([[0, 0, h, w]] * 2), (224, 224))[np.array([5])]
    assert sizes == [(5, 20, 30)]
    np.testing.assert_array_equal(whole[0, 0], x[5])
    assert isinstance(data.load("imagenet-10", root=train, originals=False).x, np.ndarray)


def test_the_same_folder_by_path_is_a_plain_folder(train):
    images = data.load(train, labels="folders")
    assert len(images.classes) == len(list(train.iterdir()))


def test_missing_synsets_are_named(train):
    (train / "n02056570").rename(train / "elsewhere")
    with pytest.raises(DataError, match=r"lacks 1 of ImageNet-10's synsets: n02056570"):
        data.load("imagenet-10", root=train)


def test_the_sets_are_the_papers():
    assert len(set(SYNSETS["imagenet-10"])) == 10
    assert len(set(SYNSETS["imagenet-dogs"])) == 15
    assert set(SYNSETS["imagenet-10"]) & set(SYNSETS["imagenet-dogs"]) == {"n02085936"}
