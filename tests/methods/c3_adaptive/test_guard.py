"""The guard: it stops what goes wrong, gives back what was healthy, and leaves a healthy run alone."""

import json

import numpy as np
import pytest
import torch

from c3clust import CC, C3Adaptive, acc, data
from c3clust.methods.c3 import positives_per_view
from c3clust.methods.c3_adaptive.guard import Guard, effective_clusters, expected_positives
from c3clust.report.findings import Facts, findings
from c3clust.runs import Run


def epoch(positives=25.0, sizes=(50, 50), changed=0.01, loss=-1.0, uncertainty=0.1):
    return {
        "loss": [loss],
        "positives_per_view": [positives],
        "cluster_sizes": [list(sizes)],
        "labels_changed": [changed],
        "assignment_entropy": [uncertainty],
    }


@pytest.fixture
def network():
    return torch.nn.Linear(2, 2)


@pytest.fixture
def watch(network):
    """A guard of a stage that begins with ten clusters of ten samples, 100 views a batch: 11.8 positives expected."""
    made = Guard()
    made.begin(network, torch.arange(100) % 10, 10, 100)
    return made


EVEN = (10,) * 10


def test_figures():
    assert expected_positives([10] * 10, 256) == pytest.approx(2 + 254 / 10)
    assert expected_positives([99, 1], 256) == pytest.approx(2 + 254 * (0.99**2 + 0.01**2))
    assert effective_clusters(EVEN) == pytest.approx(10)
    assert effective_clusters([7, 0, 0]) == 1


def test_an_overfull_epoch_goes_on_but_is_not_gone_back_to(watch, network):
    for number, positives in enumerate((12.0, 14.0), 1):
        assert not watch.stops(network, epoch(positives, EVEN), number)
    assert watch.stops(network, epoch(90.0, EVEN), 3)
    assert watch.decision["returned"] == 1


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ({"positives": 90.0}, "clusters merge"),
        ({"sizes": (91, 1, 1, 1, 1, 1, 1, 1, 1, 1)}, "clusters vanish"),
        ({"sizes": (20,) * 5 + (0,) * 5}, "clusters vanish"),
        ({"changed": 0.8}, "stage 1 is forgotten"),
        ({"loss": float("nan")}, "not finite"),
        ({"loss": float("inf")}, "not finite"),
        ({"uncertainty": float("nan")}, "not finite"),
    ],
)
def test_what_stops_a_stage(watch, network, what, why):
    before = {name: t.clone() for name, t in network.state_dict().items()}
    assert not watch.stops(network, epoch(sizes=EVEN, positives=11.0), 1)
    with torch.no_grad():
        network.weight.add_(1)
    curves = epoch(**({"sizes": EVEN, "positives": 11.0} | what))
    assert watch.stops(network, curves, 2)
    watch.restore(network)
    assert all(torch.equal(before[name], t) for name, t in network.state_dict().items())
    told = watch.report(curves, "c3")
    assert told["returned"] == 1
    assert why in told["told"][0]
    assert "after epoch 2" in told["told"][0]
    json.dumps(told, allow_nan=False)


