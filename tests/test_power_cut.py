"""A power cut at any moment leaves the old state or the new one, whole: a small simulated disk.

The renames, removals and flushes of real code are recorded, with the content of each file at the moment when it was
flushed. The disk then replays every prefix of this log. A file that was not flushed is empty; of the changes of names
that a flush of their folder did not follow, any number may have reached the disk, in their order. Every command that
says that it has done something is cut off at each moment, and what it has done is on the disk when it ends.
"""

import csv
import hashlib
import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
import torch
from starlette.testclient import TestClient

from c3clust import CC, KMeans, data, load
from c3clust.data.io.cache import Entry, new_array
from c3clust.encoders import features
from c3clust.encoders.image import from_module
from c3clust.files import atomic
from c3clust.methods._review import ReviewedRun
from c3clust.records.assignments import Assignments
from c3clust.records.changes import states
from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.records.state import State
from c3clust.review.server import application
from c3clust.review.session import Session
from c3clust.runs import Run, RunConfig
from c3clust.training.checkpoint import Checkpoints, TrainingState

pytestmark = pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="reads the names of open files")
X = np.random.default_rng(0).random((12, 4)).astype(np.float32)


class Recorder:
    """The log of what reaches the disk below a folder."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.log = folder, []
        self.before = contents(folder)
        self.real = {name: getattr(os, name) for name in ("fsync", "replace", "rename", "unlink", "sync")}
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
        if (to := Path(os.path.abspath(target))).is_relative_to(self.folder):
            self.add("rename", Path(os.path.abspath(source)), to)
        self.real["replace"](source, target, **options)

    rename = replace

    def sync(self):
        self.add("all", self.folder, contents(self.folder))
        self.real["sync"]()

    def unlink(self, path, **options):
        if not options.get("dir_fd") and (at := Path(os.path.abspath(path))).is_relative_to(self.folder):
            self.add("unlink", at)
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
        if kind == "all":
            live, pending = {path: [content] for path, content in more[0].items()}, []
            durable = dict(live)
        elif kind == "names":
            for change in [change for change in pending if change[1].parent == path]:
                _apply(durable, change)
                pending.remove(change)
        elif kind == "unlink":
            live.pop(path, None)
            pending.append(("unlink", path, None))
        elif kind == "rename" and any(path in each.parents for each in live):  # a folder
            _move(live, path, more[0])
            pending.append(("rename", more[0], path))
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
    else:
        _move(names, more, path)


def _move(names, source, target):
    """Rename a file, or all files of a folder."""
    for path in [path for path in names if path == source or source in path.parents]:
        names[target / path.relative_to(source)] = names.pop(path)


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


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A finished run of three clusters, in a folder with its samples: small images of six kinds."""
    folder = tmp_path_factory.mktemp("fitted")
    rng = np.random.default_rng(0)
    x = rng.integers(0, 20, (30, 4, 4)) + (np.eye(16)[np.arange(30) % 6] * 200).reshape(30, 4, 4)
    np.save(folder / "x.npy", x.astype(np.uint8))
    (folder / "answers.csv").write_text("kind,sample,other,cluster\nin,4,,2\nnowhere,9,,\n")
    KMeans(3, random_state=0).fit(
        data.load(folder / "x.npy"), run_dir=Run(folder / "run", source=str(folder / "x.npy"))
    )
    return folder


def history(run):
    """All operations of a run, by its states."""
    return [Edits.read(state).operations for state in states(run)]


