"""Readouts: samples that keep their labels, centres, and files that do not fit together."""

import hashlib
import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from c3clust import load
from c3clust.errors import RunError
from c3clust.methods.ac import AC
from c3clust.networks.readouts import Neighbours


def test_each_sample_keeps_its_label_however_near_the_next():
    x = (1000 + np.arange(300)[:, None] * 1e-3 + np.zeros((1, 50))).astype(np.float32)
    labels = np.arange(300) % 3
    readout = Neighbours(3, 50)
    readout.store(x, labels)
    z, c = readout(torch.from_numpy(x))
    assert (c.argmax(dim=1).numpy() == labels).all()
    assert torch.equal(z, torch.from_numpy(x))


def test_assignment_equals_the_loop():
    random = np.random.default_rng(0)
    x, labels, new = random.normal(size=(9, 2)).astype(np.float32), np.array([0, 1, 2] * 3), random.normal(size=(4, 2))
    readout = Neighbours(3, 2)
    readout.store(x, labels)
    d2 = [[min(((u - v) ** 2).sum() for v in x[labels == m].astype(float)) for m in range(3)] for u in new]
    spread = np.mean([min(((u - v) ** 2).sum() for j, v in enumerate(x) if j != i) for i, u in enumerate(x)])
    q = 1 / (1 + np.array(d2) / spread)
    found = readout(torch.from_numpy(new))[1]
    np.testing.assert_allclose(found, q / q.sum(axis=1, keepdims=True), rtol=1e-5)


def test_a_cluster_without_samples_is_never_chosen():
    readout = Neighbours(3, 1)
    readout.store(np.array([[0.0], [1.0]], dtype=np.float32), np.array([0, 2]))
    c = readout(torch.tensor([[0.4]]))[1]
    assert c[0, 1] == 0
    assert c.isfinite().all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("labels", torch.tensor([0, 1, 7, 0])),
        ("labels", torch.tensor([0, 1])),
        ("samples", torch.zeros(4, 9)),
        ("samples", torch.zeros(4)),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(tmp_path, name, value):
    AC(2).fit(np.arange(8.0).reshape(4, 2)).save(tmp_path)
    save_file(load_file(tmp_path / "model.safetensors") | {name: value}, tmp_path / "model.safetensors")
    meta = json.loads((tmp_path / "model.json").read_text())
    meta["sha256"] = hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
    (tmp_path / "model.json").write_text(json.dumps(meta))
    with pytest.raises(RunError, match="damaged"):
        load(tmp_path)
