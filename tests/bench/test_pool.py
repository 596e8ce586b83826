"""Jobs in real processes: once, shared, resumed, and each failing alone."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from c3clust.bench import Job, folder_of, result_of, run

SMALL = {"n_clusters": 3, "batch_size": 16, "projection_dim": 8}
RUN = """
import sys
from c3clust.bench import Job, run
print([r.status for r in run([Job.from_plain(__import__("json").loads(sys.argv[1]))], sys.argv[2])])
"""


@pytest.fixture(scope="module", autouse=True)
def one_thread_each():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield


def cc(three_kinds, seed=0, epochs=6, **more):
    return Job(three_kinds, "cc", {**SMALL, "epochs": epochs, **more}, seed)


@pytest.fixture(scope="module")
def swept(three_kinds, tmp_path_factory):
    """Two C3 from one CC, a method that fails, one that diverges, one that collapses; two at a time."""
    out = tmp_path_factory.mktemp("out")
    c3 = {**SMALL, "epochs": 2}
    jobs = [
        Job(three_kinds, "c3", {**c3, "zeta": 0.6}, start=cc(three_kinds)),
        Job(three_kinds, "c3", {**c3, "zeta": 0.9}, start=cc(three_kinds)),
        Job(three_kinds, "kmeans", {"n_clusters": 99}, name="too many"),
        cc(three_kinds, lr=1e30),
        cc(three_kinds, epochs=0),
        Job(three_kinds, "c3", {**c3, "zeta": 0.6}, start=cc(three_kinds, lr=1e30)),
    ]
    ended = []
    return jobs, run(jobs, out, workers=2, on_result=ended.append), ended, out


def test_the_start_is_trained_once_and_shared(swept, three_kinds):
    _, results, ended, out = swept
    assert [r.status for r in results[:2]] == ["ok", "ok"]
    assert [r.job for r in ended].count(cc(three_kinds)) == 1
    start = str(folder_of(out, cc(three_kinds)) / "run")
    assert {r.record.params["start"] for r in results[:2]} == {start}
    assert set(results[0].scores) == set(results[0].scores_z) == {"acc", "nmi", "ari"}
    assert results[0].labels.shape == (48,)
    assert len(results[0].curve("c3", "positives_per_view")) == 2


def test_each_failure_stands_alone_with_its_reason(swept):
    _, results, _, _ = swept
    assert [r.status for r in results] == ["ok", "ok", "failed", "diverged", "collapsed", "failed"]
    assert "only 48 images, fewer than the 99 requested clusters" in results[2].reason
    assert "not finite" in results[3].reason
    assert "of 3 clusters" in results[4].reason
    assert "Its start (cc, seed 0) diverged" in results[5].reason


def test_what_is_finished_is_left_alone_and_what_failed_is_tried_again(swept):
    jobs, results, _, out = swept
    before = {r.folder: (r.folder / "result.json").stat().st_mtime_ns for r in results}
    ended = []
    assert run(jobs, out, on_result=ended.append) == results
    again = [r for r in results if (r.folder / "result.json").stat().st_mtime_ns != before[r.folder]]
    assert {r.status for r in again} == {"failed"} == {r.status for r in ended}


def test_watching_does_not_touch_training_and_notes_each_epoch(swept, three_kinds, tmp_path):
    out = swept[3]
    np.savez(tmp_path / "x.npz", x=np.load(three_kinds)["x"])  # without labels nothing is watched
    (blind,) = run([cc(str(tmp_path / "x.npz"))], tmp_path)
    seeing = result_of(out, cc(three_kinds))
    assert blind.scores is None
    assert blind.epochs("cc") == []
    assert (blind.run / "model.safetensors").read_bytes() == (seeing.run / "model.safetensors").read_bytes()
    epochs = seeing.epochs("cc")
    assert [seen["epoch"] for seen in epochs] == [1, 2, 3, 4, 5, 6]
    assert {name: epochs[-1][name] for name in ("acc", "nmi", "ari")} == seeing.scores
    for seen in epochs:
        for counts in seen["pairs"].values():
            assert sum(counts.values()) == 48 * 47 // 2
            assert counts["tp"] + counts["fn"] == 3 * 16 * 15 // 2


def when_training(folder):
    """Wait until the run in `folder` has left two checkpoints; the process that works on it."""
    deadline = time.monotonic() + 300
    while len(list((folder / "run").glob("checkpoint/*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    return json.loads((folder / "lock").read_bytes())["pid"]


def test_a_killed_bench_takes_its_workers_along_and_goes_on(three_kinds, tmp_path):
    job = cc(three_kinds, epochs=24)
    words = [sys.executable, "-c", RUN, json.dumps(job.plain()), str(tmp_path)]
    bench = subprocess.Popen(words)
    owner = when_training(folder_of(tmp_path, job))
    assert owner != bench.pid
    bench.send_signal(signal.SIGKILL)
    bench.wait()
    assert result_of(tmp_path, job).status == "missing"
    (again,) = run([job], tmp_path)
    with pytest.raises(ProcessLookupError):
        os.kill(owner, 0)
    assert again.status == "ok", again.reason
    assert any("The run was interrupted" in note for note in again.notes)
    assert [seen["epoch"] for seen in again.epochs("cc")] == list(range(1, 25))


def test_a_killed_worker_fails_alone_and_is_taken_up(three_kinds, tmp_path):
    job = cc(three_kinds, epochs=24)

    def kill():
        owner = when_training(folder_of(tmp_path, job))
        assert owner not in (0, 1, os.getpid())
        os.kill(owner, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    killed, other = run([job, Job(three_kinds, "kmeans", {"n_clusters": 3})], tmp_path)
    killer.join()
    assert (killed.status, other.status) == ("failed", "ok")
    assert "Its process ended with SIGKILL" in killed.reason
    (again,) = run([job], tmp_path)
    assert again.status == "ok"
    assert any("The run was interrupted" in note for note in again.notes)
