"""Rehearsals: shortened jobs, their costs, one step of each of the paper's recipes; slow: the commands themselves."""

import csv
import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from c3clust import CC, augment, data, methods, paper
from c3clust.bench import Job, Result, run, worker
from c3clust.bench.rehearsal import GPUS, NOTE, PASSES, SHARE, Cost, Rehearsal, costs, markdown, without_epochs
from c3clust.data.sources.imagenet_subset import SYNSETS
from c3clust.errors import InputError
from c3clust.paper.values import read_rows, write_rows
from c3clust.recipes.resolve import resolve
from c3clust.training import TrainingContext

RECIPES = {
    "c3-cifar10": 60_000, "c3-cifar100": 60_000, "c3-imagenet10": 13_000, "c3-imagenet-dogs": 19_500,
    "c3-tiny-imagenet": 100_000,
}  # fmt: skip


def real_jobs(recipe):
    run = resolve("c3", recipe)
    cc = resolve("cc", recipe, source=run.source, count_classes=True)
    start = Job(run.source, "cc", cc.params, 0, options=cc.options)
    return start, Job(run.source, "c3", run.params, 0, options=run.options)


@pytest.fixture(scope="module")
def official(tmp_path_factory):
    """A few pictures of each of the paper's datasets, in the layout as published."""
    root, rng = tmp_path_factory.mktemp("official"), np.random.default_rng(0)
    for folder, files, labels in (
        ("cifar-10-batches-bin", [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"], 1),
        ("cifar-100-binary", ["train.bin", "test.bin"], 2),
    ):
        (root / folder).mkdir()
        for file in files:
            records = rng.integers(0, 256, (4, labels + 3072), dtype=np.uint8)
            records[:, :labels] %= 10
            (root / folder / file).write_bytes(records.tobytes())
    synsets = sorted({*SYNSETS["imagenet-10"], *SYNSETS["imagenet-dogs"]})
    places = [root / "imagenet" / "train" / synset for synset in synsets]
    places += [root / "tiny-imagenet-200" / "train" / synset / "images" for synset in synsets[:3]]
    for place in places:
        place.mkdir(parents=True)
        size = (64, 64) if "tiny" in str(place) else (320, 240)
        noise = Image.fromarray(rng.integers(0, 256, (12, 16, 3), dtype=np.uint8))
        noise.resize(size).save(place / f"{place.parts[-1]}_0.JPEG")
    return root


def test_a_shortened_job_keeps_the_recipe_and_is_another_job():
    start, job = real_jobs("c3-cifar10")
    short = Rehearsal(3).shorten(job)
    changed = {name for name in short.params if short.params[name] != job.params.get(name)}
    assert changed == {"cc_epochs", "epochs"}
    assert (short.params["epochs"], short.params["cc_epochs"], short.options["limit"]) == (1, 1, 3 * 256)
    assert short.key != job.key
    assert Rehearsal(3).shorten(short) is short
    small = Rehearsal(2, batch=16).shorten(replace(job, start=start))
    assert (small.params["batch_size"], small.params["cc_batch_size"], small.start.params["batch_size"]) == (16,) * 3
    assert small.start.options["limit"] == 32
    assert Rehearsal(1, 4).shorten(real_jobs("c3-tiny-imagenet")[1]).options["limit"] == 200  # one sample per cluster
    given = replace(start, params=start.params | {"epochs": 0, "start": "checkpoint_1000.tar"})
    assert Rehearsal(1).shorten(given).params["epochs"] == 0  # a network that is taken as it is
    with pytest.raises(InputError, match="Did you mean v100"):
        Rehearsal(1, gpu="v10")


@pytest.mark.parametrize("name", ["fig-budget", "fig-zeta", "fig-convergence", "table"])
def test_experiments_are_shortened_with_their_starts(name):
    setting = paper.Setting("cifar10", (0,), rehearsal=Rehearsal(1, 8))
    short = [result.job for _, result in paper.pairs(name, setting)]
    assert all(job.options["limit"] >= 8 for job in short)
    epochs = {job.params["epochs"] for job in short if "epochs" in job.params}
    assert epochs == ({1, 2} if name == "fig-budget" else {1})  # two: CC, trained on
    real = [job for job, _ in paper.pairs(name, setting)]
    assert {job.params["epochs"] for job in real if job.method == "cc"} <= {1000, 1020}


def test_tables_and_figures_of_a_rehearsal_say_that_they_are_no_results(three_kinds, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    setting = paper.Setting(three_kinds, (0,), tmp_path, Rehearsal(1, 8), methods=("kmeans",))
    files = {path.name: path for name in ("table", "fig-pairs") for path in paper.make(name, setting, tmp_path)}
    for name, path in files.items():
        if path.suffix in (".md", ".tex"):
            assert NOTE in path.read_text().splitlines()[0], name
    drawn = files["fig-pairs.png"].read_bytes()
    paper.redraw("fig-pairs", tmp_path)
    assert files["fig-pairs.png"].read_bytes() == drawn
    assert files["fig-pairs.md"].read_text().count(NOTE) == 1
    rows = read_rows(files["fig-pairs.csv"])
    assert {row.pop("rehearsed_steps") for row in rows} == {1}
    write_rows(files["fig-pairs.csv"], rows)  # as a result has them
    paper.redraw("fig-pairs", tmp_path)
    assert files["fig-pairs.png"].read_bytes() != drawn
    assert NOTE not in files["fig-pairs.md"].read_text()


def test_all_at_the_papers_size_is_the_paper():
    assert "departures" not in paper.all_for(paper.Setting("cifar10"))
    assert "folders" not in paper.all_for(paper.Setting("tiny-imagenet"))
    assert paper.all_for(paper.Setting("digits")) == paper.names()


def test_a_limit_keeps_some_samples_and_reads_no_other_files(tmp_path, three_kinds):
    for i in range(6):
        Image.new("RGB", (8, 8), (40 * i, 0, 0)).save(tmp_path / f"{i}.png")
    (tmp_path / "5.png").write_bytes(b"damaged")
    whole, some = data.load(tmp_path, max_bad=1), data.load(tmp_path, limit=2, max_bad=1)
    assert len(some) == 2
    assert set(some.names) < set(whole.names)
    assert len(data.load(tmp_path, limit=100, max_bad=1)) == len(whole)
    part = data.load(three_kinds, limit=10)
    assert (len(part), len(part.y), len(part.names)) == (10, 10, 10)
    np.testing.assert_array_equal(part.x, data.load(three_kinds, limit=10).x)
    with pytest.raises(InputError, match="limit=0 is below 1"):
        data.load(tmp_path, limit=0)


def test_costs_are_in_proportion_to_samples_epochs_and_batch(c3clust, three_kinds, tmp_path):
    words = ("bench", three_kinds, "--methods", "cc kmeans", "--seeds", "0", "-k", "3", "--set", "cc.epochs=50")
    done = c3clust(*words, "--set", "cc.batch_size=24", "-o", tmp_path, "--steps", "2", "--batch-size", "8")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "jobs.json").exists()  # the tables of OUT do not know of it
    text = (tmp_path / "rehearsal" / "rehearsal.md").read_text()
    assert text.strip() in done.stdout
    (row,) = [line for line in text.splitlines() if "| cc |" in line]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:5] == ["cc", "cc", "8", "2"]
    assert cells[9] == "100"  # 48 samples in batches of 24, 50 epochs
    assert "15.7 TFLOPS" in text
    numbers = list(csv.DictReader((tmp_path / "rehearsal" / "rehearsal.csv").read_text().splitlines()))
    assert [(row["run"], row["batch"], row["recipe_batch"], row["recipe_steps"]) for row in numbers] == [
        ("cc", "8", "24", "100")
    ]
    assert float(numbers[0]["days_v100"]) > 0


def test_the_estimate_of_a_gpu_counts_operations(tmp_path, monkeypatch):
    start, _ = real_jobs("c3-cifar10")
    stage = {"name": "cc", "epochs": 1, "curves": {"seconds": [30.0]}}
    short = Rehearsal(3, 8).shorten(start)
    result = Result(short, tmp_path, "ok", memory=3e9, memory_before=1e9)
    untrained = {"name": "warmup", "epochs": 0, "curves": {}}
    record = type("Record", (), {"stages": [untrained, stage], "data": {"n": 24}})()
    monkeypatch.setattr(Result, "record", record)
    monkeypatch.setattr("c3clust.bench.rehearsal._network", lambda result: (7e9, 0.5e9))
    (cost,) = costs([(start, result), (start, result)], "v100")
    assert (cost.steps, cost.step_seconds, cost.real_steps) == (3, 10.0, 60_000 // 256 * 1000)
    assert cost.seconds == pytest.approx(10 * 32 * 234_000)
    assert cost.real_memory == pytest.approx(1.5e9 + 1.5e9 * 32)
    assert cost.gpu_seconds == pytest.approx(PASSES * 7e9 * 234_000 * 256 / (GPUS["v100"] * SHARE))
    assert isinstance(cost, Cost)
    assert "days" in markdown([cost], Rehearsal(3, 8))


def rehearsed(folder, monkeypatch, job, names, seconds=10.0):
    """The job and its rehearsal in steps of 8 samples, whose stages took so many seconds each."""
    stages = [{"name": name, "epochs": 1, "curves": {"seconds": [seconds]}} for name in names]
    monkeypatch.setattr("c3clust.bench.rehearsal._network", lambda result: (7e9, 0.5e9))
    result = Result(Rehearsal(1, 8).shorten(job), folder, "ok", memory=3e9, memory_before=1e9)
    result.__dict__["record"] = SimpleNamespace(stages=stages, data={"n": 8})
    return job, result


def test_each_stage_has_its_own_epochs_and_batches_at_the_size_of_the_dataset(tmp_path, monkeypatch):
    """60,000 samples, "auto" epochs: as many as a fit would have, not the one of the rehearsal."""
    jobs = [(Job("cifar10", method, {"n_clusters": 10}), names) for method, names in [
        ("iic", ["iic"]), ("dec", ["dae", "dec"]), ("scan", ["simclr", "scan", "self_label"])
    ]]  # fmt: skip
    found = costs([rehearsed(tmp_path, monkeypatch, job, names) for job, names in jobs], "v100")
    assert [(c.stage, c.real_batch, c.real_steps) for c in found] == [
        ("iic", 256, 15 * 234), ("dae", 64, 10 * 937), ("dec", 256, 5 * 234), ("simclr", 256, 15 * 234),
        ("scan", 256, 5 * 234), ("self_label", 256, 5 * 234),
    ]  # fmt: skip
    assert {c.gpu_seconds for c in found} == {None}  # there is no CC to compare their time with


def test_epochs_that_a_rehearsal_leaves_out_are_counted(tmp_path, monkeypatch):
    whole = Job("cifar10", "c3_adaptive", {"n_clusters": 10, "cc_epochs": 100, "epochs": 0, "settle": 0})
    (cost,) = costs([rehearsed(tmp_path, monkeypatch, whole, ["cc"])], "v100")
    assert cost.real_steps == 100 * 234  # 30 of them warm up
    cc = Job("cifar10", "cc", {"n_clusters": 10, "epochs": 100})
    c3 = Job("cifar10", "c3", {"n_clusters": 10, "epochs": 20}, start=cc)
    (cost,) = costs([rehearsed(tmp_path, monkeypatch, c3, ["c3"])], "v100")
    assert cost.real_steps == 20 * 468  # those of its start are a job of their own


def test_a_run_that_continues_another_takes_as_long_per_step(three_kinds, tmp_path, monkeypatch):
    """Only a part of it was measured, with what other programs took."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    setting = paper.Setting(three_kinds, (0,), tmp_path, Rehearsal(1, 8))
    monkeypatch.setattr("c3clust.paper.setting.CC_EPOCHS", 5)
    jobs = [setting.start(0), setting.start(0, 4, "longer")]
    first, longer = run(jobs, tmp_path)
    assert first.processor_seconds > 0 == longer.processor_seconds
    real = replace(setting, rehearsal=None)
    pairs = list(zip([real.start(0), real.start(0, 4, "longer")], [first, longer], strict=True))
    one, other = costs(pairs, "v100")
    assert other.step_seconds == one.step_seconds
    assert (one.real_steps, other.real_steps) == (5, 4)


def test_other_methods_are_on_a_gpu_as_much_faster_as_cc(tmp_path, monkeypatch):
    cc = Job("cifar10", "cc", {"n_clusters": 10, "epochs": 100})
    iic, kmeans = (Job("cifar10", method, {"n_clusters": 10}) for method in ("iic", "kmeans"))
    pairs = [rehearsed(tmp_path, monkeypatch, cc, ["cc"]), rehearsed(tmp_path, monkeypatch, iic, ["iic"], 5.0)]
    pairs.append(rehearsed(tmp_path, monkeypatch, kmeans, []))
    counted, other = costs(pairs, "v100")
    assert other.gpu_seconds / other.seconds == pytest.approx(counted.gpu_seconds / counted.seconds)
    pairs += [(replace(job, name="another name"), result) for job, result in pairs[:2]]  # of the same run
    text = markdown([counted, other], Rehearsal(1, 8), without_epochs(pairs))
    assert "Not in the table, since they train in no epochs: kmeans.\n" in text


def test_memory_of_a_job_is_without_that_of_the_job_before():
    before = worker._base_memory()
    pieces = [np.ones(2000) for _ in range(20_000)]  # 320 MB that glibc keeps for later
    assert worker._base_memory() - before > 2**28
    del pieces
    assert worker._base_memory() - before < 2**26


@pytest.mark.parametrize(("recipe", "n"), RECIPES.items())
def test_one_step_of_each_stage_of_the_papers_recipes(official, recipe, n):
    """ResNet-34 at 224 px, from files in the official layout; two samples per batch, the recipe's are for a GPU."""
    run = resolve("c3", recipe)
    dataset = data.load(run.source, root=_place(official, run.source), **run.options, limit=2)
    few = {"epochs": 1, "cc_epochs": 1, "batch_size": 2, "cc_batch_size": 2}
    model = methods.load("c3")(**run.params | few, random_state=0, device="cpu")
    model.preprocessor_, _ = model._choose_preprocessor(dataset)
    policy = augment.policy(model.augment)
    prepared = model.preprocessor_.fit(dataset, model._input_options(), policy, device=torch.device("cpu"))
    context = TrainingContext(prepared.x, model.preprocessor_.shape, policy, 0, torch.device("cpu"))
    assert context.shape == (3, 224, 224)
    network = model._fit(context)
    assert [(stage["name"], stage["epochs"]) for stage in context.stages] == [("cc", 1), ("c3", 1)]
    assert all(np.isfinite(stage["curves"]["loss"]).all() for stage in context.stages)
    assert sum(p.numel() for p in network.f.parameters()) == 21_284_672  # ResNet-34 without its classifier
    assert context.assignments(network).shape == (2, run.params["n_clusters"])


def _place(root, source):
    names = {"cifar10": "cifar-10-batches-bin", "cifar100": "cifar-100-binary", "tiny-imagenet": "tiny-imagenet-200"}
    return root / names.get(source, "imagenet/train")


def _released_checkpoint(folder):
    """checkpoint_1000.tar, of a ResNet-34 that was hardly trained, in the layout of CC's released code."""
    x = np.random.default_rng(0).integers(0, 255, (12, 3, 32, 32), dtype=np.uint8)
    params = {"backbone": "resnet34", "stem": "imagenet", "batch_size": 4, "epochs": 1, "warmup": 0}
    CC(10, **params, random_state=0).fit(x).save(folder / "cc")
    methods.export_checkpoint(folder / "cc", folder / "checkpoint_1000.tar")


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_the_commands_of_the_page_run_from_beginning_to_end(tmp_path):
    """Those of "At the paper's size", on real subsets in official formats, with batches of 4.

    The recipes' 256 and 128 need more memory and time than a suite may take. The classes of ImageNet-10 and -Dogs are
    filled with other photographs.
    """
    shared = Path(os.environ.get("C3CLUST_SHARED", Path(__file__).parents[3] / "shared" / "data"))
    if not shared.is_dir():
        pytest.skip(f"needs the real subsets: {shared} is absent, and C3CLUST_SHARED names no other place")
    place = tmp_path / "data"
    place.mkdir()
    for file in ("cifar-10-subset-binary.tar.gz", "cifar-100-subset-binary.tar.gz", "tiny-imagenet-subset.tar"):
        shutil.copy(shared / file, place)
    for archive in ("photos-subset.tar", "dogs-subset.tar"):
        with tarfile.open(shared / archive) as tar:
            tar.extractall(tmp_path / "pictures", filter="data")
    for name, source in (("imagenet-10", "photos"), ("imagenet-dogs", "dogs")):
        classes = sorted((tmp_path / "pictures" / source).iterdir())
        for i, synset in enumerate(SYNSETS[name]):
            shutil.copytree(classes[i % len(classes)], place / "imagenet" / "train" / synset, dirs_exist_ok=True)
    page = (Path(__file__).parents[2] / "docs" / "REPRODUCTION.md").read_text(encoding="utf-8")
    commands = [line.strip() for line in page.partition("## At the paper's size")[2].splitlines() if "--jobs 1" in line]
    commands = [command for command in commands if "--steps" not in command]
    assert len(commands) >= 4
    _released_checkpoint(tmp_path)  # of the command with --start
    source = Path(paper.__file__).parents[2]  # a relative PYTHONPATH would not be found from another folder
    environment = os.environ | {"C3CLUST_DATA": str(place), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(source)}
    for command in commands:
        words = command.split("#")[0].removeprefix("c3clust ").split()
        words[words.index("-o") + 1] = str(tmp_path / "out")
        words += ["--steps", "1", "--batch-size", "4"]
        done = subprocess.run(
            [sys.executable, "-m", "c3clust", *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, (words, done.stderr[-2000:])
        assert "All together" in done.stdout
    results = list((tmp_path / "out" / "rehearsal").rglob("result.json"))
    assert results
    assert all(json.loads(result.read_text())["status"] != "failed" for result in results)
