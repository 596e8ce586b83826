"""Data files from strangers: each is read, or one sentence says why not; no waiting, no memory out of proportion."""

import gzip
import os
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from c3clust import data
from c3clust.errors import DataError


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for i in range(4):
        Image.new("L", (8, 8), 60 * i).save(folder / f"{i}.png")
    return folder


# Pipes and devices


def test_pipes_are_not_waited_for(photos, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (photos / "link.png").symlink_to(tmp_path / "pipe")
    (photos / "zero.png").symlink_to("/dev/zero")
    os.mkfifo(photos / "own.png")
    samples = data.load(photos, max_bad=0.5)
    assert len(samples) == 4
    assert dict(samples.skipped) == {"link.png": "not a regular file", "zero.png": "not a regular file"}


def test_pipes_in_a_list(photos, tmp_path):
    os.mkfifo(photos / "pipe.png")
    listed = photos / "list.csv"
    listed.write_text("path\n0.png\n1.png\npipe.png\n")
    assert dict(data.load(listed, max_bad=0.5).skipped) == {"pipe.png": "not a regular file"}


def test_a_link_to_a_picture_is_followed(photos, tmp_path):
    (photos / "link.png").symlink_to(photos / "0.png")
    x = data.load(photos).x
    np.testing.assert_array_equal(x[0], x[-1])


# Archives


def a_zip(path, photos):
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(photos.iterdir()):
            archive.write(file, file.name)
    return bytearray(path.read_bytes())


def bad_utf8(raw):
    """A name in the directory that says it is UTF-8 and is not."""
    at = raw.index(b"PK\1\2")
    raw[at + 9] |= 0x08
    raw[at + 46] = 0xFF


def version_99(raw):
    raw[raw.index(b"PK\1\2") + 6] = 99


def far_offset(raw):
    """An offset of 64 bits, in the extra field, that no file has."""
    at = raw.index(b"PK\1\2")
    name = int.from_bytes(raw[at + 28 : at + 30], "little")
    raw[at + 42 : at + 46] = b"\xff" * 4
    raw[at + 30 : at + 32] = (12).to_bytes(2, "little")
    raw[at + 46 + name : at + 46 + name] = struct.pack("<HHQ", 1, 8, 2**63 + 5)
    end = raw.index(b"PK\5\6")
    raw[end + 12 : end + 16] = (int.from_bytes(raw[end + 12 : end + 16], "little") + 12).to_bytes(4, "little")


@pytest.mark.parametrize("damage", [bad_utf8, version_99, far_offset])
def test_zip(photos, tmp_path, damage):
    raw = a_zip(tmp_path / "a.zip", photos)
    damage(raw)
    (tmp_path / "a.zip").write_bytes(raw)
    with pytest.raises(DataError, match="is damaged or not an archive"):
        data.load(tmp_path / "a.zip")


def header(name=b"a.png", size=0, kind=b"0", sparse=b""):
    """A header of a tar; a negative size is in base 256."""
    field = b"%011o\0" % size if size >= 0 else b"\xff" * 4 + size.to_bytes(8, "big", signed=True)
    raw = bytearray(512)
    raw[: len(name)] = name
    raw[100:108] = b"0000644\0"
    raw[124:136] = field
    raw[156:157] = kind
    raw[257:265] = b"ustar  \0" if kind == b"S" else b"ustar\x0000"
    raw[386 : 386 + len(sparse)] = sparse
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw)


