"""The paper's composite tables and figures: several datasets at once, cited numbers beside ours."""

import csv
import io
from pathlib import Path

import pytest

from c3clust import paper
from c3clust.bench import Job, Result
from c3clust.bench.paper_table import five
from c3clust.bench.statistics import rows as table_rows
from c3clust.errors import InputError
from c3clust.paper import fig_convergence, fig_zeta, table
from c3clust.paper.values import write_rows


def result(data, method, seed, acc, name=""):
    scores = {"acc": acc, "nmi": acc / 2, "ari": acc / 4}
    return Result(Job(data, method, {"n_clusters": 10}, seed, name), Path("nowhere"), "ok", "", scores)


def curve(data, name, acc, **more):
    return [{"data": data, "name": name, "seed": 0, "epoch": e, "acc": acc + e / 100, "nmi": acc, "ari": acc, **more}
            for e in range(3)]  # fmt: skip


def test_the_table_of_five_has_the_cited_scores_and_ours_below():
    ours = [result("cifar10", "c3", seed, 0.8 + seed / 10) for seed in (0, 1)]
    text, numbers = five(
        table_rows([*ours, result("tiny-imagenet", "c3", 0, 0.1, "C3, ours"), result("digits", "c3", 0, 1)])
    )
    lines = text.splitlines()
    assert lines[0] == "| NMI ACC ARI | CIFAR-10 | CIFAR-100 | ImageNet-10 | ImageNet-Dogs | Tiny-ImageNet |"
    cited = "| C3 | .743 .836 .703 | .435 .456 .274 | .905 .943 .860 | .447 .434 .280 | .335 .140 .064 |"
    below = "| C3 (ours) | 0.425 ± 0.035, 0.850 ± 0.071, 0.213 ± 0.018; n = 2 | – | – | – | – |"
    assert lines[lines.index(cited) + 1] == below
    assert "| ADC | – .325 – | – .160 – | – | – | – |" in lines
    assert "| C3, ours (ours) | – | – | – | – | 0.050, 0.100, 0.025; n = 1 |" in lines
    assert sum(line.startswith("| CC") for line in lines) == 1
    rows = list(csv.DictReader(io.StringIO(numbers)))
    assert {"data": "cifar10", "name": "C3", "from": "ours", "n": "2", "acc": "0.85", "nmi": "0.425",
            "ari": "0.2125"} in rows  # fmt: skip
    assert "Cited DCCM, ImageNet-Dogs: the original DCCM paper has .383." in text


def test_methods_of_the_table_can_be_chosen():
    some = table.jobs(paper.Setting("cifar10", (0,), methods=("kmeans", "cc")))
    assert [job.method for job in some] == ["kmeans", "cc"]
    assert {job.method for job in table.jobs(paper.Setting("digits", (0,), methods=("kmeans",)))} == {"kmeans"}


def test_several_datasets_are_for_some_experiments_only(tmp_path):
    setting = paper.Setting("cifar10", (0,))
    with pytest.raises(InputError, match=r"fig-pairs shows one dataset: .* table, fig-convergence, fig-zeta"):
        paper.make("fig-pairs", setting, tmp_path, others=[paper.Setting("cifar100", (0,))])


def test_the_released_log_is_cited_on_cifar10():
    rows = fig_convergence.rows(paper.Setting("cifar10", (0,)), [])
    assert {row["name"] for row in rows} == {fig_convergence.RELEASED}
    assert [row["epoch"] for row in rows] == list(range(20))
    assert (round(rows[0]["acc"], 3), round(rows[-1]["acc"], 3)) == (0.770, 0.841)
    assert fig_convergence.rows(paper.Setting("cifar100", (0,)), []) == []
    assert fig_convergence.findings(rows) == []  # it is no measurement of ours


def test_convergence_of_four_datasets_is_one_figure(tmp_path):
    pytest.importorskip("matplotlib")
    sets = ("cifar10", "cifar100", "imagenet-10", "a/place/of/mine.npz")
    rows = [row for i, data in enumerate(sets) for row in curve(data, "C3 as published", i / 10)]
    rows += [{"data": "cifar10", **row} for row in fig_convergence.released()]
    write_rows(tmp_path / "fig-convergence.csv", rows)
    axes = fig_convergence.draw(rows).get_axes()
    assert [axis.get_title("left") or axis.get_title() for axis in axes[:4]] == [*sets[:3], "mine.npz"]
    assert [len(axis.get_lines()) for axis in axes] == [2, 1, 1, 1] * 2
    assert [line[:10] for line in paper.redraw("fig-convergence", tmp_path)[0].read_text().splitlines()[2:]]
    assert len(fig_convergence.findings(rows)) == 4


def test_zeta_on_two_datasets_has_a_line_of_panels_for_each(tmp_path):
    pytest.importorskip("matplotlib")
    rows = []
    for data, zetas in (("cifar10", fig_zeta.ZETAS), ("tiny-imagenet", fig_zeta.ZETAS_OF_MANY)):
        for zeta in zetas:
            rows += curve(data, "", zeta, zeta=zeta, loss=-1.0, positives_per_view=5.0)
    axes = fig_zeta.draw(rows).get_axes()
    assert [len(axis.get_lines()) for axis in axes] == [6] * 4 + [4] * 4
    colours = [{line.get_label(): line.get_color() for line in axis.get_lines()} for axis in (axes[0], axes[4])]
    assert colours[0]["ζ = 0.9"] == colours[1]["ζ = 0.9"]  # the same in both lines
    assert len(set((colours[0] | colours[1]).values())) == 8
    claims = [finding.claim.partition(":")[0] for finding in fig_zeta.findings(rows)]
    assert claims == ["cifar10"] * 3 + ["tiny-imagenet"] * 2
    assert fig_zeta.findings(rows)[-2].claim == "tiny-imagenet: more clusters need a larger ζ"  # and no other of the 3
    assert fig_zeta.findings(rows)[-1].claim == "tiny-imagenet: ζ = 0.95 is a good balance"
