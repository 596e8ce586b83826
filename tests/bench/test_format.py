"""Tables from results: means, spreads, the best, the cited, and what went wrong."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from c3clust.bench import Job, Result
from c3clust.bench.format import latex, markdown, write
from c3clust.bench.statistics import in_order, rows


def result(method, seed, acc, data="digits", name="", status="ok", reason=""):
    scores = None if acc is None else {"acc": acc, "nmi": acc / 2, "ari": acc / 4}
    job = Job(data, method, {"n_clusters": 10}, seed, name)
    return Result(job, Path("nowhere"), status, reason, scores, None, 30.0 if scores else 0.0, 20.0 if scores else 0.0)


@pytest.fixture(scope="module")
def results():
    return [
        *(result("cc", seed, 0.5 + seed / 10) for seed in range(3)),
        *(result("c3", seed, 0.7 + seed / 10) for seed in range(3)),
        result("dec", 0, 0.1, status="collapsed", reason="The labels use only 1.0 of 10 clusters."),
        result("dec", 1, None, status="failed", reason="Its process was ended by SIGKILL."),
        result("vae", 0, None, status="diverged", reason="The loss is not finite."),
    ]


def test_mean_spread_and_the_best_in_bold(results):
    text = markdown(rows(results))
    assert "| CC | 0.600 ± 0.100 | 0.300 ± 0.050 | 0.150 ± 0.025 | 30 s | 20 s | 3 |" in text
    assert "| C3 | **0.800 ± 0.100** | **0.400 ± 0.050** | **0.200 ± 0.025** | 30 s | 20 s | 3 |" in text
    assert "cited" not in text


def test_what_went_wrong_is_told_with_its_reason(results):
    text = markdown(rows(results))
    assert "| DEC | 0.100 | 0.050 | 0.025 | 30 s | 20 s | 2 (1 collapsed, 1 failed) |" in text
    assert "| VAE | – | – | – | – | – | 1 (1 diverged) |" in text
    assert "- DEC, seed 0: collapsed. The labels use only 1.0 of 10 clusters." in text
    assert "- DEC, seed 1: failed. Its process was ended by SIGKILL." in text
    assert "- VAE, seed 0: diverged. The loss is not finite." in text


def test_the_papers_numbers_stand_beside_ours_and_are_marked():
    table = rows([result("c3", 0, 0.9, "cifar10"), result("c3", 0, 0.8, "cifar10", name="C3, ours")])
    text = markdown(table)
    assert "| C3 | **0.900** | **0.450** | **0.225** | 30 s | 20 s | 1 | 0.836 | 0.743 | 0.703 |" in text
    assert "| C3, ours | 0.800 | 0.400 | 0.200 | 30 s | 20 s | 1 | – | – | – |" in text
    assert "| DAC | – | – | – | – | – | cited | 0.522 | 0.396 | 0.306 |" in text
    assert "not run here" in text
    assert r"\textit{0.836}" in latex(table)
    assert "Cited EDESC: NMI" in markdown(rows([result("edesc", 0, 0.5, "cifar10")]))


def test_a_new_method_finds_its_cited_scores_by_its_name():
    text = markdown(rows([result("iic", 0, 0.6, "cifar10"), result("scan", 0, 0.8, "cifar10")]))
    assert "| IIC | 0.600 | 0.300 | 0.150 | 30 s | 20 s | 1 | 0.617 | – | – |" in text
    assert "| IIC | – |" not in text
    some = ("cc", "dac", "dec", "iic", "scan")
    assert [name for name in in_order() if name in some] == ["dec", "dac", "iic", "scan", "cc"]


def test_latex_is_escaped_and_complete(results):
    text = latex(rows([*results, result("ae", 0, 0.3, name="50 % & more_or_less")]))
    assert r"50 \% \& more\_or\_less & 0.300" in text
    assert r"\textbf{0.800 $\pm$ 0.100}" in text
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    assert "% DEC, seed 1: failed." in text


def test_files(results, tmp_path):
    write(tmp_path, results, [("c3", "cc")])
    means = {row["name"]: row for row in csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text()))}
    assert list(means) == ["VAE", "DEC", "CC", "C3"]
    assert (means["CC"]["n"], float(means["CC"]["acc_mean"]), means["VAE"]["acc_mean"]) == ("3", 0.6, "")
    runs = list(csv.DictReader(io.StringIO((tmp_path / "runs.csv").read_text())))
    assert [run["status"] for run in runs] == [r.status for r in results]
    differences = list(csv.DictReader(io.StringIO((tmp_path / "differences.csv").read_text())))
    both = [d for d in differences if (d["first"], d["second"], d["metric"]) == ("CC", "C3", "acc")]
    assert float(both[0]["mean"]) == pytest.approx(-0.2)
    assert "| C3 − CC | +0.200 (min +0.200, max +0.200), n = 3 |" in (tmp_path / "table.md").read_text()


def test_the_csv_file_has_the_order_of_the_tables(tmp_path):
    write(tmp_path, [result(method, 0, 0.5, data) for method in ("cc", "c3") for data in ("digits", "mnist-10k")])
    table = list(csv.DictReader(io.StringIO((tmp_path / "table.csv").read_text())))
    pairs = [("digits", "CC"), ("digits", "C3"), ("mnist-10k", "CC"), ("mnist-10k", "C3")]
    assert [(row["data"], row["name"]) for row in table] == pairs


def test_rows_on_features_of_an_encoder_have_a_table_of_their_own(results):
    featured = [
        replace(result("c3", seed, 0.9), encoder="EfficientNet-Lite0, trained with labels") for seed in range(3)
    ]
    text = markdown(rows([*results, *featured]), [("c3", "cc")])
    plain, other = text.split("**digits, features of EfficientNet-Lite0, trained with labels**")
    assert "0.900" not in plain
    assert "| C3 | **0.900" in other
    assert "| CC |" not in other
