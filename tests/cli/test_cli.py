"""The command line as a user meets it, on real files."""

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
from PIL import Image

from c3clust import load

QUICK = ("--set", "cc_epochs=1", "--set", "epochs=1")


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    """24 small pictures in two class folders: dark and light."""
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for i in range(24):
        pixels = rng.integers(0, 90, (16, 16, 3)) + (150 if i % 2 else 0)
        path = folder / ("light" if i % 2 else "dark") / f"{i}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(path)
    return folder


@pytest.fixture(scope="module")
def run(photos, tmp_path_factory, c3clust_process):
    """A finished run on the photos, by a real process."""
    out = tmp_path_factory.mktemp("runs") / "run"
    done = c3clust_process("fit", photos, "-k", "2", "-o", out, "--labels", "folders", *QUICK)
    assert done.returncode == 0, done.stderr
    return out


def test_a_real_process_fails_with_one_sentence(c3clust_process, tmp_path):
    done = c3clust_process("fit", tmp_path / "nowhere", "-k", 2, "-o", tmp_path / "r")
    assert done.returncode == 2
    assert done.stderr.startswith("c3clust: ")
    assert len(done.stderr.splitlines()) == 1


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_folder_is_whole(run):
    record = json.loads((run / "record.json").read_text())
    assert record["method"] == "c3"
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


def test_predict_agrees_with_the_run(c3clust, run, photos, tmp_path):
    done = c3clust("predict", run, photos, "-o", tmp_path / "out.csv")
    assert done.returncode == 0, done.stderr
    here = [(r["name"], r["cluster"]) for r in rows(tmp_path / "out.csv")]
    assert here == [(r["name"], r["cluster"]) for r in rows(run / "assignments.csv")]
    assert c3clust("predict", run, photos).stdout.replace("\r\n", "\n") == (tmp_path / "out.csv").read_text()


def test_predict_takes_one_new_picture_of_another_size(c3clust, run, tmp_path):
    (tmp_path / "new").mkdir()
    Image.new("RGB", (50, 30), "white").save(tmp_path / "new" / "x.jpg")
    assert c3clust("predict", run, tmp_path / "new").stdout.startswith("name,cluster,confidence")


def test_evaluate_from_the_run_and_from_a_file(c3clust, run, tmp_path):
    own = json.loads(c3clust("evaluate", run, "--json").stdout)
    assert own == pytest.approx(json.loads((run / "record.json").read_text())["scores"])
    labels = tmp_path / "labels.csv"
    labels.write_text("label,name\n" + "".join(f"{r['cluster']},{r['name']}\n" for r in rows(run / "assignments.csv")))
    assert json.loads(c3clust("evaluate", run, "--labels", labels, "--json").stdout)["acc"] == 1.0
    assert "ACC" in c3clust("evaluate", run).stdout


def test_names_and_merges_are_honoured_and_undone(c3clust, run, photos, tmp_path):
    assert "1: day" in c3clust("label", run, "1=day").stdout
    assert c3clust("merge", run, 1, 0).returncode == 0
    assert {r["cluster"] for r in csv.DictReader(c3clust("predict", run, photos).stdout.splitlines())} == {"1"}
    assert json.loads(c3clust("evaluate", run, "--json").stdout)["acc"] == 0.5
    assert c3clust("undo", run).returncode == 0
    exported = c3clust("export", run, "--to", tmp_path / "sorted")
    assert exported.returncode == 0, exported.stderr
    assert sum(1 for _ in (tmp_path / "sorted").rglob("*.png")) == 24
    assert c3clust("undo", run).returncode == 0
    assert c3clust("report", run).returncode == 0


def test_list(c3clust):
    assert "c3" in c3clust("list", "methods").stdout
    assert "c3-cifar10" in c3clust("list", "recipes").stdout
    assert "digits" in c3clust("list", "data").stdout


def test_json_is_all_that_is_printed(c3clust, photos, tmp_path):
    done = c3clust("fit", photos, "-k", 2, "-o", tmp_path / "r", "--method", "kmeans", "--json")
    assert json.loads(done.stdout)["run"] == str(tmp_path / "r")
    assert done.stderr == ""


def test_settings_reach_the_estimator(c3clust, photos, tmp_path):
    sets = ("--set", "zeta=0.7", "--set", "augment.policy=photo", "--set", "augment.jitter=0.1", "--set", "head=frozen")
    assert c3clust("fit", photos, "-k", 2, "-o", tmp_path / "r", *QUICK, *sets).returncode == 0
    model = load(tmp_path / "r")
    assert (model.zeta, model.head, model.augment) == (0.7, "frozen", {"policy": "photo", "jitter": 0.1})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-k", "99"], "n_clusters=99 clusters cannot be made of n_samples=24"),
        (["-k", "2", "--set", "zeta=1.4"], "zeta=1.4 is outside [-1, 1]"),
        (["-k", "2", "--set", "gamma=-1"], "gamma=-1 is outside [0, inf)"),
        (["-k", "2", "--set", "zetta=1"], "Did you mean zeta?"),
        (["-k", "2", "--set", "zeta"], "is not name=value"),
        (["-k", "2", "--method", "kmean"], "Did you mean kmeans?"),
        (["-k", "2", "--recipe", "c3-cifar11"], "Did you mean c3-cifar10?"),
        (["-k", "2", "--device", "cuda:7"], "cannot be used here"),
        ([], "The number of clusters was not given"),
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
    assert "holds another run" in done.stderr
    assert before == {path: path.stat().st_mtime_ns for path in run.iterdir()}


def test_an_unwritable_folder_is_refused(c3clust, photos, tmp_path):
    (tmp_path / "file").touch()
    done = c3clust("fit", photos, "-k", 2, "-o", tmp_path / "file" / "run")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr
    if os.geteuid() != 0:  # root may write anywhere
        tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
        assert "cannot be written" in c3clust("fit", photos, "-k", 2, "-o", tmp_path / "run").stderr


@pytest.mark.parametrize("damage", ["truncate", "swap", "json", "missing", "params"])
def test_a_damaged_model_is_refused(c3clust, run, photos, tmp_path, damage):
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("model.json", "model.safetensors", "record.json"):
        (copy / name).write_bytes((run / name).read_bytes())
    weights, meta = copy / "model.safetensors", copy / "model.json"
    if damage == "truncate":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif damage == "swap":
        weights.write_bytes(b"\x80\x04K\x01.")
    elif damage == "json":
        meta.write_text("{}")
    elif damage == "missing":
        weights.unlink()
    else:
        changed = json.loads(meta.read_text())
        changed["params"]["n_clusters"] = 10**9
        meta.write_text(json.dumps(changed))
    done = c3clust("predict", copy, photos)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_help_and_version(c3clust):
    assert c3clust("--version").stdout.startswith("c3clust 0.")
    for command in (
        "fit",
        "resume",
        "predict",
        "evaluate",
        "list",
        "report",
        "export",
        "label",
        "merge",
        "undo",
        "bench",
        "paper",
    ):
        assert "Example" in c3clust(command, "--help").stdout


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
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told.strip() == f"c3clust: stopped. Go on from the last epoch with: c3clust resume {tmp_path / 'r'}"
    done = c3clust("fit", "digits", "-k", 10, "-o", tmp_path / "r")
    assert done.returncode == 2
    assert "resume" in done.stderr
