"""The command line in several processes: one run, one message, and a process that is killed.

Processes are forked from one server that has imported torch, so that starting them is cheap; torchrun starts them too.
"""

import json
import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from c3clust import cli
from c3clust.records.record import RunRecord

PRELOAD = ["torch", "sklearn.cluster", "c3clust.cli", "c3clust.methods.c3", "c3clust.report"]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def run_command(rank, world, port, words, log):
    """The command line as one of several processes."""
    torch.set_num_threads(1)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ["NO_COLOR"] = "1"
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.argv = ["c3clust", *map(str, words)]
    cli.main()


def start(world, log, *words):
    """Start c3clust in several processes."""
    multiprocessing.set_forkserver_preload(PRELOAD)
    context, port = multiprocessing.get_context("forkserver"), free_port()
    started = [context.Process(target=run_command, args=(rank, world, port, words, str(log))) for rank in range(world)]
    for process in started:
        process.start()
    return started


def end(processes, seconds=300):
    """The exit codes of all, which must end by themselves."""
    for process in processes:
        process.join(seconds)
    codes = [process.exitcode for process in processes]
    for process in processes:
        process.kill()
    return codes


@pytest.fixture(scope="module")
def fit(tmp_path_factory):
    """The words of a small run of C3, without its folder."""
    folder = tmp_path_factory.mktemp("data")
    np.save(folder / "x.npy", np.random.default_rng(0).random((72, 8, 8)).astype(np.float32))
    sizes = {"cc_epochs": 4, "epochs": 3, "batch_size": 16, "cc_batch_size": 16, "projection_dim": 8, "zeta": 0.6}
    settings = [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]
    return ("fit", folder / "x.npy", "-k", 3, *settings, "--checkpoint-minutes", 0, "-o")


def torchrun(*words, world=2):
    """Start c3clust in several processes by torchrun."""
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        f"--nproc_per_node={world}",
        f"--master_port={free_port()}",
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    return subprocess.Popen([*command, "-m", "c3clust", *map(str, words)], **pipes)


@pytest.fixture(scope="module")
def whole(fit, tmp_path_factory):
    """The folder of a run that torchrun started and nothing disturbed."""
    run = tmp_path_factory.mktemp("whole") / "run"
    process = torchrun(*fit, run, "--json")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert json.loads(out)["run"] == str(run)  # the first process alone prints
    return run


def test_a_killed_process_ends_all_and_both_resume(fit, whole, tmp_path):
    log = tmp_path / "log.txt"
    processes = start(2, log, *fit, tmp_path / "killed")
    while not list((tmp_path / "killed").glob("checkpoint/1-*.json")):
        assert processes[1].is_alive(), log.read_text()
        time.sleep(0.01)
    processes[1].kill()
    assert end(processes) == [2, -signal.SIGKILL]
    message = log.read_text().splitlines()[-1]
    assert log.read_text().count("c3clust:") == 1
    assert message.startswith("c3clust: Process 1 (of 0 to 1) has ended without a message")
    assert message.endswith(f"c3clust resume {tmp_path / 'killed'}")
    shutil.copytree(tmp_path / "killed", tmp_path / "alone")
    assert end(start(2, log, "resume", tmp_path / "killed")) == [0, 0], log.read_text()
    assert log.read_text().count("72 images in") == 1
    assert_same(tmp_path / "killed", whole)
    assert end(start(1, log, "resume", tmp_path / "alone")) == [0], log.read_text()
    assert RunRecord.read(tmp_path / "alone" / "record.json").n_clusters == 3


def assert_same(run, other):
    """Two runs have the same model and assignments, bit for bit."""
    for name in ("model.safetensors", "assignments.csv"):
        assert (run / name).read_bytes() == (other / name).read_bytes(), name


def test_each_sample_is_predicted_once_and_in_order(fit, whole, tmp_path):
    for world in (1, 2):
        log = tmp_path / "log.txt"
        words = ("predict", whole, fit[1], "-o", tmp_path / f"{world}.csv")
        assert end(start(world, log, *words)) == [0] * world, log.read_text()
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert (tmp_path / "1.csv").read_text().count("\n") == 73


def test_one_message_for_all(fit, tmp_path):
    log = tmp_path / "log.txt"
    assert end(start(2, log, "fit", tmp_path / "nothing", "-o", tmp_path / "run")) == [2, 2]
    assert log.read_text().count("c3clust:") == 1
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    log.unlink()
    assert end(start(2, log, *fit, tmp_path / "taken")) == [2, 2]
    assert log.read_text().startswith("c3clust: Process 0 (of 0 to 1) failed: ")
    assert len(log.read_text().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("world", [1, 2, 3])
def test_torchrun_and_a_killed_process(fit, whole, world, tmp_path):
    process = torchrun(*fit, tmp_path / "run")
    while not list((tmp_path / "run").glob("checkpoint/1-*.json")):
        assert process.poll() is None
        time.sleep(0.01)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    ranks = {Path(f"/proc/{child}/environ").read_bytes().split(b"\0RANK=")[1][:1]: int(child) for child in children}
    os.kill(ranks[b"1"], signal.SIGKILL)
    err = process.communicate(timeout=120)[1]
    assert process.returncode != 0
    assert err.count("c3clust: ") == 1
    assert "c3clust: Process 1 (of 0 to 1) has ended without a message" in err
    again = torchrun("resume", tmp_path / "run", world=world)
    err = again.communicate(timeout=300)[1]
    assert again.returncode == 0, err
    record = RunRecord.read(tmp_path / "run" / "record.json")
    assert record.n_clusters == 3
    assert any("interrupted" in note for note in record.notes)
    if world == 2:
        assert_same(tmp_path / "run", whole)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_two_processes_reach_the_accuracy_of_one(tmp_path):
    """CC on digits, three seeds: the means differ by less than the largest difference between seeds."""
    log, found = tmp_path / "log.txt", {1: [], 2: []}
    for seed in range(3):
        for world, scores in found.items():
            run = tmp_path / f"{world}-{seed}"
            words = ("fit", "digits", "-k", 10, "--method", "cc", "--set", "epochs=30", "--seed", seed, "-o", run)
            assert end(start(world, log, *words), 900) == [0] * world, log.read_text()
            scores.append(RunRecord.read(run / "record.json").scores["acc"])
    print(found)
    spread = max(max(scores) - min(scores) for scores in found.values())
    assert abs(np.mean(found[1]) - np.mean(found[2])) <= max(spread, 0.02)
