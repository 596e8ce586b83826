"""A change of the code's form does not change its results: labels are compared with hashes taken before it.

The hashes hold for one version of torch on one kind of processor, since another one may round differently; elsewhere
the tests are skipped. When a method changes on purpose, run `python tests/test_same_results.py NAME ...` (no name: all)
and say why in the commit.
"""

import hashlib
import inspect
import json
import platform
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits, load_iris

from c3clust import methods

HASHES = Path(__file__).with_suffix(".json")
SHORT = {
    "n_clusters": 10,
    "cc_epochs": 4,
    "pretrain_epochs": 3,
    "epochs": 3,
    "hidden": (64, 32),
    "n_init": 3,
    "random_state": 0,
    "guard": False,  # it stops so short a stage 2, whose labels would then be those of stage 1
}
DEFAULT = "c3_adaptive, defaults, 1000 images"


def photographs():
    """60 pictures of 64 px in four colours, with noise."""
    rng = np.random.default_rng(0)
    colours = rng.integers(0, 200, (4, 3, 1, 1))
    return (colours[np.arange(60) % 4] + rng.integers(0, 56, (60, 3, 64, 64))).astype(np.uint8)


def write_photographs(folder):
    for i, picture in enumerate(photographs()):
        Image.fromarray(picture.transpose(1, 2, 0)).save(folder / f"{i:02d}.png")
    return folder


def default_labels(name):
    """Labels of the default method for one kind of data, and of its predictions for new samples."""
    Consensus = methods.load("consensus")
    digits = load_digits()
    if name == "consensus, vectors":
        x = digits.data / 16 + 1e-3 * np.arange(64)
        model = Consensus(10, random_state=0).fit(x[:600])
        return np.concatenate([model.labels_, model.predict(x[600:700])])
    if name == "consensus, wide vectors":
        x = np.random.default_rng(0).normal(size=(500, 200)) + 2 * np.eye(200)[np.arange(500) % 7 * 9] * 4
        return Consensus(7, random_state=0).fit_predict(x)
    if name == "consensus, table":
        with tempfile.TemporaryDirectory() as folder:
            np.savetxt(Path(folder) / "iris.csv", load_iris().data, delimiter=",", header="a,b,c,d", comments="")
            return Consensus(3, random_state=0).fit_predict(Path(folder) / "iris.csv")
    if name == "consensus, handwriting":
        model = Consensus(10, epochs=4, guided_epochs=2, random_state=0).fit(digits.images[:400] / 16)
        return np.concatenate([model.labels_, model.predict(digits.images[400:450] / 16)])
    if name == "consensus, number of clusters":
        return Consensus("auto", random_state=0).fit_predict(digits.data[:400] / 16)
    assert name == "consensus, folder of photographs"
    with tempfile.TemporaryDirectory() as folder:
        model = Consensus(4, random_state=0).fit(write_photographs(Path(folder)))
        return np.concatenate([model.labels_, model.predict(folder)])


def labels_hash(name):
    torch.set_num_threads(1)
    images = load_digits().images[:1000] / 16
    if name == DEFAULT:
        labels = methods.load("c3_adaptive")(10, random_state=0).fit_predict(images)
    elif name.startswith("consensus, "):
        labels = default_labels(name)
    else:
        known = inspect.signature(methods.load(name)).parameters
        labels = methods.load(name)(**{k: v for k, v in SHORT.items() if k in known}).fit_predict(images[:600])
    return hashlib.sha256(np.asarray(labels, dtype=np.int64).tobytes()).hexdigest()


def machine():
    cpus = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", cpus.read_text()) if cpus.exists() else []
    return f"torch {torch.__version__}, {models[0] if models else platform.processor()}"


def recorded():
    """The hashes of each kind of machine, by name."""
    return json.loads(HASHES.read_text())


EVERY = sorted({name for hashes in recorded().values() for name in hashes})
NAMES = [pytest.param(name, marks=pytest.mark.slow if name == DEFAULT else ()) for name in EVERY]


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_those_of_before(name):
    known = recorded().get(machine(), {})
    if name not in known:
        pytest.skip(f"no hash was taken on this kind of machine: {machine()}")
    assert labels_hash(name) == known[name]


if __name__ == "__main__":
    found = {name: labels_hash(name) for name in sys.argv[1:] or EVERY}
    every = recorded()
    every[machine()] = every.get(machine(), {}) | found
    HASHES.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n")
