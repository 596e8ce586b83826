"""A change of the code's form does not change its results: labels are compared with hashes taken before it.

The hashes hold for one version of torch on one kind of processor, since another one may round differently; elsewhere
the tests are skipped. When a method changes on purpose, run `python tests/test_same_results.py` and say why in the
commit.
"""

import hashlib
import inspect
import json
import platform
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

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
    "guidance": "views",
    "guard": False,  # it stops so short a stage 2, whose labels would then be those of stage 1
}
DEFAULT = "c3, defaults, 1000 images"  # the defaults of guidance by views


def labels_hash(name):
    torch.set_num_threads(1)
    images = load_digits().images[:1000] / 16
    if name == DEFAULT:
        labels = methods.load("c3")(10, guidance="views", random_state=0).fit_predict(images)
    else:
        known = inspect.signature(methods.load(name)).parameters
        labels = methods.load(name)(**{k: v for k, v in SHORT.items() if k in known}).fit_predict(images[:600])
    return hashlib.sha256(np.asarray(labels, dtype=np.int64).tobytes()).hexdigest()


def machine():
    return {
        "torch": torch.__version__,
        "processor": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
    }


def recorded():
    return json.loads(HASHES.read_text()) if HASHES.exists() else {"machine": {}, "labels": {}}


NAMES = [pytest.param(name, marks=pytest.mark.slow if name == DEFAULT else ()) for name in recorded()["labels"]]


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_those_of_before(name):
    if recorded()["machine"] != machine():
        pytest.skip(f"the hashes were taken on {recorded()['machine']}, this is {machine()}")
    assert labels_hash(name) == recorded()["labels"][name]


if __name__ == "__main__":
    found = {name: labels_hash(name) for name in recorded()["labels"]}
    HASHES.write_text(json.dumps({"machine": machine(), "labels": found}, indent=1) + "\n")
