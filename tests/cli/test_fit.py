"""fit and resume, on real files."""

import csv
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

from c3clust import load

QUICK = ("--method", "c3", "--set", "cc_epochs=1", "--set", "epochs=1")


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_folder_is_whole(run):
    record = json.loads((run / "record.json").read_text())
    assert record["method"] == "c3_adaptive"
    assert [stage["name"] for stage in record["stages"]] == ["cc", "c3", "settle"]
    for stage in record["stages"]:
        curves = stage["curves"]
        assert {len(curve) for curve in curves.values()} == {1}
        assert {"loss", "cluster_sizes", "assignment_entropy", "labels_changed"} <= set(curves)
    assert "positives_per_view" in record["stages"][1]["curves"]
    assert set(record["scores"]) == {"acc", "nmi", "ari"}
    assert record["data"]["n"] == 24
    assert record["data"]["fingerprint"]
    found = rows(run / "assignments.csv")
    assert len(found) == 24
    assert set(found[0]) == {"name", "cluster", "confidence"}
    assert (run / "report.html").stat().st_size > 10_000


def test_json_is_all_that_is_printed(c3clust, photos, tmp_path):
    done = c3clust("fit", photos, "-k", 2, "-o", tmp_path / "r", "--method", "kmeans", "--json")
    result = json.loads(done.stdout)
    assert result["run"] == str(tmp_path / "r")
    assert [result[name] for name in ("estimated_accuracy", "interval", "doubtful")] == [None, None, None]
    assert done.stderr == ""


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    """120 vectors in three groups that are apart."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("vectors") / "x.npy"
    np.save(path, (rng.normal(size=(3, 20))[np.arange(120) % 3] * 4 + rng.normal(size=(120, 20))).astype(np.float32))
    return path


def test_the_estimate_is_printed(c3clust, vectors, tmp_path):
    done = c3clust("fit", vectors, "-k", 3, "-o", tmp_path / "r")
    printed = " ".join(done.stdout.split())
    assert "120 samples in 3 clusters" in printed
    assert "About 98 in 100 samples are probably in the right cluster (91 to 100; estimated without labels)" in printed
    assert "Nothing looks wrong." in printed
    done = c3clust("fit", vectors, "-k", 3, "-o", tmp_path / "json", "--json")
    result = json.loads(done.stdout)
    assert result["estimated_accuracy"] == pytest.approx(0.98, abs=0.005)
    assert result["interval"] == pytest.approx([0.91, 1.0], abs=0.01)
    assert result["doubtful"] is False
    assert (result["clusters_found"], result["findings"]) == (3, [])


def test_the_worst_finding_is_printed(c3clust, tmp_path):
    np.save(tmp_path / "x.npy", np.ones((60, 20), np.float32))
    done = c3clust("fit", tmp_path / "x.npy", "-k", 3, "-o", tmp_path / "r")
    printed = " ".join(done.stdout.split())
    assert "60 samples in 1 cluster (3 were requested)" in printed
    assert "Problem: All 60 samples are identical to the method" in printed
    assert "About" not in printed


def test_nothing_is_claimed_without_an_estimate(c3clust, photos, tmp_path):
    done = c3clust("fit", photos, "-k", 2, "-o", tmp_path / "r", "--method", "kmeans")
    printed = " ".join(done.stdout.split())
    assert "The accuracy is unknown: the method kmeans" in printed
    assert "Nothing looks wrong" not in printed


def test_settings_reach_the_estimator(c3clust, photos, tmp_path):
    sets = ("--set", "zeta=0.7", "--set", "augment.policy=photo", "--set", "augment.jitter=0.1")
    assert c3clust("fit", photos, "-k", 2, "-o", tmp_path / "r", *QUICK, *sets).returncode == 0
    model = load(tmp_path / "r")
    assert (model.zeta, model.augment) == (0.7, {"policy": "photo", "jitter": 0.1})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-k", "99"], "only 24 images, fewer than the 99 requested clusters"),
        (["-k", "2", "--set", "zeta=1.4"], "zeta=1.4 is outside [-1, 1]"),
        (["-k", "2", "--method", "c3", "--set", "gamma=-1"], "gamma=-1 is outside [0, inf)"),
        (["-k", "2", "--set", "zetta=1"], "Did you mean zeta?"),
        (["-k", "2", "--set", "random_state=5"], "--set 'random_state=5' is not possible: the option --seed sets it"),
        (["--set", "n_clusters=2"], "--set 'n_clusters=2' is not possible: the option -k sets it"),
        (["-k", "2", "--set", "zeta"], "is not of the form name=value"),
        (["-k", "2", "--method", "kmean"], "Did you mean kmeans?"),
        (["-k", "2", "--recipe", "c3-cifar11"], "Did you mean c3-cifar10?"),
        (["-k", "2", "--device", "cuda:7"], "cannot be used here"),
        (["--method", "dec"], "The number of clusters was not given, which dec needs"),
        (["-k", "auto", "--method", "dec"], 'n_clusters="auto" is not possible with dec'),
        (["-k", "0"], "-k 0 is neither a positive integer nor auto"),
        (["-k", "few"], "-k few is neither a positive integer nor auto"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(c3clust, photos, tmp_path, words, message):
    done = c3clust("fit", photos, "-o", tmp_path / "r", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert [line for line in done.stderr.splitlines() if message in line] == done.stderr.splitlines()[-1:]
    assert not (tmp_path / "r" / "record.json").exists()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.full((9, 4), np.nan), "NaN|finite"),
        (np.full((9, 4, 4), np.inf), "inf|finite"),
        (np.zeros((0, 4)), "empty|0 sample|no sample"),
        (np.zeros(9), "dimension|shape|2D"),
        (np.zeros((2, 2, 2, 2, 2)), "dimension|shape"),
    ],
)
def test_bad_arrays(c3clust, tmp_path, array, message):
    np.save(tmp_path / "x.npy", array)
    done = c3clust("fit", tmp_path / "x.npy", "-k", 2, "-o", tmp_path / "r", "--quiet")
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert any(word in done.stderr for word in message.split("|")), done.stderr


def test_a_folder_that_holds_a_run_is_refused(c3clust, run, photos):
    before = {path: path.stat().st_mtime_ns for path in run.iterdir()}
    done = c3clust("fit", photos, "-k", 2, "-o", run)
    assert done.returncode == 2
    assert "contains a finished run" in done.stderr
    assert before == {path: path.stat().st_mtime_ns for path in run.iterdir()}


def test_an_unwritable_folder_is_refused(c3clust, photos, tmp_path):
    (tmp_path / "file").touch()
    done = c3clust("fit", photos, "-k", 2, "-o", tmp_path / "file" / "run")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    if os.geteuid() != 0:  # root may write anywhere
        tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
        assert "cannot be written" in c3clust("fit", photos, "-k", 2, "-o", tmp_path / "run").stderr


def test_reading_options_reach_the_data_and_unreadable_files_are_listed(c3clust, photos, tmp_path):
    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    (folder / "broken.png").write_bytes(b"nothing")
    reading = ("--workers", 1, "--max-bad", 0.1)
    out, kept = tmp_path / "r", tmp_path / "kept"
    done = c3clust(
        "fit",
        folder,
        "-k",
        2,
        "-o",
        out,
        "--method",
        "cc",
        "--set",
        "epochs=1",
        "--image-size",
        12,
        "--cache",
        kept,
        *reading,
    )
    assert done.returncode == 0, done.stderr
    assert "skipped broken.png" in done.stderr
    record = json.loads((out / "record.json").read_text())
    assert [name for name, _ in record["data"]["skipped"]] == ["broken.png"]
    assert record["data"]["shape"] == [3, 12, 12]
    assert any(kept.iterdir())
    streamed = c3clust("predict", out, folder, "--memory", 0, *reading)
    assert streamed.returncode == 0, streamed.stderr
    found = {r["name"]: r["cluster"] for r in csv.DictReader(streamed.stdout.splitlines())}
    assert found == {r["name"]: r["cluster"] for r in rows(out / "assignments.csv")}


def test_ctrl_c_stops_in_one_sentence_that_says_how_to_go_on(c3clust, tmp_path):
    command = [sys.executable, "-m", "c3clust", "fit", "digits", "-k", "10", "-o", str(tmp_path / "r"), "--quiet"]
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    )
    deadline = time.monotonic() + 120
    while not list((tmp_path / "r").glob("checkpoint/*.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert process.returncode == 130
    advice = f"Continue from the last checkpoint with: c3clust resume {tmp_path / 'r'}"
    assert message.strip() == f"c3clust: stopped. {advice}"
    done = c3clust("fit", "digits", "-k", 10, "-o", tmp_path / "r")
    assert done.returncode == 2
    assert "resume" in done.stderr


def test_a_fit_that_fails_leaves_no_folder(c3clust, three_kinds, tmp_path):
    for words in (["none.npy", "-k", "2"], [three_kinds, "-k", "100", "--method", "kmeans"]):
        assert c3clust("fit", *words, "-o", tmp_path / "run").returncode == 2
        assert not (tmp_path / "run").exists()
    (tmp_path / "own").mkdir()
    assert c3clust("fit", "none.npy", "-k", "2", "-o", tmp_path / "own").returncode == 2
    assert (tmp_path / "own").exists()  # the user's own folder stays


def test_no_clusters_at_all_is_one_sentence(c3clust, three_kinds, tmp_path):
    for command in (["fit", three_kinds], ["bench", three_kinds, "--methods", "kmeans"]):
        done = c3clust(*command, "-k", "0", "-o", tmp_path / "run")
        assert done.returncode == 2
        assert "-k 0 is neither a positive integer nor auto" in done.stderr


def test_help_shows_brackets(c3clust):
    assert "[n, V, F]" in c3clust("fit", "--help").stdout


def test_large_images_are_read_on_request(c3clust, photos, tmp_path, monkeypatch):
    monkeypatch.setenv("C3CLUST_MAX_PIXELS", "100")
    words = ("fit", photos, "-k", "2", "--method", "kmeans")
    refused = c3clust(*words, "-o", tmp_path / "no")
    assert refused.returncode == 2
    assert "too large: 16 × 16 pixels" in refused.stderr
    assert c3clust(*words, "-o", tmp_path / "run", "--max-pixels", "256").returncode == 0
    monkeypatch.setenv("C3CLUST_MAX_PIXELS", "100")
    assert c3clust("split", tmp_path / "run", "0").returncode == 0


def test_without_o_the_run_is_named_after_its_source(c3clust, photos, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (f"runs/{photos.name}", f"runs/{photos.name}-2"):
        done = c3clust("fit", photos, "-k", "2", "--method", "kmeans")
        assert done.returncode == 0, done.stderr
        assert f"Run folder: {folder}\n" in done.stdout
        assert (tmp_path / folder / "record.json").exists()
