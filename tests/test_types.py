"""A user's program, checked by mypy and by pyright: what the API promises is known to both, and errors are found."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import c3clust

SOURCE = Path(c3clust.__file__).parents[1]
PROGRAM = """\
import numpy as np
from typing_extensions import assert_type
import c3clust
from c3clust import C3, Consensus

x = np.zeros((20, 4))
model = Consensus(n_clusters=3, random_state=0).fit(x, embeddings=True)
assert_type(model, Consensus)
labels: np.ndarray = model.labels_
again: np.ndarray = c3clust.load("run").predict(x)
assert_type(c3clust.cluster(x, 3).labels_, np.ndarray)
C3(n_cluster=3)
model.fit(x).labels_.shape.upper()
"""
WRONG = {12, 13}  # lines


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    settings = {"extraPaths": [str(SOURCE)], "typeCheckingMode": "standard", "venvPath": "", "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    return tmp_path / "program.py"


def test_mypy(program, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(SOURCE))
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--no-error-summary", program.name]
    found = subprocess.run(command, cwd=program.parent, capture_output=True, text=True)
    lines = [line for line in found.stdout.splitlines() if ": error:" in line]
    assert {int(line.split(":")[1]) for line in lines} == WRONG, found.stdout + found.stderr


def test_pyright(program):
    checker = shutil.which("basedpyright", path=str(Path(sys.executable).parent)) or shutil.which("basedpyright")
    if checker is None:
        pytest.skip("basedpyright is not installed")
    command = [checker, "--outputjson", "--pythonpath", sys.executable, program.name]
    found = subprocess.run(command, cwd=program.parent, capture_output=True, text=True)
    errors = [each for each in json.loads(found.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    assert {each["range"]["start"]["line"] + 1 for each in errors} == WRONG, found.stdout
