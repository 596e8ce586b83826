"""Shared by all tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def c3clust():
    """The command line as a user runs it: a real process."""

    def run(*words, **options):
        environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "src")}
        command = [sys.executable, "-m", "c3clust", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, **options)

    return run
