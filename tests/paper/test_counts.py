"""The study of counts: answers find the number of classes, and the files are made."""

import numpy as np
from sklearn.datasets import make_blobs

from c3clust import paper
from c3clust.paper import Setting, starts


def test_the_files_are_made_and_answers_find_the_number(tmp_path, monkeypatch):
    (tmp_path / "given").mkdir()
    z, y = make_blobs(200, 8, centers=4, cluster_std=0.6, center_box=(-4, 4), random_state=1)
    np.savez(tmp_path / "given" / "hidden-0.npz", z=z, c=np.eye(3)[np.minimum(y, 2)] * 0.9 + 0.03, y=y)
    monkeypatch.setattr(starts, "_own", lambda: [])
    files = paper.make("counts", Setting(str(tmp_path / "given"), (0,)), tmp_path / "out")
    assert {path.name for path in files} >= {"counts.csv", "counts.md", "counts.png"}
    text = (tmp_path / "out" / "counts.csv").read_text()
    assert "hidden,0,4,0,3" in text
    assert "hidden,0,4,20,4" in text
