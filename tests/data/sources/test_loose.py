"""Single pictures: a file, paths, bytes, Pillow images, a column."""

import io

import numpy as np
import pytest
from PIL import Image

from c3clust import KMeans, data
from c3clust.errors import DataError


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Four small pictures, dark and light."""
    folder = tmp_path_factory.mktemp("loose")
    for i in range(4):
        Image.new("RGB", (8, 8), (60 * i, 60 * i, 0)).save(folder / f"{i}.png")
    return sorted(folder.iterdir())


class Column:
    """What a column of a data frame has: pandas is not needed."""

    def __init__(self, items, index):
        self.items, self.index = items, index

    def to_list(self):
        return list(self.items)


def test_all_ways_give_the_same_pictures(files):
    pixels = data.load(files[0].parent).x
    opened = [Image.open(file) for file in files]
    ways = {
        "paths": files,
        "names": [str(file) for file in files],
        "bytes": [file.read_bytes() for file in files],
        "Pillow": opened,
        "column": Column([str(file) for file in files], range(4)),
        "dicts": [{"bytes": file.read_bytes(), "path": None} for file in files],
    }
    for way, given in ways.items():
        np.testing.assert_array_equal(data.load(given).x, pixels, err_msg=way)
    np.testing.assert_array_equal(data.load(files[2]).x, pixels[2:3])
    np.testing.assert_array_equal(data.load(opened[2]).x, pixels[2:3])
    np.testing.assert_array_equal(data.load(files[2].read_bytes()).x, pixels[2:3])


def test_names_are_paths_or_those_of_the_column(files):
    assert data.load(files).names == [str(file) for file in files]
    assert data.load(Column([file.read_bytes() for file in files], "abcd")).names == list("abcd")
    assert data.load(files[0]).names == ["0.png"]


def test_texts_stay_texts():
    assert data.load(["a cat", "a dog"]).noun == "text"
    assert data.load(["no such.png", "nor this.png"], kind="text").noun == "text"


def test_a_file_that_is_missing_is_listed(files):
    found = data.load([*files, files[0].with_name("none.png")], max_bad=0.5)
    assert found.skipped == ((str(files[0].with_name("none.png")), "No such file or directory"),)
    with pytest.raises(DataError, match=r"cannot be read \(0: not a readable image"):
        data.load([b"not a picture"])
    with pytest.raises(DataError, match=r"no readable image among its 2 files \(no such.png and 1 more: No such file"):
        data.load(["no such.png", "nor this.png"])


def test_a_model_predicts_for_them(files):
    model = KMeans(2, random_state=0, fold_duplicates=False).fit(files)
    expected = model.predict(files[0].parent)
    np.testing.assert_array_equal(model.predict(files), expected)
    assert model.predict(files[3]) == expected[3:]
    assert model.predict(Image.open(files[3])) == expected[3:]


def test_other_modes_of_pillow(tmp_path):
    for mode in ("L", "P", "CMYK", "RGBA", "1", "I"):
        assert data.load(Image.new(mode, (5, 4))).x.shape[0] == 1
    file = io.BytesIO()
    Image.new("RGB", (4, 4)).save(file, "JPEG")
    assert len(data.load(bytearray(file.getvalue()))) == 1
