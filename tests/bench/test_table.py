"""Tables from results: means, spreads, the best, the cited, and what went wrong."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from c3clust.bench import Job, Result, folder_of, result_of, table
from c3clust.bench.job import write_result
from c3clust.bench.plan import numbers, plan
from c3clust.errors import InputError


def result(method, seed, acc, data="digits", name="", status="ok", reason=""):
    scores = None if acc is None else {"acc": acc, "nmi": acc / 2, "ari": acc / 4}
    job = Job(data, method, {"n_clusters": 10}, seed, name)
    return Result(job, Path("nowhere"), status, reason, scores, None, 30.0 if scores else 0.0, 20.0 if scores else 0.0)


@pytest.fixture(scope="module")
def results():
    return [
        *(result("cc", seed, 0.5 + seed / 10) for seed in range(3)),
        *(result("c3", seed, 0.7 + seed / 10) for seed in range(3)),
        result("dec", 0, 0.1, status="collapsed", reason="The labels make up 1.0 of 10 clusters."),
        result("dec", 1, None, status="failed", reason="Its process was ended by SIGKILL."),
        result("vae", 0, None, status="diverged", reason="The loss is not finite."),
    ]


def test_mean_spread_and_the_best_in_bold(results):
    text = table.markdown(table.rows(results))
    assert "| CC | 0.600 ± 0.100 | 0.300 ± 0.050 | 0.150 ± 0.025 | 30 s | 20 s | 3 |" in text
    assert "| C3 | **0.800 ± 0.100** | **0.400 ± 0.050** | **0.200 ± 0.025** | 30 s | 20 s | 3 |" in text
    assert "cited" not in text


def test_what_went_wrong_is_told_with_its_reason(results):
    text = table.markdown(table.rows(results))
    assert "| DEC | 0.100 | 0.050 | 0.025 | 30 s | 20 s | 2 (1 collapsed, 1 failed) |" in text
    assert "| VAE | – | – | – | – | – | 1 (1 diverged) |" in text
    assert "- DEC, seed 0: collapsed. The labels make up 1.0 of 10 clusters." in text
    assert "- DEC, seed 1: failed. Its process was ended by SIGKILL." in text
    assert "- VAE, seed 0: diverged. The loss is not finite." in text


def test_the_papers_numbers_stand_beside_ours_and_are_marked():
    rows = table.rows([result("c3", 0, 0.9, "cifar10"), result("c3", 0, 0.8, "cifar10", name="C3, ours")])
    text = table.markdown(rows)
    assert "| C3 | **0.900** | **0.450** | **0.225** | 30 s | 20 s | 1 | 0.836 | 0.743 | 0.703 |" in text
    assert "| C3, ours | 0.800 | 0.400 | 0.200 | 30 s | 20 s | 1 | – | – | – |" in text
    assert "| DAC | – | – | – | – | – | cited | 0.522 | 0.396 | 0.306 |" in text
    assert "not run here" in text
    assert r"\textit{0.836}" in table.latex(rows)


def test_latex_is_escaped_and_complete(results):
    text = table.latex(table.rows([*results, result("ae", 0, 0.3, name="50 % & more_or_less")]))
    assert r"50 \% \& more\_or\_less & 0.300" in text
    assert r"\textbf{0.800 $\pm$ 0.100}" in text
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    assert "% DEC, seed 1: failed." in text


def test_the_time_of_a_run_counts_its_start(tmp_path):
    start = Job("digits", "cc", {})
    job = Job("digits", "c3", {}, start=start)
    for one, seconds in ((start, 50.0), (job, 7.0)):
        folder_of(tmp_path, one).mkdir(parents=True)
        write_result(folder_of(tmp_path, one), "ok", scores={"acc": 1.0, "nmi": 1.0, "ari": 1.0}, seconds=seconds)
    (row,) = table.rows([result_of(tmp_path, job)])
    assert row.seconds() == 57.0
    assert row.seconds("processor_seconds") is None


def test_files(results, tmp_path):
    table.write(tmp_path, results, [("c3", "cc")])
    means = {row["name"]: row for row in csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text()))}
    assert list(means) == ["VAE", "DEC", "CC", "C3"]
    assert (means["CC"]["n"], float(means["CC"]["acc_mean"]), means["VAE"]["acc_mean"]) == ("3", 0.6, "")
    runs = list(csv.DictReader(io.StringIO((tmp_path / "runs.csv").read_text())))
    assert [run["status"] for run in runs] == [r.status for r in results]
    differences = list(csv.DictReader(io.StringIO((tmp_path / "differences.csv").read_text())))
    both = [d for d in differences if (d["first"], d["second"], d["metric"]) == ("CC", "C3", "acc")]
    assert float(both[0]["mean"]) == pytest.approx(-0.2)
    assert "| C3 − CC | +0.200 [+0.200, +0.200], n = 3 |" in (tmp_path / "table.md").read_text()


def test_the_interval_covers_the_true_difference_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    found = [table.paired(rng.normal(0.1, 0.05, 30), rng.normal(0, 0.05, 30), 500) for _ in range(200)]
    assert 0.88 < np.mean([d.low <= 0.1 <= d.high for d in found]) < 0.99
    assert all(d.low <= d.mean <= d.high for d in found)


def test_the_plan_of_a_bench():
    jobs = plan(["digits"], ["kmeans", "cc", "c3"], [0, 1], settings=["c3.zeta=0.7", "cc.augment.policy=none"])
    assert [(job.method, job.seed) for job in jobs][:3] == [("kmeans", 0), ("kmeans", 1), ("cc", 0)]
    assert jobs[-1].params == {"zeta": 0.7, "n_clusters": 10}
    assert jobs[2].params["augment"] == {"policy": "none"}
    assert table.in_order()[0] == "kmeans"
    assert table.in_order()[-2:] == ["cc", "c3"]
    with pytest.raises(InputError, match="Did you mean c3"):
        plan(["digits"], ["c33"], [0])
    with pytest.raises(InputError, match="not a seed"):
        numbers("0,x")


def test_a_recipe_reaches_each_method_as_far_as_it_concerns_it():
    c3, cc, simclr, kmeans = (
        plan(["cifar10"], [name], [0], recipe="c3-cifar10")[0] for name in ("c3", "cc", "simclr", "kmeans")
    )
    assert (c3.params["cc_epochs"], c3.params["epochs"], c3.params["zeta"]) == (1000, 20, 0.6)
    assert (cc.params["epochs"], cc.params["warmup"], cc.params["lr"]) == (1000, 0, 3e-4)
    assert "epochs" not in simclr.params
    assert simclr.params["backbone"] == "resnet34"
    assert kmeans.params == {"n_clusters": 10}
    assert c3.options == {"image_size": 224}


def test_rows_on_features_of_an_encoder_have_a_table_of_their_own(results):
    featured = [
        replace(result("c3", seed, 0.9), encoder="EfficientNet-Lite0, trained with labels") for seed in range(3)
    ]
    text = table.markdown(table.rows([*results, *featured]), [("c3", "cc")])
    plain, other = text.split("**digits, features of EfficientNet-Lite0, trained with labels**")
    assert "0.900" not in plain
    assert "| C3 | **0.900" in other
    assert "| CC |" not in other
