"""The run folder."""

import numpy as np
import pytest

from c3clust import KMeans, data
from c3clust.errors import RunError
from c3clust.runs import originals


def test_originals_are_found_inside_the_folder_only(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.png").touch()
    (tmp_path / "secret.png").touch()
    assert originals(str(tmp_path / "a"), ["x.png"]) == [(tmp_path / "a" / "x.png").resolve()]
    assert originals(str(tmp_path / "a"), ["x.png", "../secret.png"]) is None
    assert originals(str(tmp_path / "a"), ["gone.png"]) is None
    assert originals("digits", ["0"]) is None


def test_an_unfinished_folder_is_not_a_run(tmp_path, monkeypatch):
    """Without record.json a folder is no run: it is written when all files that a model needs are complete."""
    monkeypatch.setattr("c3clust.records.record.RunRecord.write", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
    images = data.load(np.random.default_rng(0).random((20, 4)))
    with pytest.raises(RunError, match="disk full"):
        KMeans(2).fit(images, run_dir=tmp_path / "run")
    assert not (tmp_path / "run" / "record.json").exists()
