"""The study of checks: intervals contain ACC, and the files are made from the features of `answers`."""

import numpy as np
import pytest

from c3clust import paper
from c3clust.paper import Setting, checks, starts


@pytest.mark.parametrize("share", [0.6, 0.95])
def test_intervals_contain_the_share_that_is_right(share):
    random = np.random.default_rng(0)
    right = random.random(400) < share
    found, length = checks.covered(random.integers(5, size=400), right, 0, 200)
    assert found >= 0.9
    assert 0.05 < length < 0.5


def test_the_files_are_made(tmp_path, monkeypatch):
    (tmp_path / "given").mkdir()
    y = np.arange(60) % 3
    np.savez(tmp_path / "given" / "three-0.npz", z=np.eye(3)[y], c=np.eye(3)[np.where(np.arange(60) < 6, 0, y)], y=y)
    monkeypatch.setattr(starts, "_own", lambda: [])
    monkeypatch.setattr(checks, "SIMULATED", 20)
    files = paper.make("checks", Setting(str(tmp_path / "given"), (0,)), tmp_path / "out")
    assert {path.name for path in files} >= {"checks.csv", "checks.md", "checks.png"}
    assert "three,0,0.93" in (tmp_path / "out" / "checks.csv").read_text()
