"""Shared by all tests."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
# One thread each: two that share busy cores spend their time waiting for each other.
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "COLUMNS": "200", "NO_COLOR": "1", "PYTHONPATH": str(ROOT / "src")}

# No property fails because the machine is busy.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

# What these test is not on Windows: signals, pipes, limits of a process, folders of a virtual environment.
POSIX = (
    "bench/test_pool.py", "data/io/test_scratch.py", "data/test_hostile.py", "files/test_limits.py", "test_torchrun.py",
    "test_wheel.py",
)  # fmt: skip
collect_ignore = list(POSIX) if os.name == "nt" else []

# The files that take longest are begun first, so that no worker waits for another at the end.
LONG = (
    "test_all_methods.py", "test_checkpoint.py", "test_distributed.py", "test_paper.py", "test_pool.py", "test_kill.py",
    "test_cluster_count.py", "test_power_cut.py", "test_browser.py", "test_readme.py", "test_fuzz_commands.py",
    "test_rehearsal.py", "test_onnx.py", "test_start.py", "test_command.py", "test_changes.py", "test_images.py",
    "test_same_results.py",
    "test_released.py", "test_fit.py", "test_auto_k.py", "test_examples.py", "test_disk.py", "test_kmeans.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    rank = {name: i for i, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path.name, len(LONG)))


@pytest.fixture(scope="session", autouse=True)
def own_key(tmp_path_factory):
    """Runs are sealed with a key of the tests, not with that of whoever runs them (records/ownership.py)."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session", autouse=True)
def no_added_encoders(tmp_path_factory):
    """Encoders that somebody added would change what "auto" means (encoders/weights.py)."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def chromium():
    """Start Chromium through Playwright, and stop both."""
    if not Path(CHROMIUM).exists() and os.environ.get("C3CLUST_REQUIRE_BROWSER") != "1":
        pytest.skip(f"there is no {CHROMIUM}; set C3CLUST_REQUIRE_BROWSER=1 to insist")
    from playwright.sync_api import sync_playwright

    @contextmanager
    def started():
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS.split(), "--no-first-run"])
            yield chromium
            chromium.close()

    return started


@pytest.fixture(scope="module")
def browser(chromium):
    """The Chromium of one file of tests. Playwright's event loop runs in the main thread until it is stopped.

    A second Playwright, and asyncio.run, would fail meanwhile: it must not outlive the file.
    """
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def three_kinds(tmp_path_factory):
    """A file with 48 small pictures of three kinds, and their labels."""
    import numpy as np

    rng = np.random.default_rng(0)
    y = np.arange(48) % 3
    x = np.clip(rng.normal(0.1, 0.05, (48, 8, 8)) + (y[:, None, None] + 1) * np.eye(8) / 4, 0, 1)
    path = tmp_path_factory.mktemp("three_kinds") / "x.npz"
    np.savez(path, x=x.astype(np.float32), y=y)
    return str(path)


@pytest.fixture
def c3clust(monkeypatch, capsys):
    """The command line, in this process: many calls are quick. Gives returncode, stdout and stderr."""
    from c3clust.cli import main

    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    def run(*words, cwd=None):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["c3clust", *map(str, words)])
            if cwd:
                patch.chdir(cwd)
            capsys.readouterr()
            code = 0
            try:
                main()
            except SystemExit as stop:
                code = stop.code or 0
            out, err = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=out, stderr=err)

    return run


@pytest.fixture(scope="session")
def c3clust_process():
    """The command line as a user runs it: a real process."""

    def run(*words, **options):
        command = [sys.executable, "-m", "c3clust", *map(str, words)]
        options = {"capture_output": True, "text": True, "timeout": 300, "env": os.environ | ENVIRONMENT} | options
        return subprocess.run(command, **options)

    return run
