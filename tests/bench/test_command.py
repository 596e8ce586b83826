"""`c3clust bench` as a user meets it."""

import json

import numpy as np
import pytest


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "x.npz"
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    np.savez(path, x=(rng.random((40, 6)) + 3 * y[:, None]).astype(np.float32), y=y)
    return path


def test_rows_add_up_and_a_run_that_diverges_or_fails_is_in_the_table(c3clust, place, tmp_path):
    out = tmp_path / "out"
    words = ("bench", place, "-o", out, "--seeds", 0, 1)
    done = c3clust(*words, "--methods", "kmeans", "cc", "--set", "cc.lr=1e30", "--set", "cc.epochs=2")
    assert done.returncode == 0, done.stderr
    assert "| K-means | **1.000 ± 0.000** |" in done.stdout
    assert "| CC | – | – | – | – | – | 2 (2 diverged) |" in done.stdout
    assert "seed 0: diverged. The loss of stage" in done.stdout
    assert len(done.stderr.splitlines()) == 4
    more = c3clust(*words, "--methods", "nmf", "-k", 99)
    assert more.returncode == 1
    assert len(more.stderr.splitlines()) == 2
    text = (out / "table.md").read_text()
    assert text == c3clust("bench", "-o", out, "--no-run").stdout.split("Tables:")[0].rstrip() + "\n"
    assert "2 (2 failed)" in text
    assert "| CC | –" in text
    assert [job["name"] for job in json.loads((out / "jobs.json").read_text())["jobs"]] == ["kmeans"] * 2 + [
        "cc"
    ] * 2 + ["nmf"] * 2


def test_mistakes_are_one_sentence(c3clust, place, tmp_path):
    for words, message in [
        ((place, "--methods", "kmean"), "Did you mean kmeans?"),
        ((place, "--seeds", "one"), "is not a seed"),
        ((place, "--compare", "c3"), "--compare takes two methods"),
        ((place, "--set", "zeta=1"), "method 'zeta=1' is unknown"),
        (("nowhere",), "neither a path"),
    ]:
        done = c3clust("bench", *words, "-o", tmp_path / "out")
        assert done.returncode == 2
        assert message in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_all_methods_on_the_features_of_an_encoder(c3clust, place, tmp_path):
    out = tmp_path / "out"
    run = tmp_path / "teacher"
    assert c3clust("fit", place, "-k", 2, "-o", run, "--method", "cc", "--set", "epochs=1", "-q").returncode == 0
    words = ("bench", place, "-o", out, "--seeds", 0, "--methods", "kmeans", "ac")
    assert c3clust(*words).returncode == 0
    done = c3clust(*words, "--encoder", run)
    assert done.returncode == 0, done.stderr
    runs = out / "runs"
    assert [path.parent.parent for path in runs.rglob("c3clust-features")] == [runs]  # all methods share them
    plain, other = done.stdout.split("features of ", 1)
    for part in (plain, other):
        assert "| K-means |" in part
        assert "| AC |" in part
