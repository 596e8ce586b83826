"""Random actions of the page, and tables of answers, against a simple model; `undo` drops the last step.

The model knows what each action says exactly. What follows from an answer is the learner's, within bounds: it moves no
sample that a person has placed, only to clusters in use, and none into a cluster that it was said not to be in. After
each step the files and `predict` have the same clusters; at the end also an export, and an ONNX file.
"""

import csv
import shutil
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import c3clust
from c3clust import KMeans, data
from c3clust.errors import C3ClustError
from c3clust.export import onnx_model
from c3clust.methods._review import ReviewedRun
from c3clust.records.pins import Pin
from c3clust.records.state import State
from c3clust.report import editing
from c3clust.report.export import export_run
from c3clust.review.answers import relabel
from c3clust.review.session import Session
from c3clust.runs import Run

N = 60
SAMPLES = st.lists(st.integers(0, N - 1), min_size=1, max_size=4, unique=True)
PICK = st.integers(0, 99)


@dataclass(frozen=True)
class Step:
    """labels [N]; the samples that a person placed; (sample, cluster) that were said not to belong together."""

    labels: tuple[int, ...]
    names: dict[int, str]
    person: frozenset[int] = frozenset()
    banned: frozenset[tuple[int, int]] = frozenset()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Four clusters of images of six kinds, and their file."""
    folder = tmp_path_factory.mktemp("model")
    rng = np.random.default_rng(0)
    x = rng.integers(0, 60, (N, 4, 4)) + rng.permutation(np.eye(16)[:6] * 190)[np.arange(N) % 6].reshape(N, 4, 4)
    np.save(folder / "x.npy", x.astype(np.uint8))
    run = Run(folder / "run", source=str(folder / "x.npy"))
    KMeans(4, random_state=0).fit(data.load(folder / "x.npy"), run_dir=run)
    return folder


class Reviewed(RuleBasedStateMachine):
    fitted, folder = None, None

    def __init__(self):
        super().__init__()
        self.run = shutil.copytree(self.fitted / "run", self.folder / f"{len(list(self.folder.iterdir()))}")
        self.x = np.load(self.fitted / "x.npy")
        self.history = [Step(tuple(State.read(self.run).assignments.clusters.tolist()), {})]
        self.count = 0
        self.open()

    def open(self):
        self.session = Session(ReviewedRun(self.run))
        self.session.teacher  # noqa: B018, waits for the model

    @property
    def last(self):
        return self.history[-1]

    @property
    def now(self):
        return self.session.history.now

    def live(self, pick):
        return self.now.edits.live[pick % len(self.now.edits.live)]

    def placed(self, before, where, n_all, n_followed=None):
        """A step in which a person placed samples, {sample: cluster}, and others followed."""
        after, edits = self.now.assignments.clusters.tolist(), self.now.edits
        for i, (old, new) in enumerate(zip(before.labels, after, strict=True)):
            if i in where:
                assert new == where[i]
            elif new != old:
                assert i not in before.person
                assert new in edits.live
                assert (i, new) not in before.banned
        followed = sum(i not in where and a != b for i, (a, b) in enumerate(zip(before.labels, after, strict=True)))
        assert n_followed is None or followed <= n_followed
        assert edits.n_all >= n_all
        banned = {pair for pair in before.banned if where.get(pair[0]) != pair[1]}
        person = before.person | where.keys()
        self.history.append(Step(tuple(after), dict(edits.names), frozenset(person), frozenset(banned)))

    @rule(samples=SAMPLES, pick=PICK)
    def move(self, samples, pick):
        cluster, before = self.live(pick), self.last
        done = self.session.move(samples, cluster)
        self.placed(before, dict.fromkeys(samples, cluster), 0, done.followed)

    @rule(samples=SAMPLES)
    def new_cluster(self, samples):
        self.count += 1
        before, n = self.last, self.now.edits.n_all
        done = self.session.new_cluster(samples, f"new {self.count}")
        assert done.now.edits.names[n] == f"new {self.count}"
        self.placed(before, dict.fromkeys(samples, n), n + 1, done.followed)

    @rule(samples=SAMPLES)
    def nowhere(self, samples):
        before, done = self.last, self.session.nowhere(samples)
        self.placed(before, dict.fromkeys(samples, -1), 0, done.followed)

    @rule(samples=SAMPLES)
    def confirm(self, samples):
        before, done = self.last, self.session.confirm(samples)
        self.placed(before, {i: before.labels[i] for i in samples}, 0, done.followed)

    @rule(pick=PICK)
    def answer(self, pick):
        """The next question, with each of its answers."""
        shown, before = self.session.question(), self.last
        if shown is None:
            return
        asked, clusters, n = shown["samples"], shown["clusters"], self.now.edits.n_all
        if shown["kind"] == "pair":
            if pick % 3 == 0:
                self.session.answer("yes")
                self.merged(min(clusters), max(clusters))
                return
            self.session.answer("no")
            after = self.now.assignments.clusters
            one, two = (side[0] for side in shown["sides"])
            assert after[one] != after[two]
            self.placed(before, {}, 0)
            return
        row = asked[0]
        said = ("nowhere", "none", "new", *(str(each["cluster"]) for each in shown["candidates"]))[
            pick % 8 % (3 + len(shown["candidates"]))
        ]
        self.session.answer(said)
        if said == "none":
            candidates = {(row, each["cluster"]) for each in shown["candidates"]}
            assert (row, self.now.assignments.clusters[row]) not in candidates or row in before.person
            self.placed(before, {}, 0)
            self.history[-1] = replace(self.last, banned=self.last.banned | candidates)
        else:
            where = {"nowhere": -1, "new": n}.get(said)
            self.placed(before, {row: int(said) if where is None else where}, 0)

    @rule(samples=SAMPLES, pick=PICK, kind=st.sampled_from(["in", "new", "not", "nowhere"]))
    def table_of_answers(self, samples, pick, kind):
        """`c3clust answer`, beside the page."""
        cluster, before, n = self.live(pick), self.last, self.now.edits.n_all
        names = [self.now.assignments.names[i] for i in samples]
        pins = [Pin.of("in" if kind == "new" else kind, names, cluster if kind in ("in", "not") else None)]
        editing.pin(self.run, pins, *relabel(self.run, pins))
        if kind == "not":
            self.placed(before, {}, 0)
            banned = {(i, cluster) for i in samples if i not in before.person}
            assert all((i, self.last.labels[i]) not in banned for i in samples)
            self.history[-1] = replace(self.last, banned=self.last.banned | banned)
        else:
            self.placed(before, dict.fromkeys(samples, {"in": cluster, "new": n, "nowhere": -1}[kind]), 0)

    @rule(pick=PICK)
    def label(self, pick):
        self.count += 1
        cluster = self.live(pick)
        self.session.label(cluster, f"name {self.count}")
        self.history.append(replace(self.last, names=self.last.names | {cluster: f"name {self.count}"}))

    @precondition(lambda self: len(self.now.edits.live) > 1)
    @rule(pick=PICK)
    def merge(self, pick):
        kept, gone = self.live(pick), self.live(pick + 1)
        self.session.merge([kept, gone])
        self.merged(kept, gone)

    def merged(self, kept, gone):
        names = dict(self.last.names)
        found = [name for name in (names.pop(kept, None), names.pop(gone, None)) if name]
        labels = tuple(kept if label == gone else label for label in self.last.labels)
        banned = frozenset(pair for pair in self.last.banned if pair[1] not in (kept, gone))
        names |= {kept: found[0]} if found else {}
        self.history.append(replace(self.last, labels=labels, names=names, banned=banned))

    @rule(pick=PICK)
    def split(self, pick):
        """What the parts are is the model's; all other samples stay where they are."""
        cluster, before, n = self.live(pick), self.last, self.now.edits.n_all
        try:
            self.session.split(cluster)
        except C3ClustError:
            return  # too few samples
        after = tuple(self.now.assignments.clusters.tolist())
        inside = {i for i, label in enumerate(before.labels) if label == cluster}
        assert all(after[i] == before.labels[i] for i in set(range(N)) - inside)
        assert {after[i] for i in inside} == {cluster, n}
        person, banned = before.person - inside, frozenset(p for p in before.banned if p[0] not in inside)
        self.history.append(Step(after, dict(self.now.edits.names), person, banned))

    @rule(k=st.integers(2, 5))
    def regroup(self, k):
        self.session.regroup(k)
        after = tuple(self.now.assignments.clusters.tolist())
        assert set(after) == set(range(k))
        self.history.append(Step(after, {}))
        self.session.teacher  # noqa: B018, waits for the model

    @rule()
    def undo(self):
        if len(self.history) == 1:
            with pytest.raises(C3ClustError, match="nothing to undo"):
                self.session.undo()
            return
        self.session.undo()
        self.session.teacher  # noqa: B018, waits for the model
        self.history.pop()

    @rule()
    def closed_and_opened_again(self):
        self.session.close()
        self.open()

    @invariant()
    def everything_agrees(self):
        step, found = self.last, self.now
        assert tuple(found.assignments.clusters.tolist()) == step.labels
        assert found.edits.names == step.names
        assert found.undoable == len(self.history) - 1
        assert c3clust.load(self.run).predict(self.x).tolist() == list(step.labels)

    def teardown(self):
        self.session.close()
        labels = list(self.last.labels)
        if len(self.history) > 1:
            with open(self.run / "assignments.csv", newline="") as file:
                rows = list(csv.DictReader(file))
            assert [int(row["cluster"]) for row in rows] == labels
            assert {i for i, row in enumerate(rows) if row.get("decided_by") == "person"} == self.last.person
        export_run(self.run, self.run.with_name(f"{self.run.name}-sorted"), str(self.fitted / "x.npy"))
        with open(self.run.with_name(f"{self.run.name}-sorted") / "index.csv", newline="") as file:
            assert [int(row["cluster"]) for row in csv.DictReader(file)] == labels
        found = onnx_model.load(c3clust.load(self.run).to_onnx(self.run / "model.onnx"))
        assert found.predict(self.x).tolist() == labels


@pytest.mark.parametrize("examples", [4, pytest.param(150, marks=pytest.mark.slow)])
def test_random_actions(fitted, tmp_path, examples):
    pytest.importorskip("onnxruntime")
    machine = type("Here", (Reviewed,), {"fitted": fitted, "folder": tmp_path})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=16,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
