"""The experiments: their runs are shared, their files are whole, and figures come from the CSV files alone."""

import builtins
import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics import silhouette_score

from c3clust import CC, bench, paper
from c3clust.bench.worker import SCORED
from c3clust.errors import InputError, MissingExtraError
from c3clust.paper import (
    departures,
    fig_budget,
    fig_convergence,
    fig_help,
    fig_pairs,
    fig_rates,
    fig_tsne,
    fig_zeta,
    findings,
    table,
)
from c3clust.paper import setting as settings
from c3clust.paper.values import read_rows, write_rows

FIGURES = [name for name in paper.names() if name.startswith("fig-")]


@pytest.fixture(scope="module")
def done(three_kinds, tmp_path_factory):
    """Every figure on a small file, two epochs a stage: (what was run, the folder)."""
    out, ended = tmp_path_factory.mktemp("paper"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setattr(settings, "CC_EPOCHS", 2)
        patch.setattr("c3clust.paper.fig_zeta.ZETAS", (0.6, 0.9))
        patch.setattr("c3clust.paper.fig_gamma.GAMMAS", (0.001, 0.1))
        patch.setattr(settings.Setting, "is_paper_size", True)  # leaves out the default, whose epochs are many
        setting = paper.Setting(three_kinds, (0,), out=out, c3_epochs=2)
        bench.run([job for name in FIGURES for job in paper._jobs(name, setting)], out, 1, ended.append)  # one process
        for name in FIGURES:
            paper.make(name, setting, out, 1, ended.append)
    return ended, out


def test_every_experiment_of_the_paper_is_there():
    paper_has = ["table", "fig-tsne", "fig-convergence", "fig-budget", "fig-pairs", "fig-zeta", "fig-gamma"]
    assert paper.names()[: len(paper_has)] == paper_has
    assert all(paper.title(name) for name in paper.names())


def test_each_run_is_done_once_and_shared(done):
    ended, _ = done
    assert [r.reason for r in ended if r.status == "failed"] == []
    assert len(ended) == len({r.job for r in ended})
    assert len([r for r in ended if r.job.method == "cc"]) == 2  # the start, and the same with more epochs
    assert {r.job.start.key for r in ended if r.job.start} == {next(r for r in ended if r.job.method == "cc").job.key}


def test_table_figures_and_study_share_the_runs_of_the_package():
    setting = paper.Setting("digits", (0, 1))
    found = {job.name: job for job in table.jobs(setting) if job.seed == 1}
    assert found["c3"].start.key == found["cc"].key
    in_study = {job.name: job.key for job in departures.jobs(setting) if job.seed == 1}
    assert (in_study["CC"], in_study["C3"]) == (found["cc"].key, found["c3"].key)
    in_figures = {job.key for job in [*fig_help.jobs(setting), *fig_convergence.jobs(setting)]}
    assert {found["cc"].key, found["c3"].key} <= in_figures


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_again_from_its_numbers_alone(done, name, tmp_path):
    _, out = done
    before = (out / f"{name}.png").read_bytes()
    (tmp_path / f"{name}.csv").write_bytes((out / f"{name}.csv").read_bytes())
    files = paper.redraw(name, tmp_path)
    assert [file.name for file in files] == [f"{name}.md", f"{name}.png", f"{name}.pdf"]
    assert files[0].read_text() == (out / f"{name}.md").read_text()
    assert files[1].read_bytes() == before
    assert files[2].read_bytes().startswith(b"%PDF")


def test_figures_by_epoch_show_runs_that_are_evaluated_by_epoch():
    for figure in (fig_budget, fig_convergence, fig_pairs, fig_rates, fig_zeta):
        assert {job.method for job in figure.jobs(paper.Setting("digits"))} <= set(SCORED), figure


def test_the_space_is_measured_in_z_for_every_seed(done):
    z, y = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1.0], [1, 0.9]]), np.array([0, 0, 1, 1, 0])
    found = fig_tsne._measures(z, y)
    assert found["silhouette"] == pytest.approx(silhouette_score(z, y, metric="cosine"))
    assert found["pure"] == pytest.approx((2 + 2 + 1 + 1 + 2) / 20)  # of the four others
    rows = read_rows(done[1] / "fig-tsne.csv")
    measured = [row for row in rows if row["class"] == fig_tsne.ALL]
    assert [row["name"] for row in measured] == ["CC", "C3"]
    seeds = [
        {**row, "seed": seed, "pure": row["pure"] - (row["name"] == "C3")} for row in measured for seed in range(5)
    ]
    assert [finding.holds for finding in fig_tsne.findings(seeds)][1] is False
    assert all(finding.holds is None for finding in fig_tsne.findings(rows))