def pax(**records):
    lines = b""
    for key, value in records.items():
        text = f" {key.replace('_', '.')}={value}\n".encode()
        n = len(text) + 1
        while len(str(n)) + len(text) != n:
            n += 1
        lines += str(n).encode() + text
    return header(b"pax", len(lines), b"x") + lines.ljust(-(-len(lines) // 512) * 512, b"\0")


TARS = {
    "size -5": header() + header(size=-5),
    "size -512, which goes back to itself": header(size=-512),
    "size -1024 after another": header() + header(size=-1024),
    "a size below 0 in an extended header": pax(size=-1024) + header(),
    "a sparse file": header(kind=b"S", sparse=b"x" * 96),
    "a sparse map in the data": pax(GNU_sparse_major=1, GNU_sparse_minor=0) + header(size=512) + b"9" * 512,
    "a bad sparse map": pax(GNU_sparse_map="1,x") + header(),
    "a header of 8 MB": header(b"pax", 8 * 2**20, b"x") + bytes(8 * 2**20),
    "a name of 8 MB": header(b"././@LongLink", 8 * 2**20, b"L") + b"a" * 8 * 2**20,
    "headers of headers": pax(path="a") * 2000,
}


@pytest.mark.parametrize("what", TARS)
@pytest.mark.parametrize("compressed", [False, True])
def test_tar(tmp_path, what, compressed):
    place = tmp_path / ("a.tar.gz" if compressed else "a.tar")
    raw = TARS[what] + bytes(1024)
    place.write_bytes(gzip.compress(raw) if compressed else raw)
    with pytest.raises(DataError, match=r"is damaged or not an archive|contains no images|no readable image"):
        data.load(place)


# Limits


def test_an_npz_that_unpacks_to_too_much(tmp_path, monkeypatch):
    monkeypatch.setenv("C3CLUST_MAX_SMALL", "0")
    x = np.zeros((20, 1000, 1000), np.uint8)
    np.savez_compressed(tmp_path / "x.npz", x=x)
    with pytest.raises(DataError, match=r"unpacks to more than .* set C3CLUST_MAX_RATIO"):
        data.load(tmp_path / "x.npz")
    monkeypatch.setenv("C3CLUST_MAX_RATIO", "2000")
    assert data.load(tmp_path / "x.npz").x.shape == (20, 1, 1000, 1000)


def write_parquet(path, /, **columns):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table(columns), path)
    return path


@pytest.mark.parametrize(
    "columns",
    [
        {"a": np.zeros(2_000_000), "b": np.ones(2_000_000)},
        {"text": ["long " * 20_000] * 300},
        {"embedding": [[0.0] * 64] * 100_000},
        {"image": [bytes(100_000)] * 300},
    ],
    ids=["numbers", "texts", "embeddings", "images"],
)
def test_a_parquet_file_that_unpacks_to_too_much(tmp_path, monkeypatch, columns):
    monkeypatch.setenv("C3CLUST_MAX_SMALL", str(2**24))
    path = write_parquet(tmp_path / "x.parquet", **columns)
    before = peak_memory()
    with pytest.raises(DataError, match=r"unpacks to more than .* set C3CLUST_MAX_RATIO"):
        data.load(path)
    assert peak_memory() - before < 2**28


def peak_memory():
    status = Path("/proc/self/status")
    return int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024 if status.exists() else 0


def test_a_limit_on_pixels_and_bytes_of_one_image(photos, monkeypatch):
    monkeypatch.setenv("C3CLUST_MAX_PIXELS", "63")
    with pytest.raises(DataError, match="too large: 8 × 8 pixels, more than 63"):
        data.load(photos)
    monkeypatch.setenv("C3CLUST_MAX_IMAGE", "20")
    with pytest.raises(DataError, match="bytes, more than the 20"):
        data.load(photos)


# Types of cells


def test_times_of_parquet_files_are_left_out(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    columns = {
        "ns": pyarrow.array([1, 2**62, None, 7], pyarrow.timestamp("ns")),
        "far": pyarrow.array([1, 2**50, 3, 4], pyarrow.timestamp("s")),
        "zone": pyarrow.array([1, 2, 3, 4], pyarrow.timestamp("us", tz="No/Where")),
        "day": pyarrow.array([1, 2**30, 3, 4], pyarrow.date32()),
        "long": pyarrow.array([1, 2**60, 3, 4], pyarrow.duration("s")),
        "number": [1.0, 2.0, 3.0, 5.0],
    }
    found = data.load(write_parquet(tmp_path / "x.parquet", **columns))
    assert [column.name for column in found.columns] == ["number"]
    assert sum("neither numbers nor words" in note for note in found.notes) == 5


# Pickles (CIFAR)


def cifar(folder, batch):
    folder.mkdir()
    for name in ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"):
        (folder / name).write_bytes(batch)
    return folder


def nested(kind):
    """Few bytes whose lists within lists have 2^60 entries, or whose tuples take 2^60 steps to hash."""
    raw = b"\x80\x02" + (b"]" if kind == "labels" else b")") + b"q\0"
    for i in range(60):
        raw += (b"]q%c(h%ch%ce" % (i + 1, i, i)) if kind == "labels" else (b"h%ch%c\x86q%c" % (i, i, i + 1))
    array = pickle.dumps(np.zeros((2, 3072), np.uint8), 2)[2:-1]
    if kind == "labels":
        return raw + b"}q\xf0(U\4data" + array.replace(b"q\0", b"q\xf1") + b"U\6labelsh<u."
    return raw + b"}h<K\1s."


@pytest.mark.parametrize("kind", ["labels", "keys"])
def test_nested_pickles(tmp_path, kind):
    before = peak_memory()
    with pytest.raises(DataError, match="is not a batch of CIFAR-10"):
        data.load(cifar(tmp_path / "cifar-10-batches-py", nested(kind)))
    assert peak_memory() - before < 2**27


# Lists of images


@pytest.fixture
def elsewhere(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    Image.new("L", (8, 8), 7).save(folder / "secret.png")
    return folder / "secret.png"


def lists(photos, *cells):
    """A CSV file and a Parquet file of these paths, beside the photos."""
    (photos / "list.csv").write_text("\n".join(["path", *cells]) + "\n")
    yield photos / "list.csv"
    yield write_parquet(photos / "list.parquet", path=list(cells))


def test_a_list_names_files_in_its_own_folder(photos, elsewhere):
    (photos / "below").mkdir()
    Image.new("L", (8, 8), 9).save(photos / "below" / "5.png")
    for path in lists(photos, "0.png", "below/5.png", "below/../1.png", str(photos / "2.png")):
        assert len(data.load(path)) == 4
    for cell in ("../elsewhere/secret.png", str(elsewhere), "below/../../elsewhere/secret.png"):
        for path in lists(photos, "0.png", cell):
            (name, reason), *_ = data.load(path, max_bad=0.5).skipped
            assert name == cell
            assert "outside of the folder of the list" in reason
            assert len(data.load(path, outside=True)) == 2


def test_links_do_not_change_what_dots_mean(photos, elsewhere):
    """`in/..` is the folder of the list, also where `in` is a link to another place."""
    (photos / "in").symlink_to(elsewhere.parent)
    (photos.parent / "0.png").write_bytes(b"outside")
    for path in lists(photos, "in/../0.png"):
        assert len(data.load(path)) == 1


def test_the_command_line_allows_others(photos, elsewhere, c3clust, tmp_path):
    path = next(lists(photos, "0.png", "1.png", str(elsewhere)))
    refused = c3clust("fit", path, "-k", 2, "--method", "kmeans", "-o", tmp_path / "run")
    assert refused.returncode == 2
    assert "--outside" in refused.stderr
    words = ("fit", path, "-k", 2, "--method", "kmeans", "-o", tmp_path / "run2", "--outside", "-q")
    assert c3clust(*words).returncode == 0
    assert "--outside" in c3clust("predict", tmp_path / "run2", path).stderr
    assert c3clust("predict", tmp_path / "run2", path, "--outside").returncode == 0
    assert "--outside" in c3clust("export", tmp_path / "run2", "--to", tmp_path / "out").stderr
    assert c3clust("export", tmp_path / "run2", "--to", tmp_path / "out", "--outside").returncode == 0
    assert elsewhere.read_bytes() in [file.read_bytes() for file in (tmp_path / "out").rglob("*.png")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("path,label\n0.png,a,b\n1.png,b\n", "3 cells in row 1 and 2 columns"),
        ("path,label\n0.png\n1.png,b\n", "1 cells in row 1"),
        ("path,label\n0.png,\n1.png,b\n", "no label in row 1"),
        ("path,path\n0.png,1.png\n", "more than one column 'path'"),
        (f"path\n{'a' * 200_000}.png\n", "cannot be read as CSV"),
        (f"path\n{'a' * 5000}.png\n0.png\n", "File name too long"),
        ("path\n0.png\0\n", "null"),
    ],
)
def test_rows_of_a_list(photos, text, said):
    (photos / "list.csv").write_text(text)
    with pytest.raises(DataError, match=said):
        data.load(photos / "list.csv")


@pytest.mark.parametrize(("name", "separator"), [("list.csv", ";"), ("list.tsv", "\t")])
def test_separators_of_a_list(photos, name, separator):
    (photos / name).write_text(f"path{separator}label\n0.png{separator}a\n1.png{separator}b\n")
    assert list(data.load(photos / name).classes) == ["a", "b"]


# Words


def test_words_that_cannot_be_written_are_found_before_training(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((2, 4, 4)), y=np.array(["a\ud800", "b"]))
    with pytest.raises(DataError, match=r"the name of a class with U\+D800, which is not a valid character"):
        data.load(tmp_path / "x.npz")
    with pytest.raises(DataError, match=r"a text with U\+D800"):
        data.load(["a \ud800", "b"])


def test_names_of_files_that_are_not_utf8_are_kept(photos):
    os.rename(photos / "0.png", os.fsencode(photos) + b"/\xff.png")
    assert "\udcff.png" in data.load(photos).names


# Many columns


def test_each_column_is_converted_once(tmp_path, monkeypatch):
    """20,000 columns took 9 s: each was converted four times, and had a scaler of its own."""
    from sklearn.preprocessing import StandardScaler

    from c3clust.data.sources import table
    from c3clust.encoders.rows import TableEncoder

    calls = []
    for owner, name in ((table, "numbers"), (StandardScaler, "fit")):
        monkeypatch.setattr(owner, name, counted(getattr(owner, name), calls))
    x = np.random.default_rng(0).normal(size=(5, 300))
    lines = [",".join(f"c{i}" for i in range(300)), *(",".join(map(str, row)) for row in x)]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    found = data.load(tmp_path / "x.csv")
    np.testing.assert_array_equal(found.x, x)
    encoder = TableEncoder()
    encoder.fit(found)
    np.testing.assert_allclose([column.mean for column in encoder.columns], x.mean(axis=0))
    assert calls.count("numbers") == 300
    assert calls.count("fit") == 1


def counted(function, calls):
    def call(*args, **kwargs):
        calls.append(function.__name__)
        return function(*args, **kwargs)

    return call
