"""Real processes, killed with SIGKILL at random moments, taken up by `c3clust resume`, compared bit for bit.

To spare the start of Python and torch, one process is started that forks itself for each command.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from c3clust.records.record import RunRecord

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

SERVER = """
import json, os, sys
import torch
from c3clust import cli
from c3clust.training.head import fit_head
torch.set_num_threads(1)
fit_head.__defaults__ = (10, 64)  # few steps: what is killed and resumed matters, not its quality
torch.optim.Adam([torch.zeros(1, requires_grad=True)]).zero_grad()
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        words, log = json.loads(line)
        os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 1)
        os.dup2(1, 2)
        sys.argv = ["c3clust", *words]
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        sys.stdout.flush()
        os._exit(code)
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    """Run c3clust in a process of its own, killed after so many seconds if it still runs; its exit code."""
    log = tmp_path_factory.mktemp("log") / "log.txt"
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": environment}
    with subprocess.Popen([sys.executable, "-c", SERVER], **pipes) as server:

        def run(*words, kill_after=None):
            server.stdin.write(json.dumps([list(map(str, words)), str(log)]) + "\n")
            server.stdin.flush()
            pid = int(server.stdout.readline())
            if kill_after is not None:
                time.sleep(kill_after)
                assert pid > 1  # 0 and less would mean whole groups
                with contextlib.suppress(ProcessLookupError):  # it was faster
                    os.kill(pid, signal.SIGKILL)
            return int(server.stdout.readline())

        run.log = log
        yield run
        server.stdin.close()


@pytest.fixture(scope="module")
def job(tmp_path_factory, command):
    """The words of a small run of C3Adaptive, what it gives when left alone, and the seconds that takes."""
    folder = tmp_path_factory.mktemp("kill")
    np.save(folder / "x.npy", np.random.default_rng(0).random((72, 8, 8)).astype(np.float32))
    sizes = {"cc_epochs": 5, "epochs": 4, "batch_size": 16, "cc_batch_size": 16, "projection_dim": 8}
    settings = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
    words = (
        "fit",
        folder / "x.npy",
        "-k",
        3,
        "--method",
        "c3_adaptive",
        *settings,
        "--quiet",
        "--checkpoint-minutes",
        0,
        "-o",
    )
    assert command(*words, folder / "whole") == 0, command.log.read_text()
    started = time.perf_counter()  # the second run: the first one also warms the file system's cache
    assert command(*words, folder / "again") == 0, command.log.read_text()
    return words, folder / "whole", time.perf_counter() - started


def curves(run):
    stages = RunRecord.read(run / "record.json").stages
    return [{name: curve for name, curve in s["curves"].items() if name != "seconds"} for s in stages]


def killed_and_resumed(command, job, run, moment):
    """Start, kill, resume; "killed" if the kill came before the end."""
    words, whole, _ = job
    outcome = "killed" if command(*words, run, kill_after=moment) == -signal.SIGKILL else "finished before"
    if not (run / "request.json").exists():
        outcome = "killed before it began"
        assert command(*words, run) == 0, command.log.read_text()
    elif not (run / "report.html").exists():
        assert command("resume", run, "--quiet") == 0, command.log.read_text()
    for name in ("model.safetensors", "model.json", "assignments.csv"):
        assert (run / name).read_bytes() == (whole / name).read_bytes(), (name, moment)
    assert curves(run) == curves(whole)
    expected = {path.name for path in whole.iterdir()}
    assert {path.name for path in run.iterdir()} == expected
    return outcome


@pytest.mark.parametrize("share", [0.2, 0.45, 0.7])
def test_killed_in_the_middle(command, job, tmp_path, share):
    moment = job[2] * (share + random.uniform(-0.1, 0.1))
    killed_and_resumed(command, job, tmp_path / "run", moment)


@pytest.mark.slow
def test_killed_at_twenty_random_moments(command, job, tmp_path):
    draw = random.Random(0)
    outcomes = [killed_and_resumed(command, job, tmp_path / f"{i}", draw.uniform(0, job[2])) for i in range(20)]
    print({outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))})
    assert outcomes.count("killed") >= 10


def test_refusals(command, job, tmp_path):
    words, whole, seconds = job
    for moment in np.linspace(0.3, 0.8, 6) * seconds:
        run = tmp_path / f"{moment}"
        command(*words, run, kill_after=moment)
        if (run / "request.json").exists() and not (run / "record.json").exists():
            break
    before = command.log.stat().st_size
    assert command(*words, run) == 2
    assert f"unfinished run: continue it with c3clust resume {run}" in command.log.read_text()[before:]
    assert command("resume", whole) == 2
    assert "there is nothing to resume" in command.log.read_text()[before:]
    assert command("resume", tmp_path) == 2
    assert "request.json is missing" in command.log.read_text()[before:]
