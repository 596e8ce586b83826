import pytest

from c3clust.records.edits import Edits
from c3clust.records.record import RunRecord
from c3clust.report import Facts, View, findings, verdict


@pytest.fixture
def judge(new_record):
    """The verdict, for sizes and changes of the record."""

    def judged(sizes=None, confidence=1.0, distinct=None, merged=0, noun="image", **changes):
        sizes = dict(enumerate(sizes or [60] * 10))
        record = new_record(len(sizes) + merged, sum(sizes.values()), **changes)
        facts = Facts(record, sizes, confidence, distinct=distinct, merged=merged, noun=noun)
        return verdict(facts, findings(facts))

    return judged


def test_all_well(judge, new_quality):
    found = judge(quality=new_quality(0.86))
    assert (found.level, found.word, found.text) == ("good", "All well", "Nothing looks wrong.")
    assert found.headline == (
        "About 86 in 100 images are probably in the right cluster (77 to 95; estimated without labels)."
    )
    assert found.clusters == "10 clusters were asked for and all were found."


@pytest.mark.parametrize(
    ("level", "changes"),
    [
        ("warn", {"estimate": 0.75}),
        ("bad", {"estimate": 0.4}),
        ("warn", {"doubtful": True}),
        ("warn", {"sizes": [200, 200, 0]}),
        ("warn", {"sizes": [9, 9, 9]}),
        ("bad", {"sizes": [600, 0]}),
        ("bad", {"sizes": [600, 0], "distinct": 1}),
        ("warn", {"sizes": [300, 300, 0], "distinct": 2}),
        ("warn", {"sizes": [900, 50, 50]}),
        ("warn", {"sizes": [300, 300, 3]}),
        ("warn", {"data": {"n": 600, "skipped": [["a.jpg", "truncated"]]}}),
        ("note", {"quality": None}),
        ("note", {"quality": {"estimated_accuracy": "damaged"}}),
    ],
)
def test_all_well_is_said_only_if_it_is(judge, new_quality, level, changes):
    """The confidence is 100 % in each of these."""
    quality = {name: changes.pop(name) for name in ("estimate", "doubtful") if name in changes}
    found = judge(**({"quality": new_quality(**quality), "stages": []} | changes))
    assert found.level == level
    assert found.word != "All well"
    assert "Nothing looks wrong" not in found.text


def test_a_method_without_an_estimate_claims_nothing(judge):
    found = judge(method="cc")
    assert found.headline == "The accuracy is unknown: the method cc gives a confidence that is not calibrated."
    assert found.word == "Not known"
    assert found.text == (
        "Checked without findings: the number of images, the sizes of the clusters and the training curves. "
        "Inspect the clusters yourself."
    )
    assert "gives no confidence" in judge(method="kmeans", confidence=None, stages=[]).headline
    assert "training" not in judge(method="kmeans", stages=[]).text


def test_c3_by_views_is_told_from_c3_with_an_estimate(judge):
    assert "c3 gives" in judge().headline
    assert "c3 gives" in judge(encoder={"name": "e"}).headline


def test_kmeans_that_is_as_good_is_all_well(judge, new_quality):
    assert judge(quality=new_quality(simple_is_as_good=True, doubtful=True)).word == "All well"


def test_one_cluster_has_no_estimate(judge, new_quality):
    found = judge([60, 0, 0], distinct=1, quality=new_quality(1.0), noun="row")
    assert found.headline == "All rows are in one cluster: the accuracy cannot be estimated."
    assert found.clusters == "3 clusters were asked for and 1 was found."


def test_clusters_found_and_merged(judge, new_quality):
    assert judge([200, 0, 200]).clusters == "3 clusters were asked for and 2 were found."
    estimated = judge([200, 0, 200], params={"n_clusters": "auto"})
    assert estimated.clusters == "3 clusters were estimated, 2 of which contain images."
    merged = judge([200, 200], merged=1, quality=new_quality())
    assert merged.clusters == "3 clusters were asked for; 2 are left after merging."
    assert "estimated without labels before clusters were merged" in merged.headline


def test_facts_of_a_run(guided):
    facts = Facts.of(RunRecord.read(guided.path / "record.json"), View.read(guided.path), Edits(10))
    assert facts.quality.estimate == 0.86
    assert facts.filled == 10
    assert facts.distinct > 300
    assert facts.confidence == pytest.approx(guided.confidence.mean(), rel=1e-5)
    merged = Facts.of(guided.record, guided.view, Edits(10).merge([2, 3]), "a b")
    assert (merged.merged, merged.filled, merged.run) == (1, 9, "'a b'")
    assert sum(merged.sizes.values()) == len(guided.labels)


def test_a_number_that_was_found_was_not_asked_for(judge, new_quality):
    found = {"quality": new_quality(0.86), "params": {"n_clusters": "auto"}}
    assert judge(**found).clusters == "10 clusters were found."
    assert judge([200, 200], merged=1, **found).clusters == "3 clusters were found; 2 are left after merging."


def test_an_estimated_number_of_clusters_is_a_doubt(judge, new_quality):
    found = judge(quality=new_quality(0.97), choice={"chosen": 10, "runner_up": 12, "others": [12, 4], "reason": ""})
    assert (found.level, found.word) == ("note", "Look first")
    assert "12 or 4 would be the next to try" in found.text
    assert "in the right cluster, if there are 10 groups (88 to 100;" in found.headline
