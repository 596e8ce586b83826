"""Shards: what is written is read again, from a folder and from a URL, and read along in training."""

import io
import tarfile

import fsspec
import numpy as np
import pytest
from PIL import Image

from c3clust import data
from c3clust.data.io.stream import Stream
from c3clust.data.io.subset import Subset
from c3clust.data.shard import write_shards
from c3clust.errors import DataError
from c3clust.training.order import _shards, _stream, shard_order


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    """Forty pictures of two classes, one of them in a file with dots in its name."""
    folder = tmp_path_factory.mktemp("pets")
    pixels = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), dtype=np.uint8)
    for i, each in enumerate(pixels):
        path = folder / ("cats" if i % 2 else "dogs") / (f"{i}.png" if i else "v1.0.png")
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(each).save(path)
    return folder


@pytest.fixture(scope="module")
def shards(pets, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    written, skipped = write_shards(str(pets), folder, labels="folders")
    assert not skipped
    split(written[0], 20)
    return folder


def split(path, most):
    """One shard as several small ones, as a folder of more pictures would have them."""
    with tarfile.open(path) as archive:
        files = [(member.name, archive.extractfile(member).read()) for member in archive]
    path.unlink()
    for number in range(0, len(files), 3 * most):
        with tarfile.open(path.with_name(f"{number:06}.tar"), "w") as out:
            for name, content in files[number : number + 3 * most]:
                member = tarfile.TarInfo(name)
                member.size = len(content)
                out.addfile(member, io.BytesIO(content))


def by_name(samples):
    labels = [samples.classes[k] for k in samples.y]
    return {name: (x.tobytes(), label) for name, x, label in zip(samples.names, samples.x[:], labels, strict=True)}


def test_what_is_written_is_read_again(pets, shards):
    written, read = data.load(pets, labels="folders"), data.load(shards)
    expected = {name.replace("v1.0", "v1_0"): value for name, value in by_name(written).items()}
    assert by_name(read) == expected
    assert read.names != sorted(read.names)  # in random order


def test_from_a_url(shards):
    files = fsspec.filesystem("memory")
    for path in shards.glob("*.tar"):
        files.pipe_file(f"/pets/{path.name}", path.read_bytes())
    local = data.load(shards, memory=0)
    for url in ("memory://pets", "memory://pets/*.tar", f"file://{shards}"):
        remote = data.load(url, memory=0)
        assert isinstance(remote.x, Stream)
        assert remote.names == local.names
        np.testing.assert_array_equal(remote.x[:], local.x[:])
    assert 0 < len(data.load("memory://pets/000000.tar")) < len(local)
    with pytest.raises(DataError, match=r"no \.tar file"):
        data.load("memory://nothing")


@pytest.mark.parametrize("content", [b"", b"no tar at all" * 100, None])
def test_a_damaged_shard_is_one_sentence(shards, tmp_path, content):
    whole = next(shards.glob("*.tar")).read_bytes()
    (tmp_path / "0.tar").write_bytes(whole[: len(whole) // 2 + 7] if content is None else content)
    if content is None:  # cut off: what is missing is listed
        found = data.load(tmp_path, max_bad=1)
        assert 0 < len(found) < 20
    else:
        with pytest.raises(DataError, match=r"0\.tar|no images"):
            data.load(tmp_path)


def test_a_class_that_is_no_number(tmp_path):
    with tarfile.open(tmp_path / "0.tar", "w") as archive:
        member = tarfile.TarInfo("a.cls")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"cat"))
    with pytest.raises(DataError, match="'cat', which is not a class number"):
        data.load(tmp_path)


def test_nothing_is_overwritten(pets, shards, c3clust, tmp_path):
    done = c3clust("shard", pets, "-o", shards)
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert c3clust("shard", pets, "-o", tmp_path / "new").stdout.startswith("1 shards in")


@pytest.mark.parametrize("world", [1, 3])
def test_each_process_reads_its_shards_along(world):
    sizes = [40, 30, 50, 40, 35, 45]
    ends = np.cumsum(sizes)
    parts = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    order = shard_order(parts, steps=10, each=24 // world, world=world, seed=0, buffer=16)
    assert order.shape == (10, 24 // world * world)
    assert len(np.unique(order)) == order.size  # none twice
    again, other = (shard_order(parts, 10, 24 // world, world, seed, buffer=16) for seed in (0, 1))
    assert np.array_equal(order, again)
    assert not np.array_equal(order, other)
    which = np.searchsorted(ends, order, side="right")
    for columns in np.split(which, world, axis=1):  # few shards of a process are open at the same time
        assert max(len(np.unique(rows)) for rows in columns) <= 3


def test_shards_of_a_stream(shards):
    x = data.load(shards, memory=0).x
    assert [part.tolist() for part in _shards(x, x)] == [list(range(20)), list(range(20, 40))]
    some = Subset(x, np.array([0, 2, 19, 20, 39]))
    assert _stream(some) is x
    assert [part.tolist() for part in _shards(some, x)] == [[0, 1, 2], [3, 4]]
    assert _stream(x[:]) is None


def test_a_sample_of_shards_has_some_of_each_and_says_so(tmp_path):
    random = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    for i in range(60):
        Image.fromarray(random.integers(0, 256, (8, 8), dtype=np.uint8)).save(tmp_path / "images" / f"{i:02}.png")
    (tmp_path / "shards").mkdir()
    for number, (first, last) in enumerate([(0, 40), (40, 60)]):
        with tarfile.open(tmp_path / "shards" / f"{number}.tar", "w") as archive:
            for i in range(first, last):
                archive.add(tmp_path / "images" / f"{i:02}.png", f"{i:02}.png")
    whole = data.load(str(tmp_path / "shards"))
    some = data.load(str(tmp_path / "shards"), sample=12)
    at = [whole.names.index(name) for name in some.names]
    np.testing.assert_array_equal(some.x, whole.x[at])
    assert [sum(i < 40 for i in at), sum(i >= 40 for i in at)] == [8, 4]
    assert "12 of 60 samples" in some.notes[0]
    assert not data.load(str(tmp_path / "shards"), sample=60).notes


def test_a_sample_of_vectors_is_spread_over_all():
    x = np.arange(300, dtype=np.float32).reshape(100, 3)
    some = data.load(x, sample=10)
    assert (some.x[:, 0] // 30).tolist() == list(range(10))
    assert "10 of 100 samples" in some.notes[0]
