import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from c3clust.errors import RunError
from c3clust.records.edits import Edits
from c3clust.report import editing


def test_a_run_without_edits_is_unchanged(run):
    edits = Edits.read(run)
    labels, names = edits.apply([0, 9, 4])
    assert labels.tolist() == [0, 9, 4]
    assert names[9] == "cluster 9"
    assert edits.live == list(range(10))


def test_labels_merges_and_undo_survive_in_the_folder(run):
    editing.label(run, {3: "cats", 5: "dogs"})
    editing.merge(run, [5, 3, 1])
    edits = Edits.read(run)
    labels, names = edits.apply([1, 3, 5, 7])
    assert labels.tolist() == [5, 5, 5, 7]
    assert names[5] == "dogs"
    assert 3 not in names
    editing.undo(run)
    assert Edits.read(run).apply([3])[1][3] == "cats"
    editing.undo(run)
    assert Edits.read(run).operations == []
    with pytest.raises(RunError, match="nothing to undo"):
        editing.undo(run)


def test_an_edit_removes_what_a_killed_one_left(run):
    (run / "changes" / ".0123456789ab.partial").mkdir(parents=True)
    (run / "changes" / ".0123456789ab.partial" / "view.npz").write_bytes(b"half")
    (run / "changes" / "notes").mkdir()
    editing.label(run, {0: "cats"})
    assert sorted(path.name for path in (run / "changes").iterdir()) == ["fitted.csv", "notes"]


def test_a_merged_cluster_takes_the_first_name_there_is():
    assert Edits(6).label({5: "dogs"}).merge([3, 5]).names == {3: "dogs"}


def test_merging_merged_clusters_carries_all_along():
    edits = Edits(5).merge([3, 1]).merge([0, 3])
    assert edits.apply([0, 1, 2, 3, 4])[0].tolist() == [0, 0, 2, 0, 4]


def test_an_empty_name_takes_a_name_away():
    assert Edits(3).label({1: "a"}).label({1: " "}).names == {}


def test_names_can_be_swapped_in_one_step():
    assert Edits(3).label({0: "a", 1: "b"}).label({0: "b", 1: "a"}).names == {0: "b", 1: "a"}


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda e: e.label({10: "x"}), "no cluster 10.*0 to 9"),
        (lambda e: e.label({-1: "x"}), "not the number"),
        (lambda e: e.label({"x": "x"}), "not the number"),
        (lambda e: e.label({True: "x"}), "not the number"),
        (lambda e: e.label({1: "a\nb"}), "one line"),
        (lambda e: e.label({1: "a" * 101}), "one line"),
        (lambda e: e.label({1: None}), "one line"),
        (lambda e: e.label({}), "No name"),
        (lambda e: e.label({1: "a", 2: "a"}), "already called 'a'"),
        (lambda e: e.merge([1]), "two or more"),
        (lambda e: e.merge([1, 1]), "two or more"),
        (lambda e: e.merge([1, 99]), "no cluster 99"),
        (lambda e: e.merge([1, 2]).merge([2, 3]), "2 was merged into 1"),
        (lambda e: e.merge([1, 2]).label({2: "a"}), "2 was merged into 1"),
        (lambda e: e.apply([10]), "outside of the 10 clusters"),
        (lambda e: e.apply_proba(np.ones((2, 3))), "do not fit"),
    ],
)
def test_a_wrong_edit_is_told_in_one_sentence(act, message):
    with pytest.raises(RunError, match=message):
        act(Edits(10))


def test_a_refused_edit_leaves_the_file_alone(run):
    editing.label(run, {3: "cats"})
    before = (run / "edits.json").read_bytes()
    with pytest.raises(RunError):
        editing.merge(run, [3, 77])
    assert (run / "edits.json").read_bytes() == before
    assert not list(run.glob(".edits-*"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "{" * 5000,
        "[" * 100_000,
        '{"format": 2, "operations": []}',
        '{"format": 1, "operations": {}}',
        '{"format": 1, "operations": [null]}',
        '{"format": 1, "operations": [{"op": "merge", "clusters": [0, 1e400]}]}',
        '{"format": 1, "operations": [{"op": "merge", "clusters": [[0], 1]}]}',
        '{"format": 1, "operations": [{"op": "label", "names": {"999999999999": "x"}}]}',
        '{"format": 1, "operations": [{"op": "label", "names": {"1": {"a": 1}}}]}',
        '{"format": 1, "operations": [{"op": "exec"}]}',
        " " * 1_000_001,
    ],
)
def test_a_damaged_file_is_named(run, text):
    (run / "edits.json").write_text(text)
    with pytest.raises(RunError, match=r"edits\.json is damaged.*Delete it"):
        Edits.read(run)


def test_bytes_that_are_no_text_are_named(run):
    (run / "edits.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunError, match="damaged"):
        Edits.read(run)


def test_the_file_is_plain_json(run):
    editing.merge(run, np.array([2, 4]))
    assert json.loads((run / "edits.json").read_text())["operations"] == [{"op": "merge", "clusters": [2, 4]}]


@given(st.lists(st.permutations(range(6)).map(lambda p: p[:2]), max_size=6))
def test_probabilities_keep_their_sum_and_follow_the_labels(pairs):
    edits = Edits(6)
    for pair in pairs:
        if all(i in edits.live for i in pair):
            edits = edits.merge(pair)
    proba = np.random.default_rng(0).dirichlet(np.ones(6), size=5)
    added = edits.apply_proba(proba)
    np.testing.assert_allclose(added.sum(axis=1), 1)
    gone = sorted(set(range(6)) - set(edits.live))
    assert (added[:, gone] == 0).all()
    np.testing.assert_array_equal(edits.apply_proba(np.eye(6)).argmax(axis=1), edits.apply(np.arange(6))[0])
