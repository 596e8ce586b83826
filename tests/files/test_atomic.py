"""Links, pipes and other people's names in the folders that c3clust writes to and reads from."""

import json
import os

import numpy as np
import pytest

from c3clust import CC, KMeans, load
from c3clust.data.io.cache import Entry
from c3clust.errors import C3ClustError, RunError
from c3clust.files import atomic
from c3clust.files.lock import locked
from c3clust.records.assignments import Assignments
from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.report.view import View
from c3clust.runs import Run, RunConfig
from c3clust.training.checkpoint import Checkpoints

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and pipes")
READERS = {
    "record.json": lambda run: RunRecord.read(run / "record.json"),
    "request.json": RunConfig.read,
    "model.json": load,
    "model.safetensors": load,
    "edits.json": lambda run: Edits.read(run, 2),
    "assignments.csv": Assignments.read,
    "view.npz": View.read,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished run with an edit."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    KMeans(2, random_state=0).fit(np.random.default_rng(0).random((12, 4)), run_dir=folder)
    Edits(2).label({0: "cats"}).write(folder)
    return folder


@pytest.fixture
def run(whole, tmp_path):
    (tmp_path / "run").mkdir()
    for path in whole.iterdir():
        (tmp_path / "run" / path.name).write_bytes(path.read_bytes())
    return tmp_path / "run"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_only_regular_files_are_read(run, name, kind, tmp_path):
    path = run / name
    moved = path.rename(tmp_path / name)
    {"link": lambda: path.symlink_to(moved), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir}[kind]()
    with pytest.raises(C3ClustError, match=r"symbolic link|not a regular file|Is a directory"):
        READERS[name](run)


@pytest.fixture
def elsewhere(tmp_path):
    """A folder with files that c3clust must not touch."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for name in ("letter.txt", "0-end.json", ".x.json.12.partial"):
        (folder / name).write_text("mine")
    return folder


def untouched(folder):
    return {path.name: path.read_text() for path in folder.iterdir()} == {
        name: "mine" for name in ("letter.txt", "0-end.json", ".x.json.12.partial")
    }


def test_a_linked_checkpoint_folder_is_refused(tmp_path, elsewhere):
    x = np.random.default_rng(0).random((12, 4)).astype(np.float32)
    (tmp_path / "run").mkdir()
    model = CC(n_clusters=2, epochs=1, projection_dim=2, random_state=0)
    run = Run(tmp_path / "run")
    model._config(model._validate(x), 0, run).write(tmp_path / "run")
    (tmp_path / "run" / "checkpoint").symlink_to(elsewhere)
    with pytest.raises(RunError, match="checkpoint is a link or a file"):
        model.fit(x, run_dir=run)
    with pytest.raises(RunError, match="checkpoint is a link or a file"):
        Checkpoints(tmp_path / "run").remove()
    assert untouched(elsewhere)


def test_only_checkpoints_are_removed(tmp_path):
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for name in ("0-end.json", "0-end.safetensors", "1-00001-000000.json", ".0-end.json.1a2b.partial", "letter.txt"):
        (folder / name).touch()
    Checkpoints(tmp_path).remove()
    assert [path.name for path in folder.iterdir()] == ["letter.txt"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder"])
def test_a_lock_that_is_no_file_of_its_own_is_refused(tmp_path, elsewhere, kind):
    (tmp_path / "run").mkdir()
    target, path = elsewhere / "letter.txt", tmp_path / "run" / "lock"
    made = {"link": lambda: path.symlink_to(target), "hard link": lambda: path.hardlink_to(target)}
    (made | {"pipe": lambda: os.mkfifo(path), "folder": path.mkdir})[kind]()
    with pytest.raises(RunError, match="is not a lock of c3clust"), locked(tmp_path / "run"):
        pass
    assert untouched(elsewhere)


def test_names_in_a_run_folder_that_are_links_are_replaced_not_followed(tmp_path, elsewhere):
    for name in ("a.json", ".writable"):
        (tmp_path / name).symlink_to(elsewhere / "letter.txt")
        atomic.write_atomically(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"
    assert untouched(elsewhere)


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_not_replaced(tmp_path, kind):
    path = tmp_path / "out.csv"
    os.mkfifo(path) if kind == "pipe" else path.mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        atomic.write_atomically(path, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_partial_files_of_links_and_other_names_stay(tmp_path, elsewhere):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "checkpoint").symlink_to(elsewhere)
    (tmp_path / "run" / ".notes.partial").touch()
    (tmp_path / "run" / ".record.json.00ff.partial").touch()
    atomic.clear_partial(tmp_path / "run")
    atomic.clear_partial(tmp_path / "run" / "checkpoint")
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == [".notes.partial", "checkpoint"]
    assert untouched(elsewhere)


def test_appending_follows_no_link(tmp_path, elsewhere):
    (tmp_path / "log.txt").symlink_to(elsewhere / "letter.txt")
    with pytest.raises(OSError, match="symbolic link"), atomic.append_to(tmp_path / "log.txt"):
        pass
    assert untouched(elsewhere)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("which", ["info", "array"])
def test_an_entry_that_is_a_pipe_is_none(tmp_path, which):
    np.save(tmp_path / "new.npy", np.zeros(3))
    entry = Entry.of(tmp_path, "0" * 64)
    entry.store(tmp_path / "new.npy", {})
    assert entry.load() is not None
    getattr(entry, which).unlink()
    os.mkfifo(getattr(entry, which))
    assert entry.load() is None


def test_a_json_file_may_not_be_of_any_size(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text(json.dumps(["x" * 2000]))
    monkeypatch.setenv("C3CLUST_MAX_JSON", "1000")
    with pytest.raises(OSError, match="1,000 are the limit"):
        atomic.read_json(tmp_path / "a.json")


def test_a_file_that_is_read_on_windows_is_replaced_a_moment_later(tmp_path, monkeypatch):
    tries = []

    def replace(source, target):
        tries.append(target)
        if len(tries) < 3:
            raise PermissionError(13, "in use", str(target))
        source.rename(target)

    monkeypatch.setattr(atomic, "WINDOWS", True)
    monkeypatch.setattr(atomic.os, "replace", replace)
    atomic.write_atomically(tmp_path / "a.json", b"{}")
    assert (len(tries), (tmp_path / "a.json").read_bytes()) == (3, b"{}")


def test_links_are_not_followed_where_there_is_no_flag_for_it(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"1")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    monkeypatch.setattr(atomic, "WINDOWS", True)
    monkeypatch.setattr(atomic, "_NO_FOLLOW", 0)
    with pytest.raises(OSError, match="not followed"):
        atomic.read_bytes(tmp_path / "link")
    assert atomic.read_bytes(tmp_path / "file") == b"1"
