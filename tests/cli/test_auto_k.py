"""fit without -k, and one cluster: every command works on such a run."""

import json

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import make_blobs


@pytest.fixture(scope="module")
def found(tmp_path_factory, c3clust_process):
    """A finished run without -k: its folder, its file and the messages."""
    folder = tmp_path_factory.mktemp("auto")
    x, y = make_blobs(160, 6, centers=4, cluster_std=0.8, random_state=1)
    np.savez(folder / "x.npz", x=x.astype(np.float32), y=y)
    done = c3clust_process("fit", folder / "x.npz", "-o", folder / "run")
    assert done.returncode == 0, done.stderr
    return folder / "run", folder / "x.npz", done


def test_no_number_means_auto_and_one_sentence_says_so(found):
    run, _, done = found
    assert "No -k was given: the number of clusters is estimated from the data" in done.stderr
    assert "160 samples in 4 clusters" in done.stdout
    assert "4 clusters were estimated, without labels" in done.stdout
    record = json.loads((run / "record.json").read_text())
    assert (record["n_clusters"], record["params"]["n_clusters"]) == (4, "auto")
    assert record["choice"]["ks"][0] == 1
    assert len(record["choice"]["score"]) == len(record["choice"]["ks"])


def test_auto_is_the_same_without_the_sentence(found, c3clust, tmp_path):
    run, source, _ = found
    done = c3clust("fit", source, "-k", "auto", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "No -k" not in done.stderr
    assert (tmp_path / "run" / "assignments.csv").read_text() == (run / "assignments.csv").read_text()


def test_json_has_the_runner_up(found, c3clust, tmp_path):
    _, source, _ = found
    done = c3clust("fit", source, "--method", "kmeans", "-o", tmp_path / "run", "--json")
    result = json.loads(done.stdout)
    assert result["clusters_found"] == 4
    assert result["runner_up"] not in (None, 4)


def test_names_merges_and_predictions_follow(found, c3clust):
    run, source, _ = found
    assert c3clust("label", run, "0=first").returncode == 0
    assert c3clust("merge", run, "1", "2").returncode == 0
    done = c3clust("predict", run, source)
    assert done.returncode == 0, done.stderr
    assert c3clust("undo", run).returncode == 0
    assert c3clust("evaluate", run).returncode == 0


def test_a_cloud_is_one_cluster(c3clust, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(80, 5)).astype(np.float32))
    done = c3clust("fit", tmp_path / "x.npy", "-o", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "80 samples in 1 cluster" in done.stdout
    assert "the samples look like one cloud, so there is one cluster" in " ".join(done.stdout.split())
    assert c3clust("predict", tmp_path / "run", tmp_path / "x.npy").returncode == 0


def test_all_commands_work_on_one_cluster(c3clust, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 255, (16, 16, 3), dtype=np.uint8)
    (tmp_path / "photos").mkdir()
    for i in range(100):
        Image.fromarray(pixels).save(tmp_path / "photos" / f"{i}.png")
    done = c3clust("fit", tmp_path / "photos", "-o", tmp_path / "run", "--method", "kmeans")
    assert done.returncode == 0, done.stderr
    assert "100 images in 1 cluster" in done.stdout
    assert "All samples are the same: there is one cluster." in done.stdout
    (tmp_path / "labels.csv").write_text("name,label\n" + "".join(f"{i}.png,a\n" for i in range(100)))
    for words in (
        ("report", tmp_path / "run"),
        ("predict", tmp_path / "run", tmp_path / "photos"),
        ("evaluate", tmp_path / "run", "--labels", tmp_path / "labels.csv"),
        ("export", tmp_path / "run", "--to", tmp_path / "sorted"),
        ("label", tmp_path / "run", "0=all"),
    ):
        done = c3clust(*words)
        assert done.returncode == 0, (words, done.stderr)


def test_bench_takes_auto(found, c3clust, tmp_path):
    _, source, _ = found
    done = c3clust("bench", source, "-k", "auto", "--methods", "kmeans", "--seeds", "0", "-o", tmp_path / "bench")
    assert done.returncode == 0, done.stderr
    record = json.loads(next((tmp_path / "bench").rglob("record.json")).read_text())
    assert record["n_clusters"] == 4
