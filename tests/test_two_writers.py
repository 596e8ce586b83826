"""Two real processes edit, predict and export one run at the same time; nothing that was reported as done is lost.

Each command is sent to a process that has imported the package already, and both work at their own speed. Whenever both
rest, the edits in the folder are as many as were reported, and all outputs of the run describe the same clusters.
"""

import contextlib
import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

import c3clust
from c3clust.records.changes import Change, states
from c3clust.records.edits import Edits
from c3clust.report.export import export_run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SERVER = """
import contextlib, io, json, os, sys
import torch
from c3clust import cli, methods
from c3clust.methods import _changes, kmeans
from c3clust.report import editing, export
torch.set_num_threads(1)
for reads, writes in zip(sys.argv[1::2], sys.argv[2::2]):
    if os.fork() == 0:
        out = open(int(writes), "w", buffering=1)
        for line in open(int(reads)):
            sys.argv, code, text = ["c3clust", *json.loads(line)], 0, io.StringIO()
            with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(text):
                try:
                    cli.main()
                except SystemExit as stop:
                    code = stop.code or 0
            print(json.dumps([code, text.getvalue()]), file=out)
        os._exit(0)
os.wait()
os.wait()
"""


EDITS = ("label", "merge", "move", "discard", "split", "regroup")


class Worker:
    """A process that runs one command at a time."""

    def __init__(self, read, write):
        self.read, self.write, self.sent = os.fdopen(read), os.fdopen(write, "w", buffering=1), []

    def start(self, *words):
        self.sent.append([str(word) for word in words])
        self.write.write(json.dumps(self.sent[-1]) + "\n")

    def finish(self):
        """The commands that ended well. Those that were refused have said so in one sentence."""
        done, sent, self.sent = [], self.sent, []
        answers = [json.loads(self.read.readline()) for _ in sent]
        for words, (code, said) in zip(sent, answers, strict=True):
            assert code in (0, 2), (words, code, said)
            assert "Unexpected error" not in said, (words, said)
            assert code == 0 or (said.startswith("c3clust: ") and said.count("\n") == 1), (words, said)
            if code == 0:
                done.append(words)
        return done


@pytest.fixture(scope="module")
def workers():
    pipes = [os.pipe() for _ in range(4)]  # requests and answers of each
    theirs = [pipes[0][0], pipes[1][1], pipes[2][0], pipes[3][1]]
    command = [sys.executable, "-c", SERVER, *map(str, theirs)]
    with subprocess.Popen(command, pass_fds=theirs, env=os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}):
        for number in theirs:
            os.close(number)
        found = Worker(pipes[1][0], pipes[0][1]), Worker(pipes[3][0], pipes[2][1])
        yield found
        for worker in found:
            worker.write.close()
            worker.read.close()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory, workers):
    """Three clusters of images of six kinds, and their file."""
    folder = tmp_path_factory.mktemp("two")
    rng = np.random.default_rng(0)
    x = rng.integers(0, 20, (60, 4, 4)) + rng.permutation(np.eye(16)[:6] * 200)[np.arange(60) % 6].reshape(60, 4, 4)
    np.save(folder / "x.npy", x.astype(np.uint8))
    workers[0].start("fit", folder / "x.npy", "-k", 3, "--method", "kmeans", "-o", folder / "run", "-q")
    assert workers[0].finish()
    return folder


@pytest.fixture
def run(fitted, tmp_path):
    return shutil.copytree(fitted / "run", tmp_path / "run")


def depth(run):
    """How many edits `undo` could take back."""
    found = 0
    for state in states(run):
        carried = Change.read(state).carried if state != run else 0
        found += len(Edits.read(state).operations) - carried + (state != run)
    return found


def names_in(run):
    """Every name that an operation of the run gives."""
    operations = [operation for state in states(run) for operation in Edits.read(state).operations]
    return {name for operation in operations for name in operation.get("names", {}).values()}


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def assert_agree(run, source, folder):
    """assignments.csv, clusters.csv, the page, predict and export describe the same clusters, with the same names."""
    rows = table(run / "assignments.csv")
    labels = np.array([int(row["cluster"]) for row in rows])
    model = c3clust.load(run)
    np.testing.assert_array_equal(model.predict(np.load(source)), labels)
    names = {i: name for i, name in model._edits().names.items() if i in set(labels.tolist())}
    assert {int(r["cluster"]): r["cluster_name"] for r in rows if r.get("cluster_name")} == names
    clusters = table(run / "clusters.csv")
    sizes = {int(row["cluster"]): int(row["samples"]) for row in clusters}
    assert {i: size for i, size in sizes.items() if size} == Counter(labels[labels >= 0].tolist())
    assert {int(row["cluster"]): row["name"] for row in clusters if row["name"]} == model._edits().names
    page = (run / "report.html").read_text()
    assert all(name in page for name in names.values())
    export_run(run, folder, str(source))
    assert [int(row["cluster"]) for row in table(folder / "index.csv")] == labels.tolist()


