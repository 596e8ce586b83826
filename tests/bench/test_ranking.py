"""A ranking compares means over the same seeds, and leaves out what has no place in it."""

import pytest

from c3clust.bench import Job, Result
from c3clust.bench.plan import plan
from c3clust.bench.ranking import common_seeds, is_ranked, ranking
from c3clust.bench.statistics import rows

ACC = {
    "kmeans": {100: 0.5, 101: 0.5, 102: 0.5},
    "cc": {100: 0.8, 101: 0.7, 102: 0.9, 103: 0.1, 104: 0.1},
    "iic": {100: 0.7, 101: 0.7, 102: 0.7},
    "dec": {100: 0.99},
    "ddc": {100: 0.95, 101: 0.95, 102: 0.95},
}


@pytest.fixture
def table(tmp_path):
    found = [
        Result(Job("x.npz", name, {}, seed), tmp_path, "ok", "", {"acc": acc, "nmi": acc, "ari": acc})
        for name, accs in ACC.items()
        for seed, acc in accs.items()
    ]
    return [row for row in rows(found) if row.results]


def test_the_order_is_that_of_common_seeds_and_other_seeds_have_their_own_column(table):
    assert common_seeds(table) == {100, 101, 102}
    lines = [line.split(" | ") for line in ranking(table).splitlines() if line[2:3].isdigit()]
    assert [line[1] for line in lines] == ["CC", "IIC", "K-means"]  # over five seeds CC would be the last but one
    assert lines[0][2] == "0.800 ± 0.100"
    assert lines[0][6].startswith("0.520 [")
    assert "n = 5" in lines[0][6]
    assert lines[1][6].startswith("–")


def test_reconstructions_and_incomplete_rows_are_named_and_not_ranked(table):
    assert "Not ranked, or without all of these seeds: DEC, DDC." in ranking(table)
    assert not is_ranked("ddc")
    assert is_ranked("sklearn.cluster:Birch")


def test_all_methods_are_those_that_can_be_ranked():
    named = {job.method for job in plan(["digits"], [], [100])}
    assert "ddc" not in named
    assert {"dec", "cc", "consensus"} <= named
    assert [job.method for job in plan(["digits"], ["ddc"], [100])] == ["ddc"]