def test_other_numbers_give_another_figure(done, tmp_path):
    rows = read_rows(done[1] / "fig-gamma.csv")
    write_rows(tmp_path / "fig-gamma.csv", [row | {"acc": row["acc"] / 2} for row in rows])
    assert paper.redraw("fig-gamma", tmp_path)[1].read_bytes() != (done[1] / "fig-gamma.png").read_bytes()


def test_the_numbers_are_those_of_the_runs(done):
    ended, out = done
    run = next(r for r in ended if r.job.params.get("zeta") == 0.9)
    rows = [row for row in read_rows(out / "fig-zeta.csv") if row["zeta"] == 0.9]
    start = bench.result_of(out, run.job.start)
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    assert rows[0]["acc"] == pytest.approx(start.scores["acc"], abs=1e-5)
    assert rows[2]["acc"] == pytest.approx(run.scores["acc"], abs=1e-5)
    assert [row["loss"] for row in rows[1:]] == pytest.approx(run.curve("c3", "loss"), rel=1e-4)
    assert rows[0]["loss"] == ""


def test_rates_of_pairs_are_shares(done):
    for row in read_rows(done[1] / "fig-rates.csv"):
        assert row["true_positives"] == pytest.approx(row["tp"] / (row["tp"] + row["fn"]), abs=1e-5)
        assert 0 <= row["precision"] <= 1
        assert 0 <= row["false_negatives"] <= 1


def test_longer_cc_goes_through_the_same_epochs(done):
    """The rate is constant, so CC with more epochs is CC, trained on."""
    ended, out = done
    start, longer = (r for r in ended if r.job.method == "cc")
    assert len(longer.epochs("cc")) == 4
    assert longer.notes == ["The run continues one with fewer epochs, in stage 1 after epoch 2."]
    assert [seen["pairs"] for seen in longer.epochs("cc")[:2]] == [seen["pairs"] for seen in start.epochs("cc")]
    rows = [row for row in read_rows(out / "fig-budget.csv") if row["name"] == "CC, trained on"]
    assert [row["epoch"] for row in rows] == [2, 3, 4]


def test_a_verdict_follows_from_the_interval():
    rows = [
        {"seed": seed, "epoch": epoch, "acc": 0.5 + 0.1 * epoch + 0.01 * seed} for seed in range(5) for epoch in (0, 1)
    ]
    up = findings.change(rows)
    assert up.mean == pytest.approx(0.1)
    assert (findings.side(up), findings.side(up, positive=False)) == (True, False)
    assert (findings.at_most(up, 0.2), findings.at_most(up, 0.05)) == (True, False)
    assert (findings.within(up, 0.2), findings.within(up, 0.05), findings.within(up, up.high)) == (True, False, None)
    few = findings.change(rows[:8])
    assert (findings.side(few), findings.at_most(few, 0.2), findings.within(few, 0.05)) == (None, None, None)
    assert (findings.enough(True, 5), findings.enough(False, 4)) == (True, None)
    assert [findings.both(True, v) for v in (True, False, None)] == [True, False, None]
    mixed = findings.difference(
        [{"seed": s, "acc": float(s % 2)} for s in range(6)], [{"seed": s, "acc": 0.5} for s in range(6)]
    )
    assert findings.side(mixed) is None
    text = findings.markdown([findings.Finding("it grows", "a little", None)])
    assert "| it grows | a little | open |" in text


