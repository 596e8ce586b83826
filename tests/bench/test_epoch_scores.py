import json
from functools import partial

import numpy as np

from c3clust import CC
from c3clust.bench.epoch_scores import EpochScores
from c3clust.runs import Run


def test_copies_are_not_counted(three_kinds, tmp_path):
    kinds = np.load(three_kinds)
    x, y = np.concatenate([kinds["x"], kinds["x"][:6]]), np.concatenate([kinds["y"], kinds["y"][:6]])
    run = Run(tmp_path / "run", page=False, checkpoints=partial(EpochScores, y))
    cc = CC(3, epochs=1, batch_size=16, projection_dim=8, random_state=0).fit(x, run_dir=run)
    assert cc.labels_.shape == (54,)
    entries = [json.loads(line) for line in (tmp_path / "epochs.jsonl").read_text().splitlines()]
    assert entries
    for entry in entries:
        assert all(sum(counts.values()) == 48 * 47 // 2 for counts in entry["pairs"].values())