@pytest.mark.parametrize("n_clusters", [10, 50, 200])
@pytest.mark.parametrize("merged", [1, 2])
def test_perfect_clusters_of_any_size_pass_and_clusters_merged_in_pairs_do_not(network, n_clusters, merged):
    """Positives as the loss counts them, in batches of 128 where all views of a cluster are at one point."""
    labels = torch.arange(10_000) % n_clusters
    guard = Guard()
    guard.begin(network, labels, n_clusters, 256)
    points = torch.eye(n_clusters)[labels // merged]
    order = torch.randperm(10_000, generator=torch.Generator().manual_seed(0))[: 78 * 128].view(78, 128)
    positives = np.mean([positives_per_view(points[i], points[i], 0.95).item() for i in order])
    sizes = torch.bincount(labels).tolist()
    assert guard.stops(network, epoch(positives, sizes), 1) == (merged == 2)
    if merged == 1:
        assert guard.epoch == 1  # kept as healthy
        assert guard.report(epoch(positives, sizes), "c3")["told"] == []


def test_weights_that_are_not_finite_stop_a_stage(watch, network):
    with torch.no_grad():
        network.bias[0] = torch.nan
    assert watch.stops(network, epoch(sizes=EVEN, positives=11.0), 1)
    watch.restore(network)
    assert network.bias.isfinite().all()


def test_what_is_only_told(watch, network):
    curves = {name: 2 * curve for name, curve in epoch(positives=2.0, sizes=(11,) * 9 + (0,), changed=0.1).items()}
    assert not watch.stops(network, curves, 1)
    told = " ".join(watch.report(curves, "c3")["told"])
    assert "almost no positives (2.0 per view, 12 expected)" in told
    assert "emptied 1 of 10 clusters: 9" in told
    assert "10.0% of the labels still changed" in told


def test_a_guard_comes_back_from_a_checkpoint(watch):
    other = Guard()
    other.load_state_dict(watch.state_dict())
    assert (other.sizes, other.views, other.epoch) == (watch.sizes, watch.views, watch.epoch)
    assert all(torch.equal(a, other.healthy[name]) for name, a in watch.healthy.items())


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).random((56, 8, 8)).astype(np.float32)


def test_a_run_that_diverges_gives_back_its_start(x, tmp_path):
    images = data.load(x)
    params = {"n_clusters": 3, "cc_epochs": 2, "epochs": 2, "batch_size": 16, "zeta": 0.8, "lr": 1e30}
    run = Run(tmp_path / "run")
    fitted = C3Adaptive(**params, random_state=0).fit(images, run_dir=run)
    record = run.record
    assert record.stages[-1]["guard"]["decision"]["returned"] == 0
    assert record.notes[0].startswith("The guard stopped stage c3 after epoch 1")
    np.testing.assert_array_equal(fitted.labels_, fitted.start_labels_)
    found = findings(Facts(record, dict(enumerate(np.bincount(fitted.labels_, minlength=3).tolist()))))
    assert any(f.kind == "stopped" and f.level == "warn" for f in found)
    assert record.notes[0] in (tmp_path / "run" / "report.html").read_text()


def test_without_a_guard_it_is_an_error(x):
    from c3clust.errors import TrainingError

    with pytest.raises(TrainingError, match=r"Use a learning rate below 1e\+30"):
        C3Adaptive(3, cc_epochs=0, epochs=1, batch_size=16, lr=1e30, guard=False, random_state=0).fit(x)


def test_the_switch_of_the_command_line(c3clust, x, tmp_path):
    np.save(tmp_path / "x.npy", x)
    quick = ("--set", "cc_epochs=1", "--set", "epochs=1", "-q", "--no-guard")
    assert c3clust("fit", tmp_path / "x.npy", "-k", 2, "-o", tmp_path / "run", *quick).returncode == 0
    stages = json.loads((tmp_path / "run" / "record.json").read_text())["stages"]
    assert all("guard" not in stage for stage in stages)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_on_digits(tmp_path_factory):
    """zeta = 0.2 and a rate of 1e-2 are caught, and no worse than CC (3 seeds); healthy runs are let be (10 seeds)."""
    images = data.load("digits")
    for seed in range(10):
        start = CC(n_clusters=10, epochs=24, random_state=seed).fit(images)
        before = acc(images.y, start.labels_)
        healthy = C3Adaptive(n_clusters=10, start=start, random_state=seed).fit(images)
        assert all(s["guard"]["decision"] is None for s in healthy.stages_), seed
        print(seed, "CC", before, "C3Adaptive", acc(images.y, healthy.labels_))
        for wrong in ({"zeta": 0.2}, {"lr": 1e-2}) if seed < 3 else ():
            caught = C3Adaptive(n_clusters=10, start=start, random_state=seed, **wrong).fit(images)
            after = acc(images.y, caught.labels_)
            print(seed, wrong, after, caught.stages_[-1]["guard"]["decision"])
            assert caught.stages_[-1]["guard"]["decision"] is not None, (seed, wrong)
            assert after >= before - 1e-9, (seed, wrong)
