"""A power cut at any moment leaves the old state or the new one, whole: a small simulated disk.

The renames, removals and flushes of real code are recorded, with the content of each file at the moment when it was
flushed. The disk then replays every prefix of this log. A file that was not flushed is empty; of the changes of names
that a flush of their folder did not follow, any number may have reached the disk, in their order.
"""

import hashlib
import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
import torch

from c3clust import CC, KMeans, data, load
from c3clust.data.io.cache import Entry, new_array
from c3clust.encoders import features
from c3clust.encoders.image import from_module
from c3clust.files import atomic
from c3clust.records.assignments import Assignments
from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.runs import Run, RunConfig
from c3clust.training.checkpoint import Checkpoints, TrainingState

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="reads the names of open files")
X = np.random.default_rng(0).random((12, 4)).astype(np.float32)


class Recorder:
    """The log of what reaches the disk below a folder."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.log = folder, []
        self.before = contents(folder)
        self.real = {name: getattr(os, name) for name in ("fsync", "replace", "rename", "unlink")}
        for name in self.real:
            monkeypatch.setattr(os, name, getattr(self, name))

    def add(self, *event):
        self.log.append(event)

    def fsync(self, number):
        path = Path(os.readlink(f"/proc/self/fd/{number}"))
        if path.is_relative_to(self.folder):
            is_folder = stat.S_ISDIR(os.fstat(number).st_mode)
            self.add("names", path) if is_folder else self.add("sync", path, path.read_bytes())
        self.real["fsync"](number)

    def replace(self, source, target, **options):
        if Path(target).is_relative_to(self.folder):
            self.add("rename", Path(source), Path(target))
        self.real["replace"](source, target, **options)

    rename = replace

    def unlink(self, path, **options):
        if not options.get("dir_fd") and Path(path).is_relative_to(self.folder):
            self.add("unlink", Path(path))
        self.real["unlink"](path, **options)

    def states(self):
        """What may be on the disk after a cut: {path: content}, each once, in the order of the log."""
        seen = set()
        for state in _states(self.before, self.log):
            key = hashlib.sha256(repr(sorted(state.items())).encode()).digest()
            if key not in seen:
                seen.add(key)
                yield state


def _states(before, log):
    durable = {path: [content] for path, content in before.items()}  # a list of one: a file, under any name
    live, pending = dict(durable), []
    yield dict(before)
    for kind, path, *more in log:
        if kind == "names":
            for change in [change for change in pending if change[1].parent == path]:
                _apply(durable, change)
                pending.remove(change)
        elif kind == "unlink":
            live.pop(path, None)
            pending.append(("unlink", path, None))
        else:
            if path not in live:
                live[path] = [b""]
                pending.append(("link", path, live[path]))
            if kind == "sync":
                live[path][0] = more[0]
            else:
                live[more[0]] = live.pop(path)
                pending.append(("rename", more[0], path))
        for n in range(len(pending) + 1):
            names = dict(durable)
            for change in pending[:n]:
                _apply(names, change)
            yield {path: file[0] for path, file in names.items()}


def _apply(names, change):
    kind, path, more = change
    if kind == "unlink":
        names.pop(path, None)
    elif kind == "link":
        names[path] = more
    elif more in names:
        names[path] = names.pop(more)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def record(monkeypatch):
    return lambda folder: Recorder(folder, monkeypatch)


def after_each_cut(recorder, monkeypatch):
    """Put every state on the real disk in turn."""
    folder, count = recorder.folder, 0
    monkeypatch.undo()
    for state in recorder.states():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for path, content in state.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        count += 1
        yield state
    assert count > 2


def test_the_simulated_disk_sees_a_missing_flush(tmp_path, record, monkeypatch):
    """Without a flush of the file the new content is lost, and without one of the folder the new name."""
    (tmp_path / "a").write_bytes(b"old")
    recorder = record(tmp_path)
    (tmp_path / "b").write_bytes(b"new")
    os.replace(tmp_path / "b", tmp_path / "a")
    assert {state.get(tmp_path / "a") for state in recorder.states()} == {b"old", b""}


def test_one_file(tmp_path, record, monkeypatch):
    (tmp_path / "a").write_bytes(b"old")
    recorder = record(tmp_path)
    atomic.write_atomically(tmp_path / "a", b"new")
    states = [state[tmp_path / "a"] for state in after_each_cut(recorder, monkeypatch)]
    assert set(states) == {b"old", b"new"}
    assert states[-1] == b"new"  # what has returned is on the disk
    assert [state[tmp_path / "a"] for state in _states(recorder.before, recorder.log)][-1] == b"new"


def test_edits(tmp_path, record, monkeypatch):
    Edits(3).label({0: "cats"}).write(tmp_path)
    recorder = record(tmp_path)
    Edits.read(tmp_path, 3).merge([0, 2]).write(tmp_path)
    found = [len(Edits.read(tmp_path, 3).operations) for _ in after_each_cut(recorder, monkeypatch)]
    assert set(found) == {1, 2}
    assert found[-1] == 2


def training(epoch):
    network = torch.nn.Linear(4, 2)
    torch.nn.init.constant_(network.weight, epoch)
    optimisers = {"loss": torch.optim.Adam(network.parameters())}
    labels = torch.zeros(len(X), dtype=torch.int64)
    return TrainingState(network, optimisers, None, torch.Generator(), X, (4,), None, 9, 2, epoch, labels=labels)


def test_checkpoints(tmp_path, record, monkeypatch):
    run = tmp_path / "run"
    run.mkdir()
    Checkpoints(run).save(0, training(1))
    recorder = record(tmp_path)
    for epoch in (2, 3, 4):
        Checkpoints(run).save(0, training(epoch))
    reached = []
    for _ in after_each_cut(recorder, monkeypatch):
        now = training(0)
        assert Checkpoints(run).restore(0, now)
        assert (now.network.weight == now.epoch).all()
        reached.append(now.epoch)
    assert set(reached) == {1, 2, 3, 4}
    assert reached[-1] == 4


@pytest.mark.parametrize("method", ["kmeans", "cc"])
def test_a_run(tmp_path, record, monkeypatch, method):
    run, quick = tmp_path / "run", {"epochs": 2, "batch_size": 6, "projection_dim": 2}
    estimator = KMeans(2, random_state=0) if method == "kmeans" else CC(2, random_state=0, **quick)
    recorder = record(tmp_path)
    labels = estimator.fit(X, run_dir=Run(run, page=method == "kmeans")).labels_
    finished = []
    for state in after_each_cut(recorder, monkeypatch):
        finished.append(run / "record.json" in state)
        if finished[-1]:
            assert RunRecord.read(run / "record.json").n_clusters == 2
            np.testing.assert_array_equal(Assignments.read(run).clusters, labels)
            np.testing.assert_array_equal(load(run).predict(X), labels)
        elif run / "request.json" in state:
            assert RunConfig.read(run).is_own()
    assert finished[-1]
    assert not finished[0]


def test_features(tmp_path, record, monkeypatch):
    x = np.random.default_rng(0).integers(0, 256, (6, 1, 4, 4), dtype=np.uint8)
    encoder = from_module(torch.nn.Flatten())
    recorder = record(tmp_path)
    expected = features(encoder, data.load(x), folder=tmp_path / "features").x[:]
    for _ in after_each_cut(recorder, monkeypatch):  # computed again where they are not whole
        np.testing.assert_array_equal(features(encoder, data.load(x), folder=tmp_path / "features").x[:], expected)


def test_an_entry(tmp_path, record, monkeypatch):
    """Features and decoded pictures are entries."""
    entry = Entry.of(tmp_path, "0" * 64)
    recorder = record(tmp_path)
    with new_array(tmp_path / "new.npy", (3,), np.uint8) as file:
        file.write(bytes([1, 2, 3]))
    entry.store(tmp_path / "new.npy", {"shape": [3]})
    found = [entry.load() for _ in after_each_cut(recorder, monkeypatch)]
    assert found[0] is None
    assert all(x is None or x[0].tolist() == [1, 2, 3] for x in found)
    assert found[-1] is not None


@pytest.mark.parametrize("damage", [b"\x09", b""])
def test_an_entry_is_compared_with_its_hash(tmp_path, damage):
    entry = Entry.of(tmp_path, "0" * 64)
    with new_array(tmp_path / "new.npy", (3,), np.uint8) as file:
        file.write(bytes([1, 2, 3]))
    entry.store(tmp_path / "new.npy", {})
    content = entry.array.read_bytes()
    entry.array.write_bytes(content[:-1] + damage)
    assert entry.load() is None
