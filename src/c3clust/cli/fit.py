"""fit, resume, demo: train a method and write a run folder."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c3clust.cli import complete
from c3clust.cli import options as opt

if TYPE_CHECKING:
    from c3clust.data.samples import Dataset
    from c3clust.recipes.resolve import Resolved
    from c3clust.records.record import RunRecord
    from c3clust.report import Summary
    from c3clust.runs import Run

__all__ = ["demo", "fit", "resume"]


def fit(
    source: Annotated[str | None, typer.Argument(help=opt.SOURCE, autocompletion=complete.data)] = None,
    *,
    folder: opt.NamedRun = None,
    clusters: opt.Clusters = None,
    method: Annotated[
        str | None,
        opt.methods_option("--method", "See: c3clust list methods. Your own: MODULE:CLASS.", "by the data"),
    ] = None,
    encoder: Annotated[str | None, opt.encoder_option("See: c3clust list encoders.", "depends on the images")] = None,
    labels: opt.Labels = None,
    seed: opt.Seed = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Set a parameter: name=value. Repeatable.")
    ] = None,
    kind: Annotated[
        str | None,
        opt.data_option(
            "--kind", help="Content of a table or .txt file: image, text or table.", show_default="detected"
        ),
    ] = None,
    content: Annotated[
        str | None,
        opt.data_option(
            "--content", help="What images show: handwriting or photograph.", show_default="from the pixels"
        ),
    ] = None,
    column: opt.Columns = None,
    embeddings: Annotated[
        bool, opt.data_option("--embeddings", help=r"An array \[n, V, F] contains V views of n samples, not images.")
    ] = False,
    image_size: Annotated[
        int | None,
        opt.data_option("--image-size", help="Side of the images in pixels.", show_default="from the images"),
    ] = None,
    sample: Annotated[
        int | None,
        opt.data_option(
            "--sample", help="Fit on at most this many samples, in proportion to the shards.", show_default="all", min=1
        ),
    ] = None,
    cache: opt.Cache = None,
    workers: opt.Workers = None,
    memory: opt.Memory = None,
    max_bad: opt.MaxBad = 0.05,
    max_pixels: opt.MaxPixels = None,
    outside: opt.Outside = False,
    recipe: opt.Recipe = None,
    start: opt.Start = None,
    finetune: Annotated[bool, opt.method_option("--finetune", help="Train the encoder too.")] = False,
    outliers: Annotated[bool, opt.method_option("--outliers", help="Assign outliers to cluster -1.")] = False,
    guard: Annotated[bool, opt.method_option(help="Stop c3_adaptive if it diverges.")] = True,
    device: opt.Device = None,
    checkpoint_minutes: Annotated[
        float, opt.run_option(help="Write a checkpoint after each epoch, and after this many minutes.", min=0)
    ] = 10.0,
    review: Annotated[bool, opt.output_option("--review", help="Then open the page that corrects clusters.")] = False,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Cluster SOURCE and write a run folder.

    Examples:

      c3clust fit photos/

      c3clust fit photos/ -k 8 -o runs/photos-8

      c3clust fit digits -k 10 -o runs/digits --seed 1 --set zeta=0.7

      c3clust fit --recipe c3-cifar10 -o runs/cifar10

      c3clust fit reviews.csv --column text -k 12 -o runs/reviews
    """
    k = opt.number_of_clusters(clusters)  # checked before anything heavy is imported
    if review:
        from c3clust.cli import review as page

        page.check()
    from c3clust import data, dist
    from c3clust.recipes.resolve import resolve
    from c3clust.runs import Run

    dist.join()
    verbose = _is_verbose(quiet, as_json)
    params = {"encoder": encoder, "finetune": finetune or None, "device": device, "image_size": image_size}
    params |= {"guard": None if guard else False, "outliers": outliers or None, "verbose": verbose, "start": start}
    options = {"labels": labels, "embeddings": embeddings, "image_size": image_size, "kind": kind}
    options |= {"content": content, "sample": sample}
    options |= opt.reading_options(column, cache, workers, memory, max_bad, outside, max_pixels)
    run = resolve(method, recipe, settings or [], source, k, params=params, options=options)
    folder = folder or dist.of_first(lambda: opt.new_run(source or recipe or run.source))
    new = Run(
        folder,
        source=run.source,
        options=run.load_options,
        command=shlex.join(["c3clust", *sys.argv[1:]]),
        checkpoint_minutes=checkpoint_minutes,
        resume=False,
    )
    with new.claimed():
        samples = data.load(run.source, **run.load_options, shared=dist.world_size() > 1)
        run, note = run.on(samples)
        if note is not None:
            samples = replace(samples, notes=[*samples.notes, note])
        if verbose:
            _announce(len(samples), source or run.source, run, k is None, note)
        _fit(samples, new, run, seed)
    _print_result(folder, new.record, new.summary, verbose, as_json)
    if review and new.summary is not None:
        page.open_page(folder, given={} if encoder is None else {"encoder": encoder})


