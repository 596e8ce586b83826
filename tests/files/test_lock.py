"""One process per run folder."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from c3clust import KMeans
from c3clust.errors import RunError
from c3clust.files.lock import locked


def test_a_second_owner_is_refused_and_the_first_one_named(tmp_path):
    with locked(tmp_path), pytest.raises(RunError, match=f"in use by process {os.getpid()}"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass
    assert not any(tmp_path.iterdir())


def test_the_lock_of_a_dead_process_is_void(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (tmp_path / "lock").write_text(json.dumps({"pid": gone.pid, "started": 1, "host": socket.gethostname()}))
    with locked(tmp_path):
        assert json.loads((tmp_path / "lock").read_text())["pid"] == os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="start times of processes are read from /proc")
def test_the_lock_of_an_earlier_process_with_our_pid_is_void(tmp_path):
    (tmp_path / "lock").write_text(json.dumps({"pid": os.getpid(), "started": 1, "host": socket.gethostname()}))
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x", "host": 1}', b'{"pid": -1, "host": ""}', b"\xff"])
def test_a_lock_that_names_nobody_is_void(tmp_path, content):
    (tmp_path / "lock").write_bytes(content)
    with locked(tmp_path):
        pass


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(RunError, match="does not exist, or is not a folder"), locked(tmp_path / "nowhere"):
        pass


HOLD = """
import sys
from pathlib import Path
from c3clust.files.lock import locked
with locked(Path(sys.argv[1])):
    (Path(sys.argv[1]) / ".model.json.00ff.partial").write_text("being written")
    print("ready", flush=True)
    sys.stdin.read()
"""
TRY = "import sys, pathlib; from c3clust.files.lock import locked; locked(pathlib.Path(sys.argv[1])).__enter__()"
OWN_NUMBERS = ["unshare", "--pid", "--fork"]  # a process with other process numbers, as in a container


def can_unshare():
    return shutil.which("unshare") is not None and not subprocess.run([*OWN_NUMBERS, "true"], check=False).returncode


@contextlib.contextmanager
def owner(folder, *before):
    """A process that holds the lock of a folder and is writing a file there."""
    command = [*before, sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        yield
        process.stdin.close()


@pytest.mark.parametrize("before", [[], OWN_NUMBERS], ids=["here", "in another namespace"])
def test_a_refused_fit_touches_nothing_of_the_owner(c3clust, three_kinds, tmp_path, before):
    if before and not can_unshare():
        pytest.skip("namespaces are not allowed here")
    run = tmp_path / "run"
    run.mkdir()
    with owner(run, *before):
        held = {path.name: path.read_bytes() for path in run.iterdir()}
        done = c3clust("fit", three_kinds, "-k", 3, "--method", "kmeans", "-o", run, "-q")
        assert done.returncode == 2
        assert "is in use by process" in done.stderr
        assert {path.name: path.read_bytes() for path in run.iterdir()} == held
    assert c3clust("fit", three_kinds, "-k", 3, "--method", "kmeans", "-o", run, "-q").returncode == 0
    assert not list(run.glob(".*.partial"))


def test_the_lock_ends_with_a_killed_owner(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(RunError, match=f"process {process.pid}"), locked(tmp_path):
            pass
        process.kill()
    with locked(tmp_path):
        pass


def test_the_lock_is_held_from_the_first_file_to_the_last(tmp_path, monkeypatch):
    """Another process is refused when the first file is renamed, and when the last one is."""
    tried, replace = [], os.replace

    def watched(source, target):
        if Path(target).name in ("request.json", "report.html"):
            done = subprocess.run([sys.executable, "-c", TRY, str(tmp_path / "run")], capture_output=True, text=True)
            tried.append((Path(target).name, "is in use by process" in done.stderr))
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    KMeans(2, random_state=0).fit(np.random.default_rng(0).random((12, 4)), run_dir=tmp_path / "run")
    assert tried == [(name, True) for name in ("request.json", "report.html")]
    assert not (tmp_path / "run" / "lock").exists()
