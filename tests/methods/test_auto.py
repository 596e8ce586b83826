"""The method that suits a data set, from Python and from the command line."""

import json

import numpy as np
import pytest

from c3clust import Consensus, cluster, data
from c3clust.encoders import photographs
from c3clust.methods._auto import choose_method

RNG = np.random.default_rng(0)
BLOBS = np.concatenate([RNG.normal(9 * k, 1, size=(20, 4)) for k in range(2)])
COLOURS = RNG.integers(0, 255, (12, 3, 8, 8), dtype=np.uint8)


@pytest.mark.parametrize(("x", "name"), [(BLOBS, "consensus"), (COLOURS, "c3_adaptive"), (["a b", "c d"], "consensus")])
def test_the_data_decide(x, name):
    assert choose_method(data.load(x))[0] == name


@pytest.mark.skipif(photographs.there() is None, reason="no encoder of photographs is installed")
@pytest.mark.parametrize(("side", "name"), [(19, "c3_adaptive"), (20, "consensus"), (64, "consensus")])
def test_small_photographs_are_encoded_too(side, name):
    small = RNG.integers(0, 255, (12, side, side), dtype=np.uint8)
    assert choose_method(data.load(small))[0] == name
    assert choose_method(data.load(small), "none")[0] == "c3_adaptive"


def test_an_encoder_makes_vectors_of_images():
    assert choose_method(data.load(COLOURS), "hf:somewhere")[0] == "consensus"
    assert choose_method(data.load(COLOURS), "none")[0] == "c3_adaptive"


def test_python_and_the_command_line_agree_and_the_record_says_why(c3clust, tmp_path):
    np.save(tmp_path / "x.npy", BLOBS)
    found = cluster(tmp_path / "x.npy", 2, tmp_path / "python")
    done = c3clust("fit", tmp_path / "x.npy", "-k", 2, "-o", tmp_path / "line")
    assert done.returncode == 0, done.stderr
    why = "Method: consensus, since the samples are feature vectors."
    assert why in done.stderr
    for run in ("python", "line"):
        assert why in json.loads((tmp_path / run / "record.json").read_text())["notes"]
    assert (tmp_path / "python" / "assignments.csv").read_text() == (tmp_path / "line" / "assignments.csv").read_text()
    assert isinstance(found, Consensus)
