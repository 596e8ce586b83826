"""Full disks, read-only folders, folders that vanish: a real tmpfs of 32 MiB where mounting is allowed."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from c3clust import CC, KMeans, augment, data, load
from c3clust.errors import DataError, RunError

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent.parent / "src")}


def make():
    return CC(n_clusters=3, epochs=4, batch_size=16, projection_dim=8, random_state=0)


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).random((40, 8, 8)).astype(np.float32)


@pytest.fixture(scope="module")
def whole(x):
    return make().fit(x)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 32 MiB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", place], capture_output=True)
    if made.returncode:
        pytest.skip("this machine does not allow mounting a tmpfs")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(place, leave):
    """Take all of a file system but `leave` bytes."""
    free = shutil.disk_usage(place).free
    (place / "filler").write_bytes(bytes(free - leave))


def during(monkeypatch, step, happens):
    """Do something before the `step`th batch of views."""
    made, views = [], augment.views

    def counted(*args):
        made.append(1)
        if len(made) == step:
            happens()
        return views(*args)

    monkeypatch.setattr(augment, "views", counted)


def assert_same(one, other, x):
    np.testing.assert_array_equal(one.predict_proba(x), other.predict_proba(x))


def checkpoints(run):
    return sorted(path.name for path in (run / "checkpoint").glob("*.json"))


def test_a_disk_that_fills_up(small_disk, x, whole, monkeypatch, caplog):
    with monkeypatch.context() as patch:
        during(patch, 6, lambda: fill(small_disk, 20_000))  # in the third epoch
        one = make()
        with pytest.raises(RunError, match=r"fitted, but .* cannot be written: No space left on device"):
            one.fit(x, run_dir=small_disk / "run")
    assert "A checkpoint could not be written (No space left on device)" in caplog.text
    assert checkpoints(small_disk / "run")
    assert not list((small_disk / "run").rglob("*.partial"))
    assert not (small_disk / "run" / "model.json").exists()
    assert_same(whole, one, x)  # the run went on in memory
    (small_disk / "filler").unlink()
    assert_same(whole, make().fit(x, run_dir=small_disk / "run"), x)
    assert_same(whole, load(small_disk / "run"), x)


def test_a_folder_that_becomes_read_only(small_disk, x, whole, monkeypatch):
    """The lock of a running fit keeps a real mount writable, so during the fit it is the file layer that refuses."""

    def mount(how):
        subprocess.run(["mount", "-o", f"remount,{how}", small_disk], check=True)

    def refuse(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    with monkeypatch.context() as patch:
        during(patch, 6, lambda: patch.setattr(os, "replace", refuse))
        one = make()
        with pytest.raises(RunError, match=r"fitted, but .* cannot be written: Read-only file system"):
            one.fit(x, run_dir=small_disk / "run")
    assert_same(whole, one, x)
    mount("ro")
    with pytest.raises(RunError, match="cannot be written: Read-only file system"):
        make().fit(x, run_dir=small_disk / "run")
    mount("rw")
    assert_same(whole, make().fit(x, run_dir=small_disk / "run"), x)


def test_a_folder_that_vanishes(tmp_path, x, whole, monkeypatch, caplog):
    during(monkeypatch, 6, lambda: shutil.rmtree(tmp_path / "run"))
    assert_same(whole, make().fit(x, run_dir=tmp_path / "run"), x)
    assert "A checkpoint could not be written (No such file or directory)" in caplog.text
    assert_same(whole, load(tmp_path / "run"), x)


@pytest.mark.parametrize("fails", [1, 2, 3, 6, 9, 11])
def test_each_write_may_fail(tmp_path, x, whole, monkeypatch, fails):
    """A failing file layer: the nth rename and all after it find no space. Files are whole, or not there."""
    real, done = os.replace, []

    def replace(*args):
        done.append(1)
        if len(done) >= fails:
            raise OSError(28, "No space left on device")
        real(*args)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        with pytest.raises((RunError, OSError), match="No space left"):
            make().fit(x, run_dir=tmp_path / "run")
    assert not list((tmp_path / "run").rglob("*.partial"))
    assert not (tmp_path / "run" / "model.json").exists()
    assert_same(whole, make().fit(x, run_dir=tmp_path / "run"), x)


# Data: temporary files, features and caches.


def photos(folder, n=40):
    """Pictures that cannot be compressed: 12 kB each."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for i in range(n):
        Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(folder / f"{i}.png")
    return folder


