import io
import os
import pickle
import struct
import tarfile

import numpy as np
import pytest

from c3clust import data
from c3clust.data.sources import cifar
from c3clust.errors import DataError

RNG = np.random.default_rng(0)
BATCHES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]


def content(n: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    return RNG.integers(0, 256, (n, 3072), dtype=np.uint8), RNG.integers(0, classes, n)


def write(folder, kind: str, n: int = 3):
    """One of the four versions with n images a file; returns all images and labels in order."""
    folder.mkdir(parents=True)
    ten = kind.startswith("cifar-10-")
    images, labels = [], []
    for name in BATCHES if ten else ["train", "test"]:
        x, y = content(n, 10 if ten else 20)
        fine = RNG.integers(0, 100, n)
        if kind.endswith(("bin", "binary")):
            columns = [y[:, None], x] if ten else [y[:, None], fine[:, None], x]
            (folder / f"{name}.bin").write_bytes(np.hstack(columns).astype(np.uint8).tobytes())
        else:
            batch = {b"batch_label": b"one", b"data": x, b"filenames": [b"a.png"] * n}
            batch |= {b"labels": y.tolist()} if ten else {b"coarse_labels": y.tolist(), b"fine_labels": fine.tolist()}
            (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
        images.append(x)
        labels.append(y)
    return np.concatenate(images).reshape(-1, 3, 32, 32), np.concatenate(labels)


VERSIONS = ["cifar-10-batches-bin", "cifar-10-batches-py", "cifar-100-binary", "cifar-100-python"]


@pytest.mark.parametrize("kind", VERSIONS)
def test_all_four_versions_from_folder_parent_and_archive(tmp_path, kind):
    x, y = write(tmp_path / "in" / kind, kind)
    with tarfile.open(tmp_path / f"{kind}.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "in" / kind, kind)
    name = "cifar10" if "-10-" in kind else "cifar100"
    for images in (
        data.load(tmp_path / "in" / kind),
        data.load(tmp_path / "in"),
        data.load(tmp_path / f"{kind}.tar.gz"),
        data.load(name, root=tmp_path / "in"),
        data.load(name, root=tmp_path / f"{kind}.tar.gz"),
    ):
        np.testing.assert_array_equal(images.x, x)
        np.testing.assert_array_equal(images.y, y)
        assert len(images.classes) == (10 if name == "cifar10" else 20)
        assert len(set(images.names)) == len(x)
        assert images.content == "photograph"


def python_2_pickle(x: np.ndarray, y: list[int]) -> bytes:
    """{"data": x, "labels": y} in the opcodes of Python 2's protocol 2, where every str is a byte string."""

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value if len(value) < 256 else b"T" + struct.pack("<i", len(value)) + value

    def integers(*values: int) -> bytes:
        return b"".join(b"J" + struct.pack("<i", value) for value in values)

    empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + integers(0) + b"\x85" + text(b"b") + b"\x87R"
    dtype = b"cnumpy\ndtype\n" + text(b"u1") + integers(0, 1) + b"\x87R"
    dtype += b"(" + integers(3) + text(b"|") + b"NNN" + integers(-1, -1, 0) + b"tb"
    array = empty + b"(" + integers(1, *x.shape) + b"\x86" + dtype + b"\x89" + text(x.tobytes()) + b"tb"
    return b"\x80\x02}(" + text(b"data") + array + text(b"labels") + b"](" + integers(*y) + b"eu."


def test_a_python_2_pickle_is_read():
    x, y = content(2, 10)
    raw = python_2_pickle(x, y.tolist())
    np.testing.assert_array_equal(pickle.loads(raw, encoding="bytes")[b"data"], x)  # numpy itself reads it so
    pixels, labels = cifar.VERSIONS[1].parse(raw, "data_batch_1")
    np.testing.assert_array_equal(pixels, x)
    np.testing.assert_array_equal(labels, y)


class Attack:
    def __reduce__(self):
        return os.system, ("touch pwned",)


@pytest.mark.parametrize(
    "batch",
    [
        Attack(),
        {b"data": Attack(), b"labels": [0]},
        {b"data": np.zeros((1, 3072), object), b"labels": [0]},
        {b"data": np.zeros((1, 3072)), b"labels": [0]},
        {b"data": np.zeros((1, 3000), np.uint8), b"labels": [0]},
        {b"data": np.zeros((2, 3072), np.uint8), b"labels": [0]},
        {b"data": np.zeros((1, 3072), np.uint8), b"labels": ["a"]},
        {b"data": np.zeros((1, 3072), np.uint8), b"labels": [12]},
        {b"data": [0] * 3072, b"labels": [0]},
        {b"labels": [0]},
        [],
    ],
)
def test_a_pickle_runs_nothing_and_must_hold_a_batch(tmp_path, batch):
    write(tmp_path / "c", "cifar-10-batches-py")
    (tmp_path / "c" / "data_batch_2").write_bytes(pickle.dumps(batch, protocol=2))
    with pytest.raises(DataError, match="data_batch_2"):
        data.load(tmp_path / "c")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("raw", [b"", b"garbage", b"\x80\x02", b"\x80\x02}q\0."])
def test_a_damaged_pickle_is_named(tmp_path, raw):
    write(tmp_path / "c", "cifar-100-python")
    (tmp_path / "c" / "train").write_bytes(raw)
    with pytest.raises(DataError, match="train"):
        data.load(tmp_path / "c")


@pytest.mark.parametrize("cut", [1, 3073 * 3])
def test_a_file_cut_short_is_named_with_its_size(tmp_path, cut):
    write(tmp_path / "c", "cifar-10-batches-bin")
    file = tmp_path / "c" / "data_batch_4.bin"
    file.write_bytes(file.read_bytes()[:-cut])
    with pytest.raises(DataError, match=rf"data_batch_4.bin has {3073 * 3 - cut:,} bytes.*3,073"):
        data.load(tmp_path / "c")


def test_missing_files_are_named_and_wrong_labels_refused(tmp_path):
    write(tmp_path / "c", "cifar-10-batches-bin")
    (tmp_path / "c" / "data_batch_1.bin").write_bytes(bytes([200]) + bytes(3072))
    with pytest.raises(DataError, match=r"data_batch_1\.bin has a label outside 0 to 9"):
        data.load(tmp_path / "c")
    (tmp_path / "c" / "data_batch_3.bin").unlink()
    with pytest.raises(DataError, match=r"lacks data_batch_3\.bin"):
        data.load(tmp_path / "c")


def test_fewer_records_than_official_are_noted_not_refused(tmp_path, caplog):
    write(tmp_path / "c", "cifar-10-batches-bin")
    images = data.load(tmp_path / "c")
    assert len(images) == 18
    (note,) = images.notes
    assert "contains 18 images; the official CIFAR-10 has 60,000" in note
    assert note in caplog.text


def test_the_other_cifar_is_not_taken_for_the_one_asked(tmp_path):
    write(tmp_path / "c", "cifar-100-binary")
    with pytest.raises(DataError, match="contains CIFAR-100, not cifar10"):
        data.load("cifar10", root=tmp_path / "c")


def test_a_truncated_archive_and_hostile_members(tmp_path):
    x, _ = write(tmp_path / "cifar-10-batches-bin", "cifar-10-batches-bin")
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "cifar-10-batches-bin", "cifar-10-batches-bin")
        link = tarfile.TarInfo("cifar-10-batches-bin/data_batch_1.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        other = tarfile.TarInfo("../../outside.txt")
        other.size = 3
        archive.addfile(other, io.BytesIO(b"abc"))
    np.testing.assert_array_equal(data.load(path).x, x)
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(DataError, match="damaged or truncated"):
        data.load(path)


def test_the_shared_subsets(shared):
    ten = data.load(shared / "cifar-10-subset-binary.tar.gz")
    assert ten.x.shape == (20_000, 3, 32, 32)
    np.testing.assert_array_equal(np.bincount(ten.y), [2000] * 10)
    hundred = data.load("cifar100", root=shared)
    assert hundred.x.shape == (10_000, 3, 32, 32)
    np.testing.assert_array_equal(np.bincount(hundred.y), [500] * 20)


def test_class_names_are_those_of_the_official_files(shared):
    for file, names in (("cifar-10", cifar.CIFAR10), ("cifar-100", cifar.CIFAR100)):
        with tarfile.open(shared / f"{file}-subset-binary.tar.gz") as archive:
            meta = next(m for m in archive if m.name.endswith(("batches.meta.txt", "coarse_label_names.txt")))
            assert tuple(archive.extractfile(meta).read().decode().split()) == names
