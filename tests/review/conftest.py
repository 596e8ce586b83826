"""A finished run of scikit-learn's digits, its server, and a real browser."""

import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from c3clust import data, methods
from c3clust.records.state import State
from c3clust.runs import Run


@pytest.fixture(scope="session")
def fitted(tmp_path_factory) -> Path:
    """A run of k-means on the digits; not to be changed."""
    place = tmp_path_factory.mktemp("fitted")
    np.save(place / "digits.npy", (load_digits().images[:300] * 15.9).astype(np.uint8))
    new = Run(place / "digits", source=str(place / "digits.npy"))
    methods.load("kmeans")(n_clusters=10, random_state=0).fit(data.load(place / "digits.npy"), run_dir=new)
    return place / "digits"


@pytest.fixture
def run(fitted, tmp_path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "digits"))


@pytest.fixture(scope="session")
def clusters_of():
    """The clusters on the disk."""
    return lambda run: State.read(run).assignments.clusters.tolist()


@pytest.fixture(scope="session")
def review():
    """Start `c3clust review` in a process of its own; gives the process and the address."""

    @contextmanager
    def started(run: Path):
        command = [sys.executable, "-m", "c3clust", "review", str(run), "--no-browser"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            line = process.stdout.readline()
            assert line.startswith("Review: http://127.0.0.1:"), process.stderr.read()
            try:
                yield process, line.split()[1]
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)
                    process.wait(30)

    return started


@pytest.fixture
def visit(browser):
    """Open a page; at the end of the test nothing may have gone wrong."""
    contexts, faults = [], []

    def opened(url: str, width: int = 1280, ready: bool = True, context=None, **options):
        if context is None:
            context = browser.new_context(viewport={"width": width, "height": 800}, reduced_motion="reduce", **options)
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.goto(url)
        if ready:
            page.wait_for_selector("body[data-ready]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []
