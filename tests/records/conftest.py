"""A run folder with nothing but its record."""

import pytest

from c3clust.records.record import RunRecord


@pytest.fixture
def run(tmp_path):
    RunRecord(method="c3", n_clusters=10, params={}, seed=0, data={"n": 600}).write(tmp_path / "record.json")
    return tmp_path
