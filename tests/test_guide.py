"""The seven tasks of docs/guide/photographs.md, by its own commands, on small pictures of five colours."""

import csv
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

GUIDE = Path(__file__).parent.parent / "docs" / "guide" / "photographs.md"
COLOURS = np.array([[220, 40, 40], [40, 200, 60], [40, 60, 220], [220, 200, 50], [120, 40, 160]])


def commands():
    lines = [
        line for block in re.findall(r"```sh\n(.*?)```", GUIDE.read_text(), re.DOTALL) for line in block.splitlines()
    ]
    return [shlex.split(line)[1:] for line in lines if line.startswith("c3clust ")]


def draw(folder, numbers, rng):
    folder.mkdir()
    for i in numbers:
        noise = rng.normal(0, 12, (32, 32, 3)) + rng.normal(0, 8, (1, 1, 3))
        pixels = np.clip(COLOURS[i % 5] + noise, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"IMG_{i:04d}.jpg", quality=95)


def table(path):
    with open(path, newline="") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


@pytest.fixture
def library(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    draw(tmp_path / "photos", range(1, 61), rng)
    draw(tmp_path / "next-week", range(101, 116), rng)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_seven_tasks(c3clust, library):
    before = {path: path.read_bytes() for path in library.rglob("*.jpg")}
    told = {}
    for words in commands():
        quick = ["--method", "kmeans"] if words[0] == "fit" else []
        done = c3clust(*words, *quick)
        assert done.returncode == 0, (words, done.stderr)
        told[words[0]] = done.stdout
    assert list(told) == ["fit", "label", "move", "merge", "split", "discard", "export", "predict"]
    found = table("runs/photos/assignments.csv")
    assert found["IMG_0012.jpg"]["cluster_name"] == found["IMG_0025.jpg"]["cluster_name"] == "sea"
    assert found["IMG_0040.jpg"]["cluster_name"] == found["IMG_0041.jpg"]["cluster_name"] == "boats"
    assert found["IMG_0007.jpg"]["cluster"] == "-1"
    assert {name for name, row in found.items() if row["decided_by"] == "person"} >= {"IMG_0007.jpg", "IMG_0012.jpg"}
    assert {path: path.read_bytes() for path in before} == before, "originals are not changed"
    index = table("sorted/index.csv")
    assert len(index) == 75
    assert all((library / "sorted" / row["file"]).is_file() for row in index.values())
    assert index["IMG_0007.jpg"]["file"] == "outliers/IMG_0007.jpg"
    new = {name: row["file"].partition("/")[0] for name, row in index.items() if name > "IMG_0100.jpg"}
    assert len(new) == 15
    assert set(new.values()) <= {row["file"].partition("/")[0] for row in index.values()} | {"unsure"}
    for name in new:  # with the pictures of their colour
        same = [
            row["file"].partition("/")[0]
            for n, row in index.items()
            if n < "IMG_0100" and int(n[4:8]) % 5 == int(name[4:8]) % 5
        ]
        assert new[name] in {*same, "unsure"}
    assert "15 new images" in (library / "sorted" / "new-1.html").read_text()
    again = c3clust("predict", "runs/photos", "next-week/", "--to", "sorted/")
    assert "15 were there already" in again.stdout


def test_a_moved_source_is_named_by_split(c3clust, library):
    assert c3clust("fit", "photos/", "-k", "3", "--method", "kmeans").returncode == 0
    (library / "photos").rename(library / "elsewhere")
    refused = c3clust("split", "runs/photos", "0")
    assert refused.returncode == 2
    assert "--source" in refused.stderr
    done = c3clust("split", "runs/photos", "0", "--source", "elsewhere/")
    assert done.returncode == 0, done.stderr
