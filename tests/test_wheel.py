"""The built wheel, in environments that hold nothing but what it asks for: the main job, and a word on each extra."""

import json
import os
import subprocess
import sys
import venv
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement
from PIL import Image

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.slow
CALLS = """
import contextlib, io, json, sys
from c3clust.cli import main

for words in json.load(sys.stdin):
    said, code = io.StringIO(), 0
    sys.argv = ["c3clust", *words]
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
    print(json.dumps([code, said.getvalue()]))
"""


def needed(requirements, extras=()):
    """The names of the distributions that these requirements lead to, as they are installed here."""
    names, todo = set(), [(Requirement(each), extras) for each in requirements]
    while todo:
        requirement, extras = todo.pop()
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            continue
        if requirement.name.lower() in names:
            continue
        names.add(requirement.name.lower())
        try:
            inner = distribution(requirement.name).requires or ()
        except PackageNotFoundError:
            continue  # for another system
        todo += [(Requirement(each), requirement.extras) for each in inner]
    return names - {"c3clust"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """Makes an environment with the wheel and what its dependencies, and those of some extras, are: by links."""

    def make(*extras):
        folder = tmp_path_factory.mktemp("-".join(["env", *extras])) / "env"
        venv.create(folder, with_pip=False)
        python = folder / "bin" / "python"
        install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "-q"]
        subprocess.run([*install, str(wheel)], check=True, capture_output=True)
        site = next(folder.glob("lib/python*/site-packages"))
        (metadata,) = site.glob("c3clust-*.dist-info/METADATA")
        lines = metadata.read_text().split("\n\n")[0].splitlines()
        asked = [line.partition(": ")[2] for line in lines if line.startswith("Requires-Dist: ")]
        for name in needed(asked, extras):
            link(name, site)
        return python

    def link(name, site):
        try:
            found = distribution(name)
        except PackageNotFoundError:
            return
        for top in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(found.locate_file(top))))

    return make


def call(python, folder, *commands):
    """Exit code and messages of each command, all in one process of this environment."""
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = json.dumps([[str(word) for word in command] for command in commands])
    options = {"input": words, "capture_output": True, "text": True, "cwd": folder, "env": alone}
    done = subprocess.run([python, "-c", CALLS], **options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def photos(tmp_path):
    """Photographs of two kinds, and other files to cluster."""
    rng = np.random.default_rng(0)
    (tmp_path / "photos").mkdir()
    for i in range(16):
        pixels = (rng.integers(0, 90, (20, 24, 3)) + 150 * (i % 2)).astype(np.uint8)
        Image.fromarray(pixels).resize((96, 80)).save(tmp_path / "photos" / f"{i}.jpg")
    (tmp_path / "people.csv").write_text("\n".join(["age,pay", *(f"{20 + 30 * (i % 2)},{i}" for i in range(16))]))
    (tmp_path / "texts.txt").write_text("\n".join(f"the text {i}" for i in range(16)))
    return tmp_path


def test_photographs_are_clustered(environment, photos):
    python = environment("photos")
    commands = [("fit", "photos", "-k", "2", "-o", "run"), ("predict", "run", "photos", "-o", "new.csv")]
    assert [code for code, _ in call(python, photos, *commands, ("list", "recipes"))] == [0, 0, 0]
    assert (photos / "run" / "report.html").exists()
    assert json.loads((photos / "run" / "record.json").read_text())["encoder"]["name"] == "efficientnet-lite0"
    assert len((photos / "new.csv").read_text().split()) == 17


def test_each_missing_extra_is_told_in_one_sentence(environment, photos):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"age": list(range(16))}), photos / "people.parquet")
    (photos / "m.onnx").write_bytes(b"not looked at")
    k = ("-k", "2", "-o")
    first = [("fit", "people.csv", "--method", "kmeans", *k, "run"), ("predict", "run", "people.csv", "-o", "new.csv")]
    missing = {
        "tables": ("fit", "people.parquet", *k, "a"),
        "text": ("fit", "texts.txt", *k, "b"),
        "photos": ("fit", "photos", "--encoder", "efficientnet-lite0", *k, "c"),
        "hf": ("fit", "photos", "--encoder", "hf:facebook/dinov2-small", *k, "d"),
        "paper": ("paper", "fig-weights", "-o", "e"),
        "onnx": ("export", "run", "--format", "onnx", "--to", "f.onnx"),
        "onnx ": ("predict", "m.onnx", "photos"),
        "hub": ("export", "run", "--format", "hf", "--to", "g"),
    }
    done = call(environment(), photos, *first, *missing.values())
    assert [code for code, _ in done[:2]] == [0, 0], done[:2]  # simplejpeg and openTSNE are not missed
    for extra, (code, said) in zip(missing, done[2:], strict=True):
        sentences = [line for line in said.splitlines() if line.startswith("c3clust: ")]
        assert (code, len(sentences), "Traceback" in said) == (2, 1, False), (extra, said)
        assert f"c3clust[{extra.strip()}]" in sentences[0]
