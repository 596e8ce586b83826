"""A rehearsal: the same jobs with a few steps each, to see that they start and what they will cost.

A rehearsed job has the recipe's network, views, batches and rates, but one epoch per stage, and as many samples as its
steps need. It has another key than the real job, and bench and paper keep it in OUT/rehearsal. Its time per step
contains its share of reading the samples, making views, and the evaluation after each epoch, so the time of the whole
is in proportion to the number of samples and epochs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from inspect import signature
from types import SimpleNamespace
from typing import Any

from c3clust import data, methods
from c3clust.bench.format import markdown_table, numbers_csv
from c3clust.bench.job import Job, Result, result_of
from c3clust.errors import InputError, suggest
from c3clust.files.text import duration

FOLDER = "rehearsal"
NOTE = "A rehearsal of a few steps, not a result: the scores mean nothing."  # in the tables and figures of one
OFFICIAL = {"cifar10": 60_000, "cifar100": 60_000, "imagenet-10": 13_000, "imagenet-dogs": 19_500}
OFFICIAL |= {"tiny-imagenet": 100_000}  # images of the paper's datasets, of which a subset may be at hand
GPUS = {"t4": 8.1e12, "v100": 15.7e12, "a100": 19.5e12, "rtx4090": 82.6e12}  # float32 operations per second, at most
SHARE = 0.4  # of that, which convolutions are assumed to reach
PASSES = 7  # forward passes per sample and epoch: 2 views, 3 each with their gradient, and 1 for evaluation
COUNTED = ("cc", "c3")  # methods whose operations are these; others are as much faster on a GPU as they are
LIMIT = "limit"
DAY = 24 * 3600.0  # seconds


@dataclass(frozen=True)
class Rehearsal:
    """steps per stage; batch: largest batch size, None for the recipe's; gpu: the one that the estimate is for."""

    steps: int
    batch: int | None = None
    gpu: str = "v100"

    def __post_init__(self) -> None:
        if self.gpu not in GPUS:
            raise InputError(f"--gpu {self.gpu!r} is unknown. {suggest(self.gpu, GPUS)}")

    def shorten(self, job: Job, epochs: int = 1) -> Job:
        """The job with so many epochs per stage, of `steps` steps in its largest batch. Done once."""
        if LIMIT in job.options:
            return job
        params, known = dict(job.params), _defaults(job.method)
        sizes = {name: params.get(name, known[name]) for name in known if name.endswith("batch_size")}
        sizes = {name: min(size, self.batch or size) for name, size in sizes.items() if isinstance(size, int)}
        params |= {name: epochs for name in known if name.endswith("epochs") and params.get(name) != 0} | sizes
        n = max(self.steps * max(sizes.values(), default=1), params.get("n_clusters", 2))
        start, after = (each and self.shorten(each) for each in (job.start, job.after))
        return replace(job, params=params, options=job.options | {LIMIT: n}, start=start, after=after, budget=None)


@dataclass(frozen=True)
class Cost:
    """A stage as it was rehearsed, and what the whole stage would cost."""

    data: str
    name: str
    stage: str
    batch: int
    steps: int
    step_seconds: float
    memory: float  # bytes at the batch size that was rehearsed
    real_batch: int
    real_memory: float  # bytes at the recipe's batch size, in proportion
    real_steps: int
    seconds: float  # of all steps here
    gpu_seconds: float | None


def costs(pairs: Sequence[tuple[Job, Result]], gpu: str) -> list[Cost]:
    """The stages of the jobs (real job, rehearsed result) that trained a network, each job once.

    The GPU time of a method whose operations are not counted is in proportion to its time here.
    """
    found: dict[tuple[str, str], Cost] = {}
    for real, result in pairs:
        for stage in result.record.stages if result.status in ("ok", "collapsed") else ():
            key = real.key, stage["name"]
            if key not in found and stage["epochs"]:  # else nothing was trained, as few epochs leave no warm-up
                found[key] = _cost(real, result, stage, gpu)
    counted = [c for c in found.values() if c.gpu_seconds is not None]
    here, there = sum(c.seconds for c in counted), sum(c.gpu_seconds or 0.0 for c in counted)
    ratio = there / here if here else None
    return [
        c if c.gpu_seconds is not None or ratio is None else replace(c, gpu_seconds=c.seconds * ratio)
        for c in found.values()
    ]


