"""A run folder with nothing but its record and its assignments."""

import numpy as np
import pytest

from c3clust.records.assignments import Assignments
from c3clust.records.record import RunRecord


@pytest.fixture
def run(tmp_path):
    RunRecord(method="c3", n_clusters=10, params={}, seed=0, data={"n": 600}).write(tmp_path / "record.json")
    found = Assignments([f"{i}.png" for i in range(600)], np.arange(600) % 10, np.ones(600))
    found.write(tmp_path / "assignments.csv")
    return tmp_path
