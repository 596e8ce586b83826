"""Encoders as a user of the command line meets them, on real files."""

import csv
import json

import numpy as np
import pytest
from PIL import Image

from c3clust.encoders import photographs

pytestmark = pytest.mark.skipif(photographs.missing() is not None, reason="the extra photos is not installed")
SMALL = ("--image-size", 64, "--set", "views=1", "--quiet")
QUICK = ("--method", "c3_adaptive", "--set", "cc_epochs=1", "--set", "epochs=1")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """Eight pictures of 80 x 70 pixels, dark and light."""
    folder = tmp_path_factory.mktemp("photos")
    for i in range(8):
        pixels = np.random.default_rng(i).integers(0, 90, (70, 80, 3)) + (150 if i % 2 else 0)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{i}.png")
    return folder


def test_photographs_start_from_the_encoder(c3clust, photos, tmp_path):
    run = tmp_path / "runs" / "one"
    done = c3clust("fit", photos, "-k", 2, "-o", run, *QUICK, *SMALL)
    assert done.returncode == 0, done.stderr
    record = json.loads((run / "record.json").read_text())
    encoder = record["encoder"]
    assert (encoder["name"], encoder["labels"], encoder["views"], encoder["size"]) == (
        "efficientnet-lite0",
        "yes",
        1,
        64,
    )
    assert any("was trained with labels" in note for note in record["notes"])
    page = (run / "report.html").read_text()
    assert "not unsupervised" in page
    assert "c3_adaptive on features of efficientnet-lite0" in page
    kept = sorted(path.name for path in (tmp_path / "runs" / "c3clust-features").iterdir())
    assert len(kept) == 4  # the pictures and one view, each with its hash

    done = c3clust("predict", run, photos)
    assert done.returncode == 0, done.stderr
    found = {row["name"]: row["cluster"] for row in csv.DictReader(done.stdout.splitlines())}
    with open(run / "assignments.csv", newline="") as file:
        assert found == {row["name"]: row["cluster"] for row in csv.DictReader(file)}

    other = c3clust("fit", photos, "-k", 2, "-o", tmp_path / "runs" / "two", "--method", "kmeans",
                    "--encoder", "efficientnet-lite0", "--image-size", 64, "--quiet")  # fmt: skip
    assert other.returncode == 0, other.stderr
    assert sorted(path.name for path in (tmp_path / "runs" / "c3clust-features").iterdir()) == kept


def test_none_is_none(c3clust, photos, tmp_path):
    done = c3clust("fit", photos, "-k", 2, "-o", tmp_path / "r", "--encoder", "none", *QUICK, *SMALL)
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / "r" / "record.json").read_text())["encoder"] is None
    assert not (tmp_path / "c3clust-features").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--encoder", "resnet"], "encoder='resnet' is unknown. Known: auto, none, efficientnet-lite2+pplcnetv2"),
        (["--encoder", "hf:/nowhere"], "hf:/nowhere cannot be loaded"),
        (["--method", "kmeans", "--finetune"], "kmeans has no parameter 'finetune'"),
        (["--method", "cc", "--set", "views=-1"], "views=-1 is not an integer"),
    ],
)
def test_mistakes_are_one_sentence(c3clust, photos, tmp_path, words, message, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    if words[1].startswith("hf:"):
        pytest.importorskip("transformers", reason="the extra hf is not installed")
    done = c3clust("fit", photos, "-k", 2, "-o", tmp_path / "r", *words)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()[-1]


def test_list(c3clust):
    assert {"efficientnet-lite0", "hf:NAME_OR_FOLDER", "RUN_FOLDER"} <= set(c3clust("list", "encoders").stdout.split())
