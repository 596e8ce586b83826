import gzip
import struct

import numpy as np
import pytest

from c3clust import data
from c3clust.errors import DataError

RNG = np.random.default_rng(0)


def idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write(folder, train: int = 6, test: int = 4, gz: bool = True, side: int = 28):
    """Four files as MNIST has them; returns all images and labels."""
    folder.mkdir(parents=True, exist_ok=True)
    images, labels = [], []
    for part, n in (("train", train), ("t10k", test)):
        x = RNG.integers(0, 256, (n, side, side), dtype=np.uint8)
        y = RNG.integers(0, 10, n).astype(np.uint8)
        for kind, array in ((f"{part}-images-idx3-ubyte", x), (f"{part}-labels-idx1-ubyte", y)):
            (folder / (kind + ".gz" * gz)).write_bytes(gzip.compress(idx(array)) if gz else idx(array))
        images.append(x)
        labels.append(y)
    return np.concatenate(images), np.concatenate(labels)


@pytest.mark.parametrize("gz", [True, False])
def test_train_and_test_are_pooled(tmp_path, gz):
    x, y = write(tmp_path / "files", gz=gz)
    images = data.load(tmp_path / "files")
    np.testing.assert_array_equal(images.x[:, 0], x)
    np.testing.assert_array_equal(images.y, y)
    assert images.names[6] == "t10k-00000"


def test_by_name_and_as_a_subset(tmp_path, monkeypatch, caplog):
    x, _ = write(tmp_path / "sets" / "mnist", train=1500, test=1000, side=4)
    monkeypatch.setenv("C3CLUST_DATA", str(tmp_path / "sets"))
    assert len(data.load("mnist")) == 2500
    assert "2,500 images; the official MNIST has 70,000" in caplog.text
    part, again = data.load("mnist-2k"), data.load("mnist-2k")
    chosen = np.sort(np.random.default_rng(0).permutation(2500)[:2000])
    np.testing.assert_array_equal(part.x[:, 0], x[chosen])
    np.testing.assert_array_equal(part.x, again.x)
    assert len(part.names) == len(part.y) == 2000
    with pytest.raises(DataError, match="requests 3,000"):
        data.load("mnist-3k")


def test_fashion_has_its_own_class_names(tmp_path):
    write(tmp_path / "fashion")
    for images in (data.load("fashion-mnist", root=tmp_path), data.load("fashion", root=tmp_path / "fashion")):
        assert images.classes[9] == "Ankle boot"
    assert data.load(tmp_path / "fashion").classes[0] == "T-shirt/top"


def test_one_file_alone_and_images_without_labels(tmp_path):
    write(tmp_path / "m")
    assert len(data.load(tmp_path / "m" / "t10k-images-idx3-ubyte.gz")) == 4
    (tmp_path / "m" / "train-labels-idx1-ubyte.gz").unlink()
    assert data.load(tmp_path / "m").y is None
    with pytest.raises(DataError, match="lacks train-labels-idx1-ubyte"):
        data.load("mnist", root=tmp_path / "m")


def damaged(name, content):
    return pytest.param(name, content, id=f"{name[:12]}-{len(content)}")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        damaged("train-images-idx3-ubyte", idx(np.zeros((6, 28, 28), np.uint8))[:-100]),
        damaged("train-images-idx3-ubyte", idx(np.zeros((6, 28, 28), np.uint8)) + b"more"),
        damaged("train-images-idx3-ubyte", b"\0\0\x08\x03" + struct.pack(">3I", 2**31, 2**31, 2**31)),
        damaged("train-images-idx3-ubyte", b"<html>not found</html>"),
        damaged("train-images-idx3-ubyte", b""),
        damaged("train-images-idx3-ubyte.gz", gzip.compress(idx(np.zeros((6, 28, 28), np.uint8)))[:-20]),
        damaged("train-images-idx3-ubyte.gz", b"<html>not found</html>"),
        damaged("train-labels-idx1-ubyte", idx(np.zeros(5, np.uint8))),
        damaged("train-labels-idx1-ubyte", idx(np.full(6, 77, np.uint8))),
    ],
)
def test_a_damaged_file_is_named(tmp_path, name, content):
    write(tmp_path / "m", gz=name.endswith(".gz"))
    (tmp_path / "m" / name).write_bytes(content)
    with pytest.raises(DataError, match=name):
        data.load(tmp_path / "m")


def test_the_shared_mnist(shared):
    images = data.load("mnist-10k", root=shared)
    assert images.x.shape == (10_000, 1, 28, 28)
    assert np.bincount(images.y).min() > 800