def test_labels_of_two_processes_are_all_kept(run, workers):
    for i in range(30):
        for who, worker in enumerate(workers):
            worker.start("label", run, f"{who}={who} {i}")
    done = [words for worker in workers for words in worker.finish()]
    assert len(done) == 60, "each waits for the other"
    assert depth(run) == 60
    assert names_in(run) == {words[-1].partition("=")[2] for words in done}


@pytest.mark.parametrize("other", [("label", "0=mine"), ("undo",), ("merge", "1", "2"), ("report",)])
def test_during_a_split(run, fitted, workers, tmp_path, other):
    workers[0].start("label", run, "1=before")
    workers[0].finish()
    workers[0].start("split", run, 0)
    for _ in range(6):
        workers[1].start(other[0], run, *other[1:])
        workers[0].start("predict", run, fitted / "x.npy")
    done = [words[0] for worker in workers for words in worker.finish()]
    assert done.count("predict") == 6
    undone = done.count("undo")
    assert depth(run) == 1 + sum(word in ("split", "label", "merge") for word in done) - undone
    assert_agree(run, fitted / "x.npy", tmp_path / "sorted")


class TwoWriters(RuleBasedStateMachine):
    """Commands of two processes at random moments. `rest` waits for both and compares."""

    workers, fitted, folder = None, None, None

    def __init__(self):
        super().__init__()
        self.run = self.folder / f"{len(list(self.folder.iterdir()))}"
        shutil.copytree(self.fitted / "run", self.run)
        self.depth, self.count, self.undone = 0, 0, False

    def start(self, who, word, *more):
        self.workers[who].start(word, self.run, *more)

    who = st.integers(0, 1)
    cluster = st.integers(0, 4)

    @rule(who=who, cluster=cluster)
    def label(self, who, cluster):
        self.count += 1
        self.start(who, "label", f"{cluster}=name {self.count}")

    @rule(who=who, clusters=st.permutations(range(4)))
    def merge(self, who, clusters):
        self.start(who, "merge", *clusters[:2])

    @rule(who=who, sample=st.integers(0, 59), cluster=cluster)
    def move(self, who, sample, cluster):
        self.start(who, "move", sample, cluster)

    @rule(who=who, sample=st.integers(0, 59))
    def new_cluster(self, who, sample):
        self.count += 1
        self.start(who, "move", sample, f"new {self.count}", "--new")

    @rule(who=who, word=st.integers(0, 59), kind=st.sampled_from(["--samples", "--clusters"]))
    def discard(self, who, word, kind):
        self.start(who, "discard", word if kind == "--samples" else word % 4, kind)

    @rule(who=who)
    def undo(self, who):
        self.start(who, "undo")

    @rule(who=who, cluster=cluster)
    def split(self, who, cluster):
        self.start(who, "split", cluster)

    @rule(who=who, k=st.integers(2, 5))
    def regroup(self, who, k):
        self.start(who, "regroup", "-k", k)

    @rule(who=who)
    def report(self, who):
        self.start(who, "report")

    @rule(who=who)
    def predict(self, who):
        self.start(who, "predict", self.fitted / "x.npy")

    @rule(who=who)
    def export(self, who):
        self.count += 1
        self.start(who, "export", "--to", self.run.with_name(f"{self.run.name}-{self.count}"))

    @precondition(lambda self: any(worker.sent for worker in self.workers))
    @rule()
    def rest(self):
        sent = [words[0] for worker in self.workers for words in worker.sent]
        done = [words for worker in self.workers for words in worker.finish()]
        words = [each[0] for each in done]
        for word in ("predict", "export", "report"):
            assert words.count(word) == sent.count(word), "reading a run is never refused"
        self.depth += sum(word in EDITS for word in words) - words.count("undo")
        assert depth(self.run) == self.depth
        if "undo" not in words and "regroup" not in words:
            assert {each[2].partition("=")[2] for each in done if each[0] == "label"} <= names_in(self.run)
        assert_agree(self.run, self.fitted / "x.npy", self.run.with_name(f"{self.run.name}-rest"))
        shutil.rmtree(self.run.with_name(f"{self.run.name}-rest"))

    def teardown(self):
        with contextlib.suppress(Exception):
            for worker in self.workers:
                worker.finish()


@pytest.mark.parametrize("examples", [6, pytest.param(300, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
def test_random_commands(workers, fitted, tmp_path, examples):
    machine = type("Here", (TwoWriters,), {"workers": workers, "fitted": fitted, "folder": tmp_path})
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=16,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=quiet,
        ),
    )
    assert any(Path(tmp_path).iterdir())
