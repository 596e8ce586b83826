"""The built wheel, installed into an empty environment, does the main job: recipes and templates ship inside."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_the_wheel_works_in_an_empty_environment(tmp_path):
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    install = [programs / "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    quick = ["--set", "cc_epochs=1", "--set", "epochs=1"]
    fit = [programs / "c3clust", "fit", "digits", "-k", "10", "-o", tmp_path / "run", *quick]
    subprocess.run(fit, check=True, capture_output=True, cwd=tmp_path)
    assert (tmp_path / "run" / "report.html").exists()
    listed = subprocess.run([programs / "c3clust", "list", "recipes"], check=True, capture_output=True, text=True)
    assert "c3-cifar10" in listed.stdout
