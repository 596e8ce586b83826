"""Temporary folders: gone after any end of their process, at the latest when the next one is made."""

import os
import signal
import subprocess
import sys
import time

import pytest

from c3clust.data.io.scratch import LOCK, Scratch

HOLD = """
import sys, time
from pathlib import Path
from c3clust.data.io.scratch import Scratch
scratch = Scratch("c3clust-test-", Path(sys.argv[1]))
(scratch.folder / "file").write_text("x")
print(scratch.folder, flush=True)
time.sleep(60)
"""


def test_it_goes_with_its_last_reference(tmp_path):
    scratch = Scratch("c3clust-test-", tmp_path)
    (scratch.folder / "file").write_text("x")
    with scratch as folder:
        assert folder.is_dir()
    assert not list(tmp_path.iterdir())
    scratch = Scratch("c3clust-test-", tmp_path)
    del scratch
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_left_is_removed_and_what_is_in_use_is_not(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    theirs = child.stdout.readline().strip()
    try:
        mine = Scratch("c3clust-test-", tmp_path)
        assert os.path.isdir(theirs)
    finally:
        child.send_signal(signal.SIGKILL)
        child.communicate()
    assert os.path.isdir(theirs)
    other = Scratch("c3clust-test-", tmp_path)
    assert not os.path.exists(theirs)
    assert mine.folder.is_dir()
    assert other.folder.is_dir()


def test_links_and_folders_that_are_being_made_are_left_alone(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / LOCK).touch()
    place = tmp_path / "place"
    place.mkdir()
    (place / "c3clust-test-link").symlink_to(outside)
    (place / "c3clust-test-new").mkdir()
    (place / "c3clust-test-old").mkdir()
    long_ago = time.time() - 1e5
    os.utime(place / "c3clust-test-old", (long_ago, long_ago))
    with Scratch("c3clust-test-", place):
        assert (outside / LOCK).exists()
        assert (place / "c3clust-test-new").exists()
        assert not (place / "c3clust-test-old").exists()


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        Scratch("c3clust-test-", tmp_path / "absent")