def test_weights_fall_with_similarity_and_more_so_for_a_large_gamma(tmp_path):
    paper.make("fig-weights", paper.Setting(), tmp_path)
    rows = read_rows(tmp_path / "fig-weights.csv")
    largest = {g: max(row["weight"] for row in rows if row["gamma"] == g) for g in (0.1, 10.0)}
    assert largest == pytest.approx({0.1: np.exp(0.1), 10.0: np.exp(10.0)}, rel=1e-4)


def test_the_papers_recipe_is_the_papers_method():
    one = paper.Setting("tiny-imagenet").c3(0)
    assert (one.params["zeta"], one.params["lr"], one.params["epochs"]) == (0.95, 1e-5, 20)
    assert (one.start.params["epochs"], one.start.params["lr"]) == (1000, 3e-4)
    assert "zeta" not in paper.Setting("digits").c3(0).params
    assert paper.Setting("imagenet-10").start(0).options == {"image_size": 224}


def test_at_the_papers_size_cc_is_trained_once_for_all_experiments():
    setting = paper.Setting("cifar10", (0, 1))
    jobs = [job for name in paper.names() if name != "folders" for job in paper._load(name).jobs(setting)]
    jobs += [job.start for job in jobs if job.start]
    trained = {job.key: job for job in jobs if job.method == "cc" and job.after is None}
    assert sorted(job.params["epochs"] for job in trained.values()) == [1000, 1000]
    longer = [job for job in jobs if job.after]
    assert 1020 in {job.params["epochs"] for job in longer}
    assert {job.after.key for job in longer} == set(trained)
    in_table = {job.key for job in table.jobs(setting) if job.method == "c3"}
    assert in_table == {setting.c3(seed).key for seed in (0, 1)}


def test_all_start_from_a_network_that_is_given(three_kinds, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    start = CC(3, epochs=2, random_state=5).fit(three_kinds)
    start.save(tmp_path / "cc-0")
    setting, ended = paper.Setting(three_kinds, (0,), c3_epochs=2, network=str(tmp_path / "cc-{seed}")), []
    paper.make("fig-budget", setting, tmp_path / "out", 1, ended.append)
    assert [r.reason for r in ended if r.status == "failed"] == []
    base = next(r for r in ended if r.job.params["epochs"] == 0)
    np.testing.assert_array_equal(base.labels, start.labels_)
    rows = read_rows(tmp_path / "out" / "fig-budget.csv")
    for name in ("CC, trained on", "CC, then C3"):
        curve = [row for row in rows if row["name"] == name]
        assert [row["epoch"] for row in curve] == [0, 1, 2]
        assert curve[0]["acc"] == pytest.approx(base.scores["acc"], abs=1e-5)
    with pytest.raises(InputError, match=r"--start .*cc-1 does not exist"):
        paper.Setting(three_kinds, (1,), network=str(tmp_path / "cc-{seed}")).start(1)


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *rest):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'c3clust\[paper\]'"), paper.style.look():
        pass


def test_the_command_line_does_not_load_matplotlib():
    code = "import sys, c3clust.cli; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_command(c3clust, tmp_path):
    done = c3clust("paper", "fig-weights", "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "fig-weights.pdf").exists()
    assert c3clust("paper", "fig-weights", "-o", tmp_path, "--redraw").returncode == 0
    assert "fig-weights" in c3clust("list", "experiments").stdout
    lost = c3clust("paper", "fig-zeta", "-o", tmp_path, "--redraw")
    assert "Run the experiment first" in lost.stderr
    unknown = c3clust("paper", "fig-zetta", "-o", tmp_path)
    assert "Did you mean fig-zeta?" in unknown.stderr
    assert lost.returncode == unknown.returncode == 2


def test_an_experiment_whose_runs_all_fail_says_why(tmp_path, monkeypatch):
    job = bench.Job(str(tmp_path / "nowhere.npz"), "cc", {"n_clusters": 2})
    monkeypatch.setattr("c3clust.paper.fig_pairs.jobs", lambda _: [job])
    with pytest.raises(InputError, match=r"fig-pairs cannot be drawn: .*nowhere.npz"):
        paper.make("fig-pairs", paper.Setting("digits", (0,)), tmp_path)
