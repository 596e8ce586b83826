"""Full disks, read-only folders, folders that vanish: a real tmpfs of 32 MiB where mounting is allowed."""

import errno
import os
import shutil
import subprocess

import numpy as np
import pytest

from c3clust import CC, augment, load
from c3clust.errors import RunError


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
