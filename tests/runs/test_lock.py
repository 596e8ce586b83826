"""One process per run folder."""

import json
import os
import socket
import subprocess
import sys

import pytest

from c3clust.errors import RunError
from c3clust.runs.lock import locked


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
    with pytest.raises(RunError, match="cannot be written"), locked(tmp_path / "nowhere"):
        pass