def packed(folder):
    with tarfile.open(folder.with_suffix(".tar.gz"), "w:gz") as archive:
        archive.add(folder, "photos")
    return folder.with_suffix(".tar.gz")


def test_a_full_temporary_folder_is_not_called_a_damaged_archive(small_disk, tmp_path, monkeypatch):
    archive = packed(photos(tmp_path / "photos"))
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    fill(small_disk, 100_000)
    with pytest.raises(DataError, match=r"temporary folder .*No space left on device.* set TMPDIR"):
        data.load(archive)
    assert [path.name for path in small_disk.iterdir()] == ["filler"]
    (small_disk / "filler").unlink()
    assert len(data.load(archive)) == 40
    assert not list(small_disk.iterdir())


def test_a_full_disk_under_the_cache(small_disk, tmp_path):
    """A write to a memory map would end the process by SIGBUS."""
    folder = photos(tmp_path / "photos")
    for left in (20_000, 700_000):  # the decoded pictures take 490 kB, twice while they are written
        fill(small_disk, left)
        with pytest.raises(DataError, match=r"The cache .* cannot be written \(No space left on device\)"):
            data.load(folder, cache=small_disk / "cache")
        assert not list((small_disk / "cache").glob("*"))
        (small_disk / "filler").unlink()
    assert data.load(folder, cache=small_disk / "cache").x.shape == (40, 3, 64, 64)


def test_a_full_disk_under_features(small_disk, tmp_path):
    samples = data.load(np.random.default_rng(0).integers(0, 256, (400, 8, 8), dtype=np.uint8))
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2000))
    fill(small_disk, 1_000_000)
    one = KMeans(2, encoder=module, random_state=0)
    with pytest.raises(DataError, match=r"Features cannot be stored in .*No space left on device.*3,200,000 bytes"):
        one.fit(samples, run_dir=small_disk / "run")
    assert not list((small_disk / "c3clust-features").iterdir())
    (small_disk / "filler").unlink()
    one.fit(samples, run_dir=small_disk / "run")


def test_a_full_temporary_folder_under_features(small_disk, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    fill(small_disk, 1_000_000)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2000))
    with pytest.raises(DataError, match=r"Features cannot be stored in .*No space left on device"):
        KMeans(2, encoder=module, random_state=0).fit(np.zeros((400, 8, 8), np.uint8))
    assert [path.name for path in small_disk.iterdir()] == ["filler"]


def test_sigterm_leaves_no_temporary_files(tmp_path):
    """A real process, ended while it reads an archive."""
    archive, temporary = packed(photos(tmp_path / "photos", 300)), tmp_path / "temporary"
    temporary.mkdir()
    words = [sys.executable, "-m", "c3clust", "fit", archive, "-k", "2", "--method", "cc", "-o", tmp_path / "run"]
    options = {"env": os.environ | ENVIRONMENT | {"TMPDIR": str(temporary)}, "stderr": subprocess.PIPE, "text": True}
    child = subprocess.Popen([*words, "--set", "epochs=1000", "--memory", "0"], **options)
    for _ in range(600):
        if list(temporary.glob("c3clust-images-*/images")) and (tmp_path / "run" / "request.json").exists():
            break
        time.sleep(0.1)
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 143, said
    assert "c3clust: stopped." in said
    assert "Traceback" not in said
    assert not list(temporary.glob("c3clust-*"))