LABEL, SPLIT = ("label", "run", "0=cats"), ("split", "run", "0")
MERGE, REGROUP, MOVE = ("merge", "run", "2", "0"), ("regroup", "run", "-k", "4"), ("move", "run", "3", "5", "1")
UNDO = ("undo", "run")
COMMANDS = {  # what is done before, and the command
    "label": ((), LABEL),
    "merge": ((LABEL,), MERGE),
    "split": ((LABEL,), SPLIT),
    "regroup": ((LABEL,), REGROUP),
    "move": ((LABEL,), MOVE),
    "new cluster": ((LABEL,), ("move", "run", "3", "dogs", "--new")),
    "discard": ((LABEL,), ("discard", "run", "7", "--samples")),
    "answer": ((LABEL,), ("answer", "run", "answers.csv")),
    "undo a label": ((LABEL,), UNDO),
    "undo a merge": ((LABEL, MERGE), UNDO),
    "undo a move": ((LABEL, MOVE), UNDO),
    "undo a split": ((SPLIT,), UNDO),
    "undo a regrouping": ((LABEL, REGROUP), UNDO),
    "report": ((LABEL,), ("report", "run")),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(fitted, tmp_path, record, monkeypatch, c3clust, name):
    """A finished command is on the disk; one that was cut off is done or not, and its run is whole."""
    folder = Path(shutil.copytree(fitted, tmp_path / "here"))
    run, x = folder / "run", np.load(folder / "x.npy")
    before, words = COMMANDS[name]
    for each in before:
        assert c3clust(*each, cwd=folder).returncode == 0
    old = history(run), (run / "assignments.csv").read_bytes()
    recorder = record(folder)
    done = c3clust(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    new, found = (history(run), (run / "assignments.csv").read_bytes()), []
    for _ in after_each_cut(recorder, monkeypatch):
        found.append((history(run), (run / "assignments.csv").read_bytes()))
        assert found[-1][0] in (old[0], new[0])
        assert found[-1][1] in (old[1], new[1])
        np.testing.assert_array_equal(load(run).predict(x), State.read(run).assignments.clusters)
    assert found[-1] == new


ACTIONS = {  # of the page of `c3clust review`
    "move": {"samples": [3, 5], "cluster": 1},
    "label": {"cluster": 0, "name": "cats"},
    "merge": {"clusters": [0, 2]},
    "split": {"cluster": 0},
    "undo": {},
}


@pytest.mark.parametrize("action", ACTIONS)
def test_actions_of_the_review(fitted, tmp_path, record, monkeypatch, c3clust, action):
    """What the server has answered is on the disk; what it was doing is done or not, and the run is whole."""
    folder = Path(shutil.copytree(fitted, tmp_path / "here"))
    run, x = folder / "run", np.load(folder / "x.npy")
    assert c3clust(*LABEL, cwd=folder).returncode == 0
    session, old = Session(ReviewedRun(run)), history(run)
    try:
        client = TestClient(application(session, "key", 8000), base_url="http://127.0.0.1:8000")
        version = client.get("/key/api/state").json()["version"]
        recorder, body = record(folder), {"action": action, "version": version, **ACTIONS[action]}
        done = client.post("/key/api/do", json=body, headers={"origin": "http://127.0.0.1:8000"})
        assert done.status_code == 200, done.text
        new, log = history(run), list(recorder.log)
    finally:
        session.close()
    assert new != old
    recorder.log, found = log, []  # what was written before the answer
    for _ in after_each_cut(recorder, monkeypatch):
        found.append(history(run))
        assert found[-1] in (old, new)
        np.testing.assert_array_equal(load(run).predict(x), State.read(run).assignments.clusters)
    assert found[-1] == new


ELSEWHERE = (
    ("predict", "run", "x.npy", "-o", "out.csv"),
    ("export", "run", "--to", "sorted"),
    ("predict", "run", "x.npy", "--to", "sorted"),
)


@pytest.mark.parametrize("words", ELSEWHERE, ids=" ".join)
def test_files_that_a_command_writes_elsewhere(fitted, tmp_path, record, monkeypatch, c3clust, words):
    folder = Path(shutil.copytree(fitted, tmp_path / "here"))
    target, recorder = folder / words[-1], record(folder)
    done = c3clust(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    new = contents(folder)
    for state in after_each_cut(recorder, monkeypatch):
        if (index := folder / "sorted" / "index.csv") in state:  # what it lists is there
            rows = csv.DictReader(state[index].decode().splitlines())
            assert all(state.get(index.parent / row["file"]) for row in rows)
    written = {path for path in new if path == target or target in path.parents}
    assert written
    assert {path: state.get(path) for path in written} == {path: new[path] for path in written}


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
