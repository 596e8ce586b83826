import csv
import json

import numpy as np
import pytest

from c3clust.errors import RunError
from c3clust.records.duplicates import Duplicates
from c3clust.records.edits import Edits
from c3clust.records.pins import Pin
from c3clust.records.state import State
from c3clust.report import editing


def rows(run):
    with open(run / "assignments.csv", newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def test_a_moved_sample_is_decided_by_a_person(run):
    editing.label(run, {3: "cats"})
    editing.move(run, ["0.png", "11.png"], "cats")
    found = rows(run)
    assert [found[name]["cluster"] for name in ("0.png", "11.png", "2.png")] == ["3", "3", "2"]
    assert found["0.png"]["cluster_name"] == "cats"
    assert [found[name]["decided_by"] for name in ("0.png", "2.png")] == ["person", "model"]
    assert float(found["0.png"]["confidence"]) == 1


def test_a_step_is_undone_whole_and_as_deep_as_the_history(run):
    fitted = (run / "assignments.csv").read_bytes()
    editing.move(run, ["0.png", "1.png"], 5)
    editing.discard(run, "0.png")
    editing.new_cluster(run, ["0.png", "2.png"], "birds")
    editing.confirm(run, ["0.png", "9.png"])
    placed = [State.read(run).assignments.clusters[[0, 1, 2]].tolist()]
    for _ in range(3):
        editing.undo(run)
        placed.append(State.read(run).assignments.clusters[[0, 1, 2]].tolist())
    assert placed == [[10, 5, 10], [10, 5, 10], [-1, 5, 2], [5, 5, 2]]
    editing.undo(run)
    assert (run / "assignments.csv").read_bytes() == fitted


def test_a_new_cluster_is_named_merged_and_used_like_the_others(run):
    edits = editing.new_cluster(run, "0.png", "birds")
    assert edits.find("birds") == 10
    editing.move(run, "1.png", "birds")
    editing.merge(run, [3, "birds"])
    now = State.read(run)
    assert now.assignments.clusters[[0, 1, 3]].tolist() == [3, 3, 3]
    assert now.edits.names == {3: "birds"}
    editing.undo(run)
    assert State.read(run).assignments.clusters[[0, 1, 3]].tolist() == [10, 10, 3]


def test_confirmed_samples_stay_where_the_model_would_move_others(run):
    editing.confirm(run, "3.png")
    question = Pin("together", ("0.png", "3.png"))
    edits = editing.pin(run, [question], moved={"0.png": (3, 0.7), "3.png": (1, 0.9)})
    found = rows(run)
    assert [found[name]["cluster"] for name in ("0.png", "3.png")] == ["3", "3"]
    assert [found[name]["decided_by"] for name in ("0.png", "3.png")] == ["model", "person"]
    assert float(found["0.png"]["confidence"]) == pytest.approx(0.7)
    assert edits.pins[-1] == question


def test_copies_follow_their_original(run):
    names = [f"{i}.png" for i in range(600)]
    original = np.arange(600)
    original[[20, 30]] = 0
    Duplicates(original, np.where(original == np.arange(600), np.nan, 1.0)).write(run, names)
    editing.move(run, "20.png", 4)
    assert State.read(run).assignments.clusters[[0, 20, 30, 10]].tolist() == [4, 4, 4, 0]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda run: editing.move(run, ["nobody.png"], 3), "'nobody.png' is not a sample"),
        (lambda run: editing.move(run, ["0.png"], 10), "no cluster 10"),
        (lambda run: editing.move(run, ["0.png"], "dogs"), "No cluster is called 'dogs'"),
        (lambda run: editing.move(run, [], 3), "needs the names"),
        (lambda run: editing.new_cluster(run, "0.png", "a\nb"), "one line"),
        (lambda run: editing.pin(run, [Pin("not", ("0.png",), 12)]), "no cluster 12"),
        (lambda run: Pin("beside", ("a",)), "not a kind"),
        (lambda run: Pin("apart", ("a", "a")), "two different"),
        (lambda run: Pin("not", ("a",)), "needs a cluster"),
        (lambda run: Pin("nowhere", ("a",), 3), "has no cluster"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(run, act, message):
    before = (run / "assignments.csv").read_bytes()
    with pytest.raises(RunError, match=message):
        act(run)
    assert (run / "assignments.csv").read_bytes() == before
    assert not (run / "edits.json").exists()


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "pin"},
        {"op": "pin", "pins": [3]},
        {"op": "pin", "pins": [{"kind": "in", "samples": "a", "cluster": 1}]},
        {"op": "pin", "pins": [{"kind": "in", "samples": ["a"], "cluster": 1.5}]},
        {"op": "pin", "pins": [{"kind": "in", "samples": ["a"], "cluster": True}]},
        {"op": "pin", "pins": [], "new": ["a"] * 5},
        {"op": "pin", "pins": [], "moved": {"a": 3}},
        {"op": "pin", "pins": [], "moved": {"a": [3, 7.0]}},
        {"op": "pin", "pins": [], "moved": {"a": [-7, 0.5]}},
    ],
)
def test_a_damaged_pin_is_named(run, operation):
    (run / "edits.json").write_text(json.dumps({"format": 1, "operations": [operation]}))
    with pytest.raises(RunError, match=r"edits\.json is damaged"):
        Edits.read(run)
