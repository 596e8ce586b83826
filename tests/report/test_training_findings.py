import pytest

from c3clust.report import Facts, findings
from c3clust.report.training_findings import balanced, is_technical, training_rows


def stages(curve, **curves):
    return [{"name": "c3", "epochs": 3, "seconds": 1.0, "curves": {"positives_per_view": curve, **curves}}]


def test_too_many_positives_are_a_collapse(kinds):
    found = kinds(stages=stages([12.0, 60.0, 110.0]))["collapse"]
    assert found.text == "Stage c3 treats nearly all images as one group: the clusters are merging."
    assert "smaller learning rate" in found.advice
    assert "collapse" not in kinds(stages=stages([5.0, 14.0]))


def test_positives_of_two_clusters_can_collapse_too(kinds):
    assert "collapse" in kinds([300, 300], stages=stages([120.0]))
    assert "collapse" not in kinds([300, 300], stages=stages([70.0]))


def test_hardly_any_positives(kinds):
    assert "had almost no effect" in kinds(stages=stages([2.0, 2.1]))["idle"].text


def test_zeta_is_for_those_who_set_it(kinds):
    mine, chosen = {"batch_size": 64, "zeta": 0.6}, {"batch_size": 64, "zeta": "auto"}
    for curve in ([2.0, 2.1], [110.0]):
        (found,) = kinds(stages=stages(curve), params=mine).values()
        assert "zeta" in found.advice
        (found,) = kinds(stages=stages(curve), params=chosen).values()
        assert not {"zeta", "positives"} & set(f"{found.text} {found.advice}".split())


def test_no_alarm_where_clusters_outnumber_the_batch(kinds):
    assert not {"idle", "collapse"} & set(kinds([30] * 200, stages=stages([2.0, 3.0])))


def test_positives_when_balanced(new_record):
    record = new_record(10)
    assert [balanced(record, stage) for stage in record.stages] == [25.6, 12.8]
    assert balanced(new_record(params={}), record.stages[0]) is None


def test_labels_that_still_change(kinds):
    assert "8.0%" in kinds(stages=stages([12.0] * 2, labels_changed=[0.5, 0.08]))["restless"].text
    assert "restless" not in kinds(stages=stages([12.0] * 2, labels_changed=[0.5, 0.001]))


def test_labels_that_still_change_are_reported_once(new_record):
    """The guard notes it too, in its stage and so among the notes of the record."""
    note = "8.0% of the labels still changed in the last epoch of stage c3."
    guarded = stages([12.0] * 2, labels_changed=[0.5, 0.08])
    guarded[0]["guard"] = {"returned": 2, "decision": None, "limits": {}, "messages": [note]}
    record = new_record(stages=guarded, notes=["Read with one thread.", note])
    texts = [f.text for f in findings(Facts(record, dict.fromkeys(range(10), 60)))]
    assert [text for text in texts if "still changed" in text] == [
        "8.0% of the labels still changed in the last epoch."
    ]
    assert "Read with one thread." in texts


def test_a_guard_that_stopped_is_reported(new_record):
    note = "The guard stopped stage c3 after epoch 2 (clusters vanish) and restored the network of epoch 1."
    guarded = stages([12.0] * 2, labels_changed=[0.5, 0.08])
    guarded[0]["guard"] = {"returned": 1, "decision": {"why": "clusters vanish"}, "limits": {}, "messages": [note]}
    found = findings(Facts(new_record(stages=guarded, notes=[note]), dict.fromkeys(range(10), 60)))
    text = "Stage c3 failed and was stopped: the result is that of epoch 1."
    assert [(f.level, f.kind, f.text) for f in found] == [("warn", "stopped", text)]


def test_the_limit_of_positives_is_the_one_in_the_record(kinds):
    guarded = stages([40.0])
    guarded[0]["guard"] = {"returned": 1, "decision": None, "limits": {"most_positives": 45.0}, "messages": []}
    assert "collapse" in kinds(stages=stages([40.0]))  # 3 times 2N/M = 12.8
    assert "collapse" not in kinds(stages=guarded)


def test_notes_are_passed_on_and_the_worst_comes_first(kinds):
    found = kinds([600, 0, 0], notes=["Read with one thread."])
    assert next(iter(found)) == "collapse"
    assert found["note"].text == "Read with one thread."


@pytest.mark.parametrize(
    "stage", [{}, {"curves": {}}, {"curves": {"labels_changed": [], "positives_per_view": [None]}}]
)
def test_a_stage_without_numbers_has_no_findings(kinds, stage):
    assert kinds(stages=[stage]) == {}


def test_notes_in_words_of_the_method_are_not_findings(kinds, new_record):
    zeta = "zeta 0.85 was chosen: each view settled with 14 positives."
    found = kinds(notes=[zeta, "Column 'id' is ignored: nearly all of its values differ."])
    assert [f.text for f in found.values()] == ["Column 'id' is ignored: nearly all of its values differ."]
    assert is_technical(zeta)


def test_rows_for_how_it_was_made(new_record):
    rows = training_rows(new_record(stages=[stages([5.0, 14.2])[0] | {"zeta": {"chosen": 0.85}}, {"curves": {}}]))
    assert rows == [
        ["stage c3", "3 epochs, 1.0 s"],
        ["stage c3: zeta", "0.85"],
        ["stage c3: positives per view", "14.2; 12.8 in balanced clusters"],
    ]
