"""Small files that unpack to a lot are refused before they do: the peak memory of a process that reads each of them."""

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile

import numpy as np
import pytest
from PIL import Image

pyarrow = pytest.importorskip("pyarrow", reason="the extra c3clust[tables] is not installed")
parquet = pytest.importorskip("pyarrow.parquet")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

MANY = 8_000_000  # values: 32 MB as float32
LONG = b"\0" * 32_000_000
MOST = 20_000_000  # bytes that reading a file may take, with C3CLUST_MAX_SMALL = 4 MB

SERVER = """
import json, os, resource, sys
import pyarrow.parquet, pyarrow.ipc, pyarrow.compute
from c3clust import data
from c3clust.errors import C3ClustError
for line in json.loads(sys.argv[1]):  # small files, so that everything is imported
    data.load(line)
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
for line in sys.stdin:
    reads, writes = os.pipe()
    if os.fork() == 0:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak starts again
        before = peak()
        try:
            said = repr(data.load(json.loads(line)).x.shape)
        except C3ClustError as error:
            said = str(error)
        os.write(writes, json.dumps([peak() - before, said]).encode())
        os._exit(0)
    os.close(writes)
    status = os.waitstatus_to_exitcode(os.wait()[1])
    with open(reads) as file:
        print(json.dumps([status, *json.loads(file.read() or "[0, null]")]), flush=True)
"""


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Read a file in a process of its own: its exit code, the memory that it took, and what it said."""
    environment = os.environ | {"C3CLUST_MAX_SMALL": str(2**22), "OMP_NUM_THREADS": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    known = json.dumps(small_files(tmp_path_factory.mktemp("small")))
    with subprocess.Popen([sys.executable, "-c", SERVER, known], **pipes) as server:

        def read(path):
            server.stdin.write(json.dumps(str(path)) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        yield read
        server.stdin.close()


def small_files(folder):
    """One of each kind."""
    image = io.BytesIO()
    Image.new("L", (4, 4)).save(image, "png")
    parquet.write_table(pyarrow.table({"embedding": [[1.0, 2.0], [2.0, 1.0]]}), folder / "a.parquet")
    parquet.write_table(pyarrow.table({"a": [1.0, 2.0], "b": [2.0, 1.0]}), folder / "b.parquet")
    parquet.write_table(pyarrow.table({"image": [image.getvalue()] * 2}), folder / "c.parquet")
    saved(folder / "set", pyarrow.array([image.getvalue()] * 2).dictionary_encode())
    with tarfile.open(folder / "a.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("a.png")
        member.size = len(image.getvalue())
        archive.addfile(member, io.BytesIO(image.getvalue()))
    return [str(folder / name) for name in ("a.parquet", "b.parquet", "c.parquet", "set", "a.tar.gz")]


def lists(n=MANY):
    """One cell that is a list of n equal numbers."""
    return pyarrow.ListArray.from_arrays([0, n], pyarrow.array(np.zeros(n, np.float32)))


def saved(folder, column, **options):
    """A folder as `save_to_disk` writes it, with one column of images."""
    folder.mkdir()
    table = pyarrow.table({"image": column})
    options = pyarrow.ipc.IpcWriteOptions(**options)
    with pyarrow.ipc.new_stream(folder / "a.arrow", table.schema, options=options) as out:
        out.write_table(table)
    (folder / "dataset_info.json").write_text("{}")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "a.arrow"}]}))
    return folder


def embeddings(folder):
    parquet.write_table(pyarrow.table({"embedding": lists()}), folder / "a.parquet")
    return folder / "a.parquet"


def a_folder_of_embeddings(folder):
    return embeddings(folder).parent


def texts():
    """One cell that is a list of equal long texts."""
    words = pyarrow.DictionaryArray.from_arrays(np.zeros(40, np.int32), ["x" * 1_000_000]).cast(pyarrow.string())
    return pyarrow.ListArray.from_arrays([0, 40], words)


def lists_in_a_table(folder):
    parquet.write_table(pyarrow.table({"a": [1.0], "b": [2.0], "c": texts()}), folder / "a.parquet")
    return folder / "a.parquet"


def lists_of_a_long_text(folder):
    parquet.write_table(pyarrow.table({"image": texts()}), folder / "a.parquet")
    return folder / "a.parquet"


def one_long_cell(folder):
    parquet.write_table(pyarrow.table({"image": [LONG]}), folder / "a.parquet", compression="zstd")
    return folder / "a.parquet"


def a_compressed_buffer(folder):
    return saved(folder / "set", pyarrow.array([LONG]), compression="zstd")


def a_compressed_dictionary(folder):
    return saved(folder / "set", pyarrow.array([LONG]).dictionary_encode(), compression="zstd")


def a_dictionary(folder):
    return saved(folder / "set", pyarrow.DictionaryArray.from_arrays(np.zeros(5000, np.int32), [LONG[:100_000]]))


def global_headers(folder):
    """Each is within the limit of one header, and all are kept."""
    out = [tarfile.TarInfo.create_pax_global_header({f"c3clust.{i}": "x" * 900_000}) for i in range(40)]
    (folder / "a.tar.gz").write_bytes(gzip.compress(b"".join(out) + tarfile.TarInfo("a.png").tobuf(), 1))
    return folder / "a.tar.gz"


def headers_of_one_member(folder):
    """Each describes the next one."""
    long = tarfile.TarInfo("y" * 900_000 + ".png").tobuf(tarfile.PAX_FORMAT)
    (folder / "a.tar.gz").write_bytes(gzip.compress(long[:-512] * 40 + long, 1))
    return folder / "a.tar.gz"


BOMBS = [
    embeddings, a_folder_of_embeddings, lists_in_a_table, lists_of_a_long_text, one_long_cell, a_compressed_buffer,
    a_compressed_dictionary, a_dictionary, global_headers, headers_of_one_member,
]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of the memory from /proc")
@pytest.mark.parametrize("make", BOMBS)
def test_a_bomb_takes_little_memory(tmp_path, load, make):
    code, peak, said = load(make(tmp_path))
    assert code == 0
    assert peak < MOST, said
    if make is lists_in_a_table:
        assert said == "(1, 2)", "the list is not read, the other columns are"
    else:
        assert "decompression bomb" in said or "headers that claim" in said


@pytest.mark.parametrize("name", ["offsets", "sizes"])
def test_offsets_outside_of_an_arrow_file(tmp_path, load, name):
    """Any four or eight bytes are changed; nothing is read beyond the buffers."""
    rng = np.random.default_rng(0)
    folder = saved(tmp_path / "set", pyarrow.array([{"bytes": bytes(40), "path": None}] * 6))
    content, said = (folder / "a.arrow").read_bytes(), []
    offsets = content.index(np.arange(0, 280, 40, dtype=np.int32).tobytes())
    for i in range(20):
        wrong = bytearray(content)
        at = offsets + 4 * (i % 7) if name == "offsets" else int(rng.integers(len(content) - 8))
        wrong[at : at + 4] = rng.integers(-(2**31), 2**31, dtype=np.int64).astype(np.int32).tobytes()
        (folder / "a.arrow").write_bytes(wrong)
        code, _, text = load(folder)
        assert code == 0
        said.append(text)
    if name == "offsets":
        assert all("cannot be read as a Hugging Face folder" in text for text in said), said


def test_large_but_honest_files_are_read(tmp_path, load):
    x = np.random.default_rng(0).random((20_000, 128)).astype(np.float32)  # 10 MB
    values = pyarrow.FixedSizeListArray.from_arrays(x.ravel(), 128)
    parquet.write_table(
        pyarrow.table({"embedding": values.cast(pyarrow.list_(pyarrow.float32()))}), tmp_path / "a.parquet"
    )
    assert load(tmp_path / "a.parquet")[2] == "(20000, 128)"
