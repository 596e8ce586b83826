"""Times and paired differences."""

import csv

import numpy as np
import pytest

from c3clust.bench import Job, folder_of, format, result_of
from c3clust.bench.job import write_result
from c3clust.bench.statistics import in_order, paired, rows


def test_the_time_of_a_run_counts_its_start(tmp_path):
    start = Job("digits", "cc", {})
    job = Job("digits", "c3", {}, start=start)
    for one, seconds in ((start, 50.0), (job, 7.0)):
        folder_of(tmp_path, one).mkdir(parents=True)
        write_result(folder_of(tmp_path, one), "ok", scores={"acc": 1.0, "nmi": 1.0, "ari": 1.0}, seconds=seconds)
    (row,) = rows([result_of(tmp_path, job)])
    assert row.seconds() == 57.0
    assert row.seconds("processor_seconds") is None


@pytest.mark.parametrize("n", [5, 30])
def test_the_interval_covers_the_true_difference_about_as_often_as_it_says(n):
    rng = np.random.default_rng(0)
    found = [paired(rng.normal(0.1, 0.05, n), rng.normal(0, 0.05, n)) for _ in range(1000)]
    assert 0.93 < np.mean([d.low <= 0.1 <= d.high for d in found]) < 0.97
    assert all(d.low <= d.mean <= d.high for d in found)


def test_few_differences_are_given_as_what_they_are():
    assert str(paired([0.5], [0.4])) == "+0.100, n = 1"
    three = paired([0.5, 0.7, 0.6], [0.4, 0.4, 0.4])
    assert (three.low, three.high) == pytest.approx((0.1, 0.3))
    assert str(three) == "+0.200 (min +0.100, max +0.300), n = 3"
    assert "[" in str(paired([0.5, 0.7, 0.6, 0.5, 0.5], [0.4] * 5))


def test_methods_are_in_the_order_of_the_paper():
    assert in_order()[0] == "kmeans"
    assert in_order()[-3:] == ["cc", "edesc", "c3"]


def finished(out, *jobs):
    """The results of jobs, which are written as finished with an ACC of a tenth of their number."""
    for i, job in enumerate(jobs):
        folder_of(out, job).mkdir(parents=True)
        scores = dict.fromkeys(("acc", "nmi", "ari"), i / 10)
        write_result(folder_of(out, job), "ok", scores=scores, seconds=1.0, encoder="lite0, trained with labels")
    return [result_of(out, job) for job in jobs]


def test_a_seed_counts_once_whether_its_encoder_was_named_or_not(tmp_path):
    named = {"encoder": "efficientnet-lite0"}
    jobs = [Job("photos", "c3", {}, 0), Job("photos", "c3", {}, 1), Job("photos", "c3", named, 0)]
    (row,) = rows(finished(tmp_path, *jobs))
    assert sorted(row.values("acc")) == [0.1, 0.2]


def test_one_seed_has_no_interval(tmp_path):
    results = finished(tmp_path, Job("photos", "c3"), Job("photos", "kmeans"))
    format.write(tmp_path, results, [("c3", "kmeans")])
    lines = list(csv.DictReader((tmp_path / "differences.csv").read_text().splitlines()))
    assert all(line["n"] == "1" and line["low"] == line["high"] == "" for line in lines)
    assert "±" not in (tmp_path / "table.md").read_text()
