"""Random edits of a run against a simple model: a list of labels and names per step, and `undo` drops the last.

After each step the files, `predict`, `export` and an exported ONNX file describe the same clusters as the model.
"""

import csv
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import c3clust
from c3clust import KMeans
from c3clust.errors import C3ClustError, RunError
from c3clust.records.state import State
from c3clust.report.export import export_run

N = 40
SAMPLES = st.lists(st.integers(0, N - 1), min_size=1, max_size=4, unique=True)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Three clusters of images of six kinds, and their file."""
    folder = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(0)
    x = rng.integers(0, 20, (N, 4, 4)) + rng.permutation(np.eye(16)[:6] * 200)[np.arange(N) % 6].reshape(N, 4, 4)
    np.save(folder / "x.npy", x.astype(np.uint8))
    KMeans(3, random_state=0).fit(str(folder / "x.npy"), run_dir=folder / "run")
    return folder


class Edited(RuleBasedStateMachine):
    fitted, folder = None, None

    def __init__(self):
        super().__init__()
        self.run = shutil.copytree(self.fitted / "run", self.folder / f"{len(list(self.folder.iterdir()))}")
        self.x = np.load(self.fitted / "x.npy")
        first = State.read(self.run).assignments.clusters.tolist()
        self.history = [(first, {}, 3, frozenset())]  # labels, names, numbers in all, samples placed by a person
        self.count = 0

    def names(self, samples):
        found = State.read(self.run).assignments.names
        return [found[i] for i in samples]

    def live(self):
        return State.read(self.run).edits.live

    def after(self, labels, names=None, n=None, person=()):
        _, old, before, placed = self.history[-1]
        self.history.append((labels, old if names is None else names, n or before, placed | frozenset(person)))

    def moved(self, samples, cluster):
        return [cluster if i in samples else label for i, label in enumerate(self.history[-1][0])]

    @rule(samples=SAMPLES, pick=st.integers(0, 9))
    def move(self, samples, pick):
        cluster = self.live()[pick % len(self.live())]
        c3clust.move(self.run, self.names(samples), cluster)
        self.after(self.moved(samples, cluster), person=samples)

    @rule(samples=SAMPLES)
    def discard(self, samples):
        c3clust.discard(self.run, self.names(samples))
        self.after(self.moved(samples, -1), person=samples)

    @rule(samples=SAMPLES)
    def new_cluster(self, samples):
        self.count += 1
        n = self.history[-1][2]
        c3clust.new_cluster(self.run, self.names(samples), f"new {self.count}")
        names = self.history[-1][1] | {n: f"new {self.count}"}
        self.after(self.moved(samples, n), names, n + 1, person=samples)

    @rule(samples=SAMPLES)
    def confirm(self, samples):
        c3clust.confirm(self.run, self.names(samples))
        self.after(self.history[-1][0], person=samples)

    @rule(samples=SAMPLES, pick=st.integers(0, 9))
    def learned(self, samples, pick):
        """The model moves samples because of an answer: those that a person has placed stay."""
        cluster = self.live()[pick % len(self.live())]
        pin = c3clust.Pin.of("not", self.names(samples[:1]), cluster)
        c3clust.pin(self.run, [pin], moved=dict.fromkeys(self.names(samples), (cluster, 0.5)))
        self.after(self.moved(set(samples) - self.history[-1][3], cluster))

    @rule(pick=st.integers(0, 9))
    def label(self, pick):
        self.count += 1
        cluster = self.live()[pick % len(self.live())]
        c3clust.label(self.run, {cluster: f"name {self.count}"})
        self.after(self.history[-1][0], self.history[-1][1] | {cluster: f"name {self.count}"})

    @precondition(lambda self: len(self.live()) > 1)
    @rule(pick=st.integers(0, 99))
    def merge(self, pick):
        live = self.live()
        kept, gone = live[pick % len(live)], live[(pick + 1) % len(live)]
        c3clust.merge(self.run, [kept, gone])
        labels, names = self.history[-1][0], dict(self.history[-1][1])
        found = [name for name in (names.pop(kept, None), names.pop(gone, None)) if name]
        self.after(
            [kept if label == gone else label for label in labels],
            names | dict.fromkeys([kept] * bool(found), (*found, "")[0]),
        )

    @rule(pick=st.integers(0, 9))
    def split(self, pick):
        """What the parts are is the model's; all other samples stay where they are."""
        cluster = self.live()[pick % len(self.live())]
        try:
            c3clust.split(self.run, cluster, X=str(self.fitted / "x.npy"))
        except C3ClustError:
            return  # too few samples
        labels, _, n, placed = self.history[-1]
        now = State.read(self.run)
        after = now.assignments.clusters.tolist()
        inside = [i for i, label in enumerate(labels) if label == cluster]
        assert [a for i, a in enumerate(after) if i not in inside] == [b for b in labels if b != cluster]
        assert {after[i] for i in inside} == {cluster, n}
        self.history.append((after, dict(now.edits.names), n + 1, placed - frozenset(inside)))

    @rule()
    def undo(self):
        if len(self.history) == 1:
            with pytest.raises(RunError, match="nothing to undo"):
                c3clust.undo(self.run)
            return
        c3clust.undo(self.run)
        self.history.pop()

    @invariant()
    def everything_agrees(self):
        labels, names, n, placed = self.history[-1]
        now = State.read(self.run)
        assert now.assignments.clusters.tolist() == labels
        assert now.edits.names == names
        assert now.edits.n_all == n
        model = c3clust.load(self.run)
        assert model.predict(self.x).tolist() == labels
        if len(self.history) > 1:
            with open(self.run / "assignments.csv", newline="") as file:
                rows = list(csv.DictReader(file))
            assert [int(row["cluster"]) for row in rows] == labels
            assert {i for i, row in enumerate(rows) if row["decided_by"] == "person"} == placed
        with open(self.run / "clusters.csv", newline="") as file:
            sizes = {int(row["cluster"]): int(row["samples"]) for row in csv.DictReader(file)}
        assert sizes == {i: labels.count(i) for i in now.edits.live}

    def teardown(self):
        to = self.run.with_name(f"{self.run.name}-sorted")
        export_run(self.run, to, str(self.fitted / "x.npy"))
        with open(to / "index.csv", newline="") as file:
            assert [int(row["cluster"]) for row in csv.DictReader(file)] == self.history[-1][0]


@pytest.mark.parametrize("examples", [8, pytest.param(300, marks=pytest.mark.slow)])
def test_random_edits(fitted, tmp_path, examples):
    machine = type("Here", (Edited,), {"fitted": fitted, "folder": tmp_path})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("outliers", [False, True])
def test_onnx_after_many_edits(tmp_path, fitted, outliers):
    pytest.importorskip("onnxruntime")
    from c3clust.export import onnx_model

    source, run = fitted / "x.npy", tmp_path / "run"
    x = np.load(source)
    KMeans(3, random_state=0, outliers=outliers).fit(str(source), run_dir=run)
    c3clust.new_cluster(run, ["0", "6"], "mine")
    c3clust.discard(run, ["1"])
    c3clust.split(run, 0, X=str(source))
    c3clust.merge(run, [1, "mine"])
    c3clust.move(run, ["1", "2", "3"], 1)
    c3clust.discard(run, ["4"])
    found = onnx_model.load(c3clust.load(run).to_onnx(tmp_path / "model.onnx"))
    assert found.predict(x).tolist() == State.read(run).assignments.clusters.tolist()
