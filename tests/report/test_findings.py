import pytest

from c3clust.report.findings import Facts, balanced, findings


@pytest.fixture
def kinds(new_record):
    """The kinds of findings for sizes and changes of the record."""

    def told(sizes=None, confidence=0.9, alike=(), **changes):
        sizes = dict(enumerate(sizes or [60] * 10))
        record = new_record(len(sizes), sum(sizes.values()), **changes)
        return {f.kind: f for f in findings(Facts(record, sizes, confidence, alike=alike, run="runs/a"))}

    return told


def stages(curve, **curves):
    return [{"name": "c3", "epochs": 3, "seconds": 1.0, "curves": {"positives_per_view": curve, **curves}}]


def test_a_healthy_run_is_told_so(kinds):
    found = kinds()
    assert list(found) == ["fine"]
    assert "60 to 60 images each, 90% confidence" in found["fine"].text


def test_empty_clusters(kinds):
    found = kinds([200, 0, 200, 0, 200])["empty"]
    assert found.text == "Clusters 1 and 3 hold no image."
    assert "-k 3" in found.advice


def test_one_empty_cluster_among_named_ones(new_record):
    facts = Facts(new_record(3, 300), {0: 150, 1: 150, 2: 0}, names={0: "cats", 1: "dogs", 2: "birds"})
    assert [f.text for f in findings(facts) if f.kind == "empty"] == ["birds holds no image."]


def test_many_empty_clusters_are_not_all_listed(kinds):
    assert kinds([50] * 10 + [0] * 10)["empty"].text == "Clusters 10, 11, 12, 13, 14, 15 and 4 more hold no image."


def test_tiny_cluster(kinds):
    assert "Cluster 3 is tiny" in kinds([200, 200, 200, 3])["tiny"].text


def test_giant_cluster(kinds):
    assert "Cluster 0 holds 70% of all images." in kinds([700, 100, 100, 100])["giant"].text
    assert "giant" not in kinds([700, 300])


def test_all_in_one_cluster_is_a_collapse_and_nothing_else_about_sizes(kinds):
    found = kinds([600, 0, 0])
    assert found["collapse"].level == "bad"
    assert not {"empty", "giant", "fine"} & set(found)


def test_too_many_positives_are_a_collapse(kinds):
    found = kinds(stages=stages([12.0, 60.0, 110.0]))["collapse"]
    assert "110 of 128 views" in found.text
    assert "about 13" in found.text
    assert "zeta" in found.advice
    assert "collapse" not in kinds(stages=stages([5.0, 14.0]))


def test_positives_of_two_clusters_can_collapse_too(kinds):
    assert "collapse" in kinds([300, 300], stages=stages([120.0]))
    assert "collapse" not in kinds([300, 300], stages=stages([70.0]))


def test_hardly_any_positives(kinds):
    assert "zeta" in kinds(stages=stages([2.0, 2.1]))["idle"].advice


def test_no_alarm_where_clusters_outnumber_the_batch(kinds):
    assert not {"idle", "collapse"} & set(kinds([30] * 200, stages=stages([2.0, 3.0])))


def test_positives_when_balanced(new_record):
    record = new_record(10)
    assert [balanced(record, stage) for stage in record.stages] == [25.6, 12.8]
    assert balanced(new_record(params={}), record.stages[0]) is None


def test_low_confidence_is_measured_from_guessing(kinds):
    assert "30% confidence" in kinds(confidence=0.3)["unsure"].text
    assert "unsure" in kinds([300, 300], confidence=0.6)
    assert "unsure" not in kinds(confidence=0.6)
    assert "unsure" not in kinds(confidence=None)


def test_unreadable_files(kinds):
    skipped = [[f"{i}.jpg", "truncated"] for i in range(5)]
    found = kinds(data={"n": 600, "skipped": skipped})["unreadable"]
    assert found.text.startswith("5 files were left out, unreadable: 0.jpg (truncated), 1.jpg (truncated)")
    assert found.text.endswith("and 2 more.")


def test_labels_that_still_change(kinds):
    assert "8.0%" in kinds(stages=stages([12.0] * 2, labels_changed=[0.5, 0.08]))["restless"].text
    assert "restless" not in kinds(stages=stages([12.0] * 2, labels_changed=[0.5, 0.001]))


def test_labels_that_still_change_are_reported_once(new_record):
    """The guard notes it too, in its stage and so among the notes of the record."""
    note = "8.0% of the labels still changed in the last epoch of stage c3."
    guarded = stages([12.0] * 2, labels_changed=[0.5, 0.08])
    guarded[0]["guard"] = {"returned": 2, "decision": None, "limits": {}, "told": [note]}
    record = new_record(stages=guarded, notes=["Read with one thread.", note])
    texts = [f.text for f in findings(Facts(record, dict.fromkeys(range(10), 60)))]
    assert [text for text in texts if "still changed" in text] == [
        "8.0% of the labels still changed in the last epoch."
    ]
    assert "Read with one thread." in texts


def test_a_guard_that_stopped_is_reported(new_record):
    note = "The guard stopped stage c3 after epoch 2 (clusters die) and gave back the network of epoch 1."
    guarded = stages([12.0] * 2, labels_changed=[0.5, 0.08])
    guarded[0]["guard"] = {"returned": 1, "decision": {"why": "clusters die"}, "limits": {}, "told": [note]}
    found = findings(Facts(new_record(stages=guarded, notes=[note]), dict.fromkeys(range(10), 60)))
    assert [(f.level, f.text) for f in found] == [("warn", note)]


def test_the_limit_of_positives_is_the_one_in_the_record(kinds):
    guarded = stages([40.0])
    guarded[0]["guard"] = {"returned": 1, "decision": None, "limits": {"most_positives": 45.0}, "told": []}
    assert "collapse" in kinds(stages=stages([40.0]))  # 3 times 2N/M = 12.8
    assert "collapse" not in kinds(stages=guarded)


def test_few_images(kinds):
    assert "only 6 images for each cluster" in kinds([6] * 5)["sparse"].text


def test_clusters_that_look_alike_come_with_the_command(kinds):
    found = kinds(alike=((2, 4, 0.97), (1, 2, 0.5)))
    assert found["alike"].advice.endswith("c3clust merge runs/a 2 4")
    assert "fine" in found


def test_a_space_without_gaps_is_told_once(kinds):
    pairs = tuple((i, j, 0.95) for i in range(5) for j in range(i))
    found = kinds(alike=pairs)
    assert "10 of 10 pairs" in found["blurred"].text
    assert "alike" not in found


def test_notes_are_passed_on_and_the_worst_comes_first(kinds):
    found = kinds([600, 0, 0], notes=["Read with one thread."])
    assert next(iter(found)) == "collapse"
    assert found["note"].text == "Read with one thread."


@pytest.mark.parametrize(
    "stage", [{}, {"curves": None}, {"curves": {"labels_changed": "x", "positives_per_view": [None]}}]
)
def test_a_stage_that_tells_nothing_is_passed_over(kinds, stage):
    assert list(kinds(stages=[stage])) == ["fine"]