def _cost(real: Job, result: Result, stage: dict[str, Any], gpu: str) -> Cost:
    n, few = _samples(real), result.record.data["n"]
    trained = [each["name"] for each in result.record.stages if each["epochs"]]
    epochs, real_batch = _planned(real, n, trained)[stage["name"]]
    batch = min(_planned(result.job, few, trained)[stage["name"]][1], few)
    epochs -= 0 if real.after is None else real.after.params["epochs"]  # what it continues is a job of its own
    per_epoch = max(few // batch, 1)
    seconds = _epoch_seconds(result, stage["name"]) / per_epoch
    whole = max(n // real_batch, 1) * epochs
    flops, kept = _network(result)
    kept = min(result.memory_before + kept, result.memory)  # whatever the batch is
    per_second = GPUS[gpu] * SHARE
    return Cost(
        real.data, real.name, stage["name"], batch, per_epoch * stage["epochs"], seconds, result.memory, real_batch,
        kept + (result.memory - kept) * real_batch / batch, whole,
        seconds * real_batch / batch * whole,
        PASSES * flops * whole * real_batch / per_second if real.method in COUNTED else None,
    )  # fmt: skip


def _planned(job: Job, n: int, trained: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Epochs and batch size of each stage in `trained`, for a job on n samples.

    A stage that so few epochs left out, such as a warm-up, counts as epochs of the one after it. Where a method does
    not name its stages before training, its parameters are used.
    """
    given = {} if job.start is None else {"start": job.start.key}  # then stage 1 is a job of its own
    method = methods.find(job.method)(**job.params | given)
    shape = (3, 1, 1)  # of images; only the number of samples matters
    context: Any = SimpleNamespace(x=range(n), shape=shape, epochs={})
    found, before = {}, 0
    for stage in method._stages(context):
        before += stage.epochs
        if stage.name in trained:
            found[stage.name], before = (before, stage.batch_size), 0
    epochs = method.epochs if isinstance(method.epochs, int) else 1
    return {name: (epochs, method.batch_size) for name in trained} | found


def _epoch_seconds(result: Result, name: str) -> float:
    """Seconds of an epoch of a stage; of a run that continues another, whose own time is not known, those of that."""
    if result.job.after is not None and not result.processor_seconds:
        return _epoch_seconds(result_of(result.folder.parents[2], result.job.after), name)
    stage = next(stage for stage in result.record.stages if stage["name"] == name)
    return float(sum(stage["curves"]["seconds"]) / stage["epochs"] * _undisturbed(result))


def _undisturbed(result: Result) -> float:
    """The share of the wall-clock time that was this run's own: on a CPU, other programs may have used the rest."""
    import torch

    if torch.cuda.is_available() or not (result.seconds and result.processor_seconds):
        return 1.0
    return min(1.0, result.processor_seconds / result.seconds)


def _network(result: Result) -> tuple[float, float]:
    """Operations of one forward pass of one sample, counted by torch; bytes that are kept whatever the batch is.

    These are weights, gradients and Adam's two moments; on a CPU also the network of the start, and the copies of
    weights and moments that go into a checkpoint.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    model = methods.load_model(result.run)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.network_(torch.zeros(1, *model.input_shape_, device=model.device_))
    size = sum(p.numel() * p.element_size() for p in model.network_.parameters())
    return float(counter.get_total_flops()), size * (4.0 if torch.cuda.is_available() else 8.0)


def markdown(found: Sequence[Cost], rehearsal: Rehearsal, others: Sequence[str] = ()) -> str:
    """A table of the stages, the sum, and how it was estimated; others: the runs that are not in it."""
    head = ["data", "run", "stage", "batch", "steps", "per step", "memory", "batch of the recipe", "its memory",
            "its steps", "all of them here", f"on one {rehearsal.gpu.upper()}"]  # fmt: skip
    lines = []
    for c in found:
        cells = [c.data, c.name, c.stage, c.batch, c.steps, f"{c.step_seconds:.2f} s", _bytes(c.memory), c.real_batch]
        cells += [_bytes(c.real_memory), f"{c.real_steps:,}", duration(c.seconds), duration(c.gpu_seconds)]
        lines.append([str(cell) for cell in cells])
    total, gpu = sum(c.seconds for c in found), sum(c.gpu_seconds or 0 for c in found)
    text = markdown_table(head, lines)
    peak = f"{GPUS[rehearsal.gpu] / 1e12:g} TFLOPS in float32"
    text += f"\nAll together: {duration(total)} here, {duration(gpu)} on one {rehearsal.gpu.upper()}.\n"
    text += f"GPU: by operations of CC and C3, {SHARE:.0%} of {peak}; other methods in proportion to their time here. "
    text += "Reading and decoding are not in it. "
    text += "Time at the recipe's batch is in proportion to the batch, and so is memory beyond the weights. "
    text += "Time is without what other programs took.\n"
    return text + (f"Not in the table, since they train in no epochs: {', '.join(others)}.\n" if others else "")


def without_epochs(pairs: Sequence[tuple[Job, Result]]) -> list[str]:
    """The names of the runs that train in no epochs, as k-means; a network that is used unchanged needs no time."""
    ended = [(real, r) for real, r in pairs if r.status in ("ok", "collapsed") and real.params.get("epochs") != 0]
    return list(dict.fromkeys(real.name for real, r in ended if not any(s["epochs"] for s in r.record.stages)))


def numbers(found: Sequence[Cost], gpu: str) -> str:
    """The same table as CSV."""
    head = ["data", "run", "stage", "batch", "steps", "step_seconds", "memory_gb", "recipe_batch", "recipe_memory_gb",
            "recipe_steps", "days_here", f"days_{gpu}"]  # fmt: skip
    lines = [
        [c.data, c.name, c.stage, c.batch, c.steps, c.step_seconds, c.memory / 2**30, c.real_batch,
         c.real_memory / 2**30, c.real_steps, c.seconds / DAY, None if c.gpu_seconds is None else c.gpu_seconds / DAY]
        for c in found
    ]  # fmt: skip
    return numbers_csv(head, lines)


def _bytes(value: float) -> str:
    return f"{value / 2**30:.1f} GB" if value else "–"


def _defaults(method: str) -> dict[str, Any]:
    known = {name: p.default for name, p in signature(methods.find(method)).parameters.items()}
    return known | ({"cc_batch_size": _defaults("cc")["batch_size"]} if method == "c3" else {})  # which "auto" is


def _samples(job: Job) -> int:
    """The samples of the whole dataset: the official number, or those at hand."""
    return OFFICIAL.get(job.data) or len(data.load(job.data, **job.options))
