"""The map over shards: resumed, divided among workers, killed on the way, and checked when it is merged."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow
import pytest
from PIL import Image
from pyarrow import parquet

from c3clust import KMeans
from c3clust.batch import map_shards, merge_parts, open_model, parse_part, shards_of
from c3clust.batch.parts import ACCOUNT
from c3clust.cli import main
from c3clust.data.shard import write_shards
from c3clust.errors import InputError, RunError

SHARDS, ROWS = 6, 40


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """A run, a folder of Parquet shards, and the vectors in it."""
    folder = tmp_path_factory.mktemp("map")
    random = np.random.default_rng(0)
    x = (random.normal(size=(SHARDS * ROWS, 6)) + 8 * np.eye(6)[np.arange(SHARDS * ROWS) % 3]).astype(np.float32)
    KMeans(n_clusters=3, random_state=0).fit(x, run_dir=folder / "run")
    (folder / "shards").mkdir()
    for i, rows in enumerate(np.split(x, SHARDS)):
        names = [f"{i}-{j}" for j in range(len(rows))]
        parquet.write_table(
            pyarrow.table({"id": names, "embedding": rows.tolist()}), folder / "shards" / f"{i:03}.parquet"
        )
    return folder, x


def run_map(folder, to, **more):
    source = str(folder / "shards")
    model, reading = open_model(folder / "run")
    return map_shards(model, folder / "run", source, shards_of(source), to, reading=reading, **more)


def command(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["c3clust", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code or 0, capsys.readouterr()


def test_two_workers_write_what_one_writes_and_predict_gives(vectors, tmp_path, monkeypatch, capsys):
    folder, x = vectors
    words = ("predict", folder / "run", folder / "shards", "--to")
    assert command(monkeypatch, capsys, *words, tmp_path / "one")[0] == 0
    for part in ("2/2", "1/2"):
        assert command(monkeypatch, capsys, *words, tmp_path / "two", "--part", part)[0] == 0
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    code, shown = command(monkeypatch, capsys, "merge-parts", tmp_path / "two", "-o", tmp_path / "all.parquet")
    assert (code, shown.out) == (0, f"240 samples of 6 shards, each exactly once: {tmp_path / 'all.parquet'}\n")
    merged = parquet.read_table(tmp_path / "all.parquet")
    expected = open_model(folder / "run")[0].assign(x)
    np.testing.assert_array_equal(merged["cluster"].to_numpy(), expected.clusters)
    np.testing.assert_allclose(merged["confidence"].to_numpy(), expected.confidence, rtol=1e-6)
    assert merged["name"].to_pylist() == [f"{i}-{j}" for i in range(SHARDS) for j in range(ROWS)]
    assert merged["shard"].to_pylist() == [f"{i:03}.parquet" for i in range(SHARDS) for _ in range(ROWS)]


def test_what_is_there_is_not_computed_again(vectors, tmp_path):
    folder, _ = vectors
    first = run_map(folder, tmp_path)
    (tmp_path / "002.parquet").unlink()
    (tmp_path / "004.parquet").write_bytes(b"PAR1 damaged")
    again = run_map(folder, tmp_path)
    assert (first.done, first.there, first.samples) == (SHARDS, 0, SHARDS * ROWS)
    assert (again.done, again.there) == (2, SHARDS - 2)
    assert merge_parts(tmp_path).samples == SHARDS * ROWS


def test_z_is_written_if_it_is_asked_for(vectors, tmp_path):
    folder, x = vectors
    run_map(folder, tmp_path, z=True)
    merge_parts(tmp_path, tmp_path.parent / "with-z.parquet")
    z = np.stack(parquet.read_table(tmp_path.parent / "with-z.parquet")["z"].to_numpy(zero_copy_only=False))
    np.testing.assert_allclose(z, open_model(folder / "run")[0].transform(x), rtol=1e-5)


@pytest.mark.parametrize("z", [False, True])
def test_a_shard_without_rows(vectors, tmp_path, z):
    """Engines write one for an empty partition."""
    folder, x = vectors
    shutil.copytree(folder / "shards", tmp_path / "shards")
    first = parquet.read_table(tmp_path / "shards" / "000.parquet")
    parquet.write_table(first.slice(0, 0), tmp_path / "shards" / "000-empty.parquet")
    model, reading = open_model(folder / "run")
    source, to = str(tmp_path / "shards"), tmp_path / "parts"
    done = map_shards(model, folder / "run", source, shards_of(source), to, reading=reading, z=z)
    assert (done.done, done.samples) == (SHARDS + 1, len(x))
    assert merge_parts(to, tmp_path / "all.parquet").samples == len(x)
    assert parquet.read_table(tmp_path / "all.parquet")["cluster"].to_pylist() == model.predict(x).tolist()


def test_images_of_webdataset_and_those_that_cannot_be_read(tmp_path, monkeypatch, capsys):
    random = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    for i in range(30):
        pixels = random.integers(0, 90, (12, 12, 3), dtype=np.uint8) + 150 * (i % 2)
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / "images" / f"{i:02}.png")
    KMeans(n_clusters=2, random_state=0).fit(str(tmp_path / "images"), run_dir=tmp_path / "run")
    expected = open_model(tmp_path / "run")[0].assign(str(tmp_path / "images"))
    (tmp_path / "images" / "99.png").write_bytes(b"no image")
    write_shards(str(tmp_path / "images"), tmp_path / "shards")
    words = ("predict", tmp_path / "run", tmp_path / "shards", "--to", tmp_path / "parts", "--max-bad", "0.5")
    assert command(monkeypatch, capsys, *words)[0] == 0
    code, shown = command(
        monkeypatch, capsys, "merge-parts", tmp_path / "parts", "-o", tmp_path / "all.parquet", "--json"
    )
    told = json.loads(shown.out)
    assert (code, told["samples"], len(told["skipped"])) == (0, 30, 1)
    found = parquet.read_table(tmp_path / "all.parquet")
    clusters = dict(zip(found["name"].to_pylist(), found["cluster"].to_pylist(), strict=True))
    assert clusters == dict(zip(expected.names, expected.clusters.tolist(), strict=True))


def rewrite(path, change):
    table = parquet.read_table(path)
    parquet.write_table(change(table).replace_schema_metadata(table.schema.metadata), path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda to: (to / "001.parquet").unlink(), "lacks 1 of 6 parts, first 001.parquet"),
        (lambda to: (to / "extra.parquet").write_bytes(b""), "extra.parquet, which is the part of no shard"),
        (lambda to: (to / "000.parquet").replace(to / "001.parquet") and None, "lacks 1 of 6"),
        (lambda to: (to / "001.parquet").write_bytes((to / "000.parquet").read_bytes()), "of another shard or model"),
        (lambda to: rewrite(to / "001.parquet", lambda table: table.slice(1)), "39 samples of 40"),
        (lambda to: rewrite(to / "001.parquet", lambda table: table.take([0, *range(39)])), "or some twice"),
        (lambda to: (to / "manifest.json").unlink(), "has no manifest.json"),
    ],
)
def test_merging_finds_what_is_missing_repeated_foreign_or_damaged(vectors, tmp_path, damage, message):
    run_map(vectors[0], tmp_path / "parts")
    damage(tmp_path / "parts")
    with pytest.raises(RunError, match=message):
        merge_parts(tmp_path / "parts", tmp_path / "all.parquet")
    assert not list(tmp_path.glob("*all.parquet*"))


def test_merging_finds_changed_bytes(vectors, tmp_path):
    run_map(vectors[0], tmp_path)
    path = tmp_path / "003.parquet"
    with parquet.ParquetFile(path) as file:
        chunk = file.metadata.row_group(0).column(2)
        at = chunk.data_page_offset + chunk.total_compressed_size - 2
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match="damaged"):
        merge_parts(tmp_path)


def test_a_folder_of_other_parts_is_refused(vectors, tmp_path, monkeypatch, capsys):
    folder, x = vectors
    run_map(folder, tmp_path / "parts")
    KMeans(n_clusters=2, random_state=0).fit(x, run_dir=tmp_path / "other")
    words = ("predict", tmp_path / "other", folder / "shards", "--to", tmp_path / "parts")
    code, shown = command(monkeypatch, capsys, *words)
    assert code == 2
    assert "begun with another model" in shown.err
    with pytest.raises(InputError, match="--z"):
        run_map(folder, tmp_path / "parts", z=True)
    with pytest.raises(InputError, match=r"no manifest\.json"):
        run_map(folder, folder / "shards")


def test_options_that_do_not_belong_together(vectors, tmp_path, monkeypatch, capsys):
    folder, x = vectors
    np.save(tmp_path / "x.npy", x)
    code, shown = command(monkeypatch, capsys, "predict", folder / "run", tmp_path / "x.npy", "--part", "1/2")
    assert (code, "folder of shards" in shown.err) == (2, True)
    code, shown = command(monkeypatch, capsys, "predict", folder / "run", folder / "shards", "--part", "1/2")
    assert (code, "give --to" in shown.err) == (2, True)
    for text in ("0/2", "3/2", "2", "a/b"):
        with pytest.raises(InputError, match="number of a worker"):
            parse_part(text)


WORKER = """
import sys, time
from c3clust.batch import map_shards, open_model, shards_of
run, shards, to = sys.argv[1:]
model, reading = open_model(run)
print("begins", flush=True)
map_shards(model, run, shards, shards_of(shards), to, reading=reading, tell=lambda line: time.sleep(0.01))
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is of POSIX")
def test_nothing_is_lost_when_a_worker_is_killed_ten_times(vectors, tmp_path):
    pytest.importorskip("onnxruntime")
    folder, x = vectors
    program, to, random, killed = tmp_path / "worker.py", tmp_path / "parts", np.random.default_rng(0), 0
    program.write_text(WORKER)
    run = tmp_path / "model.onnx"  # starts faster than torch
    open_model(folder / "run")[0].to_onnx(run)
    words = [sys.executable, str(program), str(run), str(folder / "shards"), str(to)]
    for _ in range(10):
        worker = subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True)
        assert worker.stdout.readline() == b"begins\n"
        time.sleep(random.uniform(0, 0.05))
        os.killpg(worker.pid, signal.SIGKILL)
        killed += worker.wait() == -signal.SIGKILL
        worker.stdout.close()
    assert killed == 10
    model, reading = open_model(run)
    map_shards(model, run, str(folder / "shards"), shards_of(str(folder / "shards")), to, reading=reading)
    merge_parts(to, tmp_path / "all.parquet")
    merged = parquet.read_table(tmp_path / "all.parquet")
    np.testing.assert_array_equal(merged["cluster"].to_numpy(), open_model(folder / "run")[0].predict(x))
    assert len(set(merged["name"].to_pylist())) == len(x)


def test_the_account_of_a_part(vectors, tmp_path):
    run_map(vectors[0], tmp_path)
    account = json.loads(parquet.read_schema(tmp_path / "005.parquet").metadata[ACCOUNT])
    size = (vectors[0] / "shards" / "005.parquet").stat().st_size
    assert (account["shard"], account["bytes"], account["n"], account["skipped"]) == ("005.parquet", size, ROWS, [])
