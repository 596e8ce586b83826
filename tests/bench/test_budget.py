"""Budgets: what a fit costs, how many epochs that leaves, and runs that keep to them."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from c3clust import data, methods
from c3clust.bench import Job, Result, budget, remember, result_of, run
from c3clust.bench.budget import Cost, Meter, allowance, share_of
from c3clust.bench.format import markdown
from c3clust.bench.plan import plan
from c3clust.bench.statistics import rows
from c3clust.runs import Run

SMALL = {"n_clusters": 3, "batch_size": 4}


@pytest.fixture(scope="module")
def samples(three_kinds):
    return data.load(three_kinds)


def measured(job, samples, place):
    """The allowance of a job, and the meter that measured it."""
    meters = []

    def fit(folder, make):
        def keep(*args):
            meters.append(make(*args))
            return meters[-1]

        return methods.find(job.method)(**job.params, random_state=0).fit(
            samples, run_dir=Run(folder, page=False, checkpoints=keep)
        )

    return allowance(place, job, fit), meters


def test_the_share_is_what_is_left_beside_the_fixed_work():
    costs = [Cost(20, 4.0, 0), Cost(10, 2.0, 0)]
    assert share_of(60, 10, costs) == 0.5
    assert share_of(1000, 10, costs) == 1
    assert share_of(5, 10, costs) == 0
    assert share_of(5, 10, []) == 1


TWO = {"cc_epochs": 9, "epochs": 4}
BOTH = {"pretrain_epochs": 9, "epochs": 4}
STAGES = {
    "dec": (BOTH | {"pretrain_batch_size": 4, "hidden": (8,)}, [9, 4], BOTH),
    "c3": (TWO, [9, 4], TWO),
    "scan": (BOTH, [9, 4, 4], BOTH),
    "mmdc": ({"epochs": 8}, [7, 1], {"epochs": 8}),
}  # fmt: skip


@pytest.mark.parametrize("method", STAGES)
def test_each_stage_is_measured_on_its_last_two_epochs(method, samples, tmp_path, monkeypatch):
    monkeypatch.setattr(Meter, "most_steps", 3)
    params, stages, epochs = STAGES[method]
    found, (*_, meter) = measured(Job("x", method, {**SMALL, **params}, budget=1e6), samples, tmp_path)
    assert [cost.epochs for cost in meter.costs] == stages
    assert all(cost.seconds > 0 for cost in meter.costs)
    assert (found.share, found.epochs) == (1.0, epochs)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", methods.names())
def test_epochs_of_a_first_stage_are_known_by_their_parameter(name):
    context = SimpleNamespace(x=range(500), shape=(1, 8, 8), epochs={})
    if not methods.load(name)()._stages(context):
        pytest.skip("its stages are not known before")
    found = {parameter for parameter in methods.parameters(name) if parameter.endswith("epochs")}
    assert found - context.epochs.keys() <= {"fuzzy_epochs", "self_label_epochs", "semi_epochs"}  # as many as `epochs`


def test_the_time_of_steps_that_were_left_out_is_counted(monkeypatch, tmp_path):
    """A clock of 1 s per call: with 10 of 16 steps left out, an epoch costs 10 steps more than was seen."""
    clock = iter(range(1000))
    monkeypatch.setattr(budget.time, "process_time", lambda: float(next(clock)))
    monkeypatch.setattr(budget.Checkpoints, "save", lambda self, stage, training: None)
    monkeypatch.setattr(budget.Checkpoints, "save_end", lambda self, *rest: None)
    meter, state = Meter(tmp_path), type("State", (), {"epochs": 9, "steps": 16, "epoch": 0})()
    assert meter.restore(0, state) is False
    assert state.epoch == 7
    for _ in range(2):
        for _ in range(6):
            assert meter.due() is False
        meter.save(0, state)
    meter.save_end(0, None, None, {})
    assert meter.costs == [Cost(9, 7.0 + 10, 14.0)]


def test_auto_is_resolved_reduced_and_written_down_once(samples, tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "share_of", lambda *args: 0.1)
    job = Job("x", "scan", SMALL, budget=1.0)
    found, _ = measured(job, samples, tmp_path)
    assert found.epochs == {"pretrain_epochs": 3, "epochs": 1}  # a tenth of 420 and 200 steps, 12 in an epoch
    assert measured(job, samples, tmp_path) == (found, [])
    assert measured(replace(job, method="kmeans", params={"n_clusters": 3}), samples, tmp_path.parent)[0].epochs == {}


def test_a_job_keeps_to_its_budget_in_all_seeds_and_repeats_exactly(three_kinds, tmp_path):
    jobs = plan([three_kinds], ["ae", "kmeans"], [0, 1], 3, ["ae.hidden=[8]", "ae.epochs=4000"], budget=1.5)
    assert [job.budget for job in jobs] == [1.5] * 4
    assert jobs[0].key != replace(jobs[0], budget=None).key != replace(jobs[0], budget=2.0).key
    assert Job.from_plain(jobs[0].plain()) == jobs[0]
    results = run(jobs, tmp_path)
    assert [r.status for r in results] == ["ok"] * 4, [r.reason for r in results]
    one, two, plain, _ = results
    assert 0 < one.share < 1
    assert 1 <= one.allowed["epochs"] < 4000
    assert (one.share, one.allowed) == (two.share, two.allowed)
    assert (plain.allowed, plain.share) == ({}, 1.0)
    (again,) = run([replace(jobs[0], params=jobs[0].params | one.allowed, budget=None)], tmp_path)
    assert (again.labels == one.labels).all()
    text = markdown(rows(results))
    assert "1.5 s of CPU time per run" in text
    assert f"| {one.share:.0%} | 2 |" in text
    assert "| – | 2 |" in text


def test_c3_by_views_trains_its_own_cc_within_its_budget():
    (job,) = plan(["digits"], ["c3"], [0], recipe="c3-digits", budget=30)
    assert job.start is None
    assert job.params["cc_epochs"] == 60
    assert plan(["digits"], ["c3"], [0], recipe="c3-digits")[0].start is not None


def test_budgets_have_tables_of_their_own(tmp_path):
    jobs = [Job("digits", "kmeans", {}, budget=budget) for budget in (None, 10.0, 20.0)]
    assert remember(tmp_path, jobs) == jobs
    scores = {"acc": 0.5, "nmi": 0.5, "ari": 0.5}
    text = markdown(rows([Result(job, tmp_path, "ok", scores=scores) for job in jobs]))
    assert text.count("| K-means |") == 3
    assert result_of(tmp_path, jobs[1]).status == "missing"


def test_a_budget_of_nothing_is_refused(c3clust, three_kinds, tmp_path):
    done = c3clust("bench", three_kinds, "--budget", "0", "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "budget=0.0 is outside" in done.stderr


def test_a_share_is_of_every_stage_and_of_the_cc_that_c3_starts_from(three_kinds, tmp_path):
    settings = ["c3.cc_epochs=5", "c3.epochs=5", "scan.pretrain_epochs=10", "scan.epochs=5"]
    c3, scan = plan([three_kinds], ["c3", "scan"], [100], 3, settings, share=0.6)
    assert c3.start.share == c3.share == scan.share == 0.6
    assert len({scan.key, replace(scan, share=0.5).key, replace(scan, share=None).key}) == 3
    assert Job.from_plain(c3.plain()) == c3
    results = run([c3, scan], tmp_path)
    assert [r.status for r in results] != ["failed"] * 2
    assert [r.allowed for r in results] == [{"epochs": 3}, {"pretrain_epochs": 6, "epochs": 3}]
    assert results[0].start.allowed == {"epochs": 3}
    assert [stage["epochs"] for stage in results[1].record.stages] == [6, 3, 3]
    assert "60% of the epochs of each method" in markdown(rows(results))


def test_a_share_and_a_budget_are_refused_together(c3clust, three_kinds, tmp_path):
    done = c3clust("bench", three_kinds, "--budget", "9", "--share", "0.6", "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "give one of them" in done.stderr
