"""The run folder."""

import numpy as np
import pytest

from c3clust import data
from c3clust.runs import run as runs
from c3clust.errors import RunError


def test_an_unfinished_folder_is_not_a_run(tmp_path, monkeypatch):
    """Without record.json a folder is no run: it is written when all that a model needs is whole."""
    monkeypatch.setattr(
        "c3clust.records.record.RunRecord.write", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full"))
    )
    images = data.load(np.random.default_rng(0).random((20, 4)))
    with pytest.raises(RunError, match="disk full"):
        runs.fit(images, tmp_path / "run", "kmeans", {"n_clusters": 2})
    assert not (tmp_path / "run" / "record.json").exists()