def _announce(n: int, source: str, run: "Resolved", counted: bool, note: str | None) -> None:
    """What will be clustered, into how many clusters, and how."""
    found = run.params["n_clusters"] == "auto"
    clusters = "unknown number of clusters" if found else f"{run.params['n_clusters']} clusters"
    opt.err(f"{n:,} samples from {source}, {clusters}" + (f", method {run.method}" if note is None else ""))
    if note is not None:
        opt.err(note)
    if found and counted:
        opt.err("No -k was given: the number of clusters is estimated from the data, without labels.")


def resume(
    run: Annotated[
        Path, typer.Argument(help="The folder of an unfinished run.", show_default=False, autocompletion=complete.runs)
    ],
    source: Annotated[
        str | None, typer.Option("--source", help="The data of the run; required if somebody else started it.")
    ] = None,
    encoder: Annotated[
        str | None, opt.encoder_option("The encoder of the run; required if somebody else started it.")
    ] = None,
    cache: opt.Cache = None,
    method: opt.Method = None,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Continue an interrupted run from its last checkpoint.

    Example:  c3clust resume runs/photos
    """
    from c3clust import dist, methods

    dist.join()
    verbose = _is_verbose(quiet, as_json)
    with opt.interruptible(_advice(run)):
        where = None if cache is None else str(cache.resolve())
        _, record, summary = methods.resume(run, verbose, method, source=source, encoder=encoder, cache=where)
    _print_result(run, record, summary, verbose, as_json)


def demo(folder: opt.NewRun = Path("runs/demo"), seed: opt.Seed = 0) -> None:
    """Cluster scikit-learn's 1,797 handwritten digits, and compare k-means, CC, C3 and the default method."""
    from c3clust import data, methods, metrics
    from c3clust.recipes.resolve import resolve
    from c3clust.runs import Run

    new = opt.free_folder(folder)
    samples = data.load("digits")
    opt.err("1,797 handwritten digits of 8 x 8 pixels, 10 clusters, no labels used.")
    kmeans = methods.load("kmeans")(n_clusters=10, random_state=seed).fit(samples)
    c3 = methods.load("c3")(n_clusters=10, random_state=seed, verbose=True).fit(samples)
    run, note = resolve(source="digits", n_clusters=10, params={"verbose": True}).on(samples)
    opt.err(str(note))
    started = Run(new, source="digits", command=f"c3clust demo --seed {seed}", resume=False)
    record = _fit(samples, started, run, seed)
    labels = {"k-means on pixels": kmeans.labels_, "CC, as published": c3.start_labels_, "C3, as published": c3.labels_}
    assert samples.y is not None
    assert record.scores is not None
    scores = [(name, metrics.scores(samples.y, found)) for name, found in labels.items()]
    opt.print_scores([*scores, (f"{record.method}, the default", record.scores)])
    _print_summary(new, record, started.summary)


def _fit(samples: "Dataset", run: "Run", resolved: "Resolved", seed: int) -> "RunRecord":
    """Train and write the run folder."""
    from c3clust import methods

    with opt.interruptible(_advice(run.folder)):
        methods.find(resolved.method)(**resolved.params, random_state=seed).fit(samples, run_dir=run)
    assert run.record is not None
    return run.record


def _is_verbose(quiet: bool, as_json: bool) -> bool:
    from c3clust import dist

    return not (quiet or as_json) and dist.rank() == 0


def _advice(folder: Path) -> str:
    return f"Continue from the last checkpoint with: c3clust resume {folder}"


def _print_result(
    folder: Path, record: "RunRecord | None", summary: "Summary | None", verbose: bool, as_json: bool
) -> None:
    from c3clust import dist

    if record is None or summary is None:  # another process than the first
        pass
    elif as_json:
        opt.json_out(_result(folder, record, summary))
    elif verbose:
        if record.scores:
            opt.print_scores(_stage_scores(record))
        if skipped := record.data["skipped"]:
            opt.print_skipped(skipped)
            opt.out(f"{len(skipped):,} files were skipped; record.json lists them all")
        _print_summary(folder, record, summary)
    if dist.world_size() > 1:
        dist.leave()


def _stage_scores(record: "RunRecord") -> list[tuple[str, dict[str, float]]]:
    """The scores after each stage; those of the last stage are the run's own."""
    earlier = [(f"after stage {s['name']}", s["scores"]) for s in record.stages if "scores" in s]
    return [*earlier, (record.method, record.scores)] if record.scores else []


def _result(folder: Path, record: "RunRecord", summary: "Summary") -> dict[str, Any]:
    """The result as JSON; unknown values are null."""
    facts = summary.facts
    quality = facts.quality
    problems = [f for f in summary.findings if f.level in ("bad", "warn")]
    return {
        "run": folder,
        "report": folder / "report.html",
        "method": record.method,
        "n": record.data["n"],
        "clusters": [{"cluster": i, "size": size} for i, size in facts.sizes.items()],
        "taken": _taken(record),
        "left": record.data.get("left", []),
        "skipped": opt.skipped_plain(record.data["skipped"]),
        "scores": record.scores,
        "seconds": record.seconds,
        "clusters_found": facts.filled,
        "runner_up": record.choice and record.choice["runner_up"],
        "estimated_accuracy": quality and quality.estimate,
        "interval": quality and list(quality.interval),
        "doubtful": quality and quality.doubtful,
        "findings": [f"{f.text} {f.advice}".strip() for f in problems],
    }


def _taken(record: "RunRecord") -> str:
    """What was clustered."""
    noun, part = opt.NOUNS[record.data.get("kind", "image")], record.data.get("taken")
    return f"{record.data['n']:,} {noun}" + (f" ({part})" if part else "")


def _left(record: "RunRecord") -> list[str]:
    """What was not clustered: files that are too large or unreadable, and other content of the source."""
    skipped = record.data["skipped"]
    large = sum(reason.startswith("too large") for _, reason in skipped)
    counts = (("unreadable", len(skipped) - large), ("too large", large))
    return [
        *(f"{n:,} {'file' if n == 1 else 'files'} {what}" for what, n in counts if n),
        *record.data.get("left", []),
    ]


def _print_summary(folder: Path, record: "RunRecord", summary: "Summary | None") -> None:
    """Print the number of clusters, the estimated accuracy, the main finding and the paths."""
    assert summary is not None
    facts = summary.facts
    found = summary.findings
    judged = summary.verdict
    noun = opt.NOUNS[record.data.get("kind", "image")]
    clusters = "1 cluster" if facts.filled == 1 else f"{facts.filled} clusters"
    origin = "estimated" if record.choice else "requested"
    number = f" ({record.n_clusters} were {origin})" if facts.filled != record.n_clusters else ""
    opt.out(f"{record.data['n']:,} {noun} in {clusters}{number}, {record.seconds:.0f} s")
    if record.choice:
        opt.out(record.choice["reason"])
    opt.out(judged.headline)
    if judged.level in ("bad", "warn"):
        more = sum(f.level in ("bad", "warn") for f in found) - 1
        opt.out(f"{judged.word}: {found[0].text} {found[0].advice}")
        if more:
            opt.out(f"The report lists {more} more finding{'' if more == 1 else 's'}.")
    else:
        opt.out(judged.text)
    opt.out(f"Clustered:  {_taken(record)}; left out: {'; '.join(_left(record)) or 'nothing'}")
    if record.encoder:
        supervised = ", trained with labels of other data" if record.encoder.get("labels") == "yes" else ""
        opt.out(f"Encoder:    {record.encoder.get('name')}{supervised}")
    opt.out(f"Run folder: {folder}")
    opt.out(f"Report:     {folder / 'report.html'}")
