"""bench, paper: many runs, their tables and figures."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c3clust.cli import complete
from c3clust.cli import options as opt
from c3clust.errors import InputError, RunError

if TYPE_CHECKING:
    from c3clust.bench import Job, Result
    from c3clust.bench.rehearsal import Rehearsal

__all__ = ["bench", "paper"]

Seeds = Annotated[str, typer.Option("--seeds", help="One run per seed: 0 1 2, or 0-4.")]
Start = Annotated[str | None, opt.start_option(" {seed} stands for the seed.")]
AGAIN = "Run the same command again to continue."
Steps = Annotated[
    int | None,
    typer.Option(
        "--steps",
        help="Rehearsal: train this many steps per stage, in OUT/rehearsal, and estimate the total cost.",
        min=1,
    ),
]
Batch = Annotated[
    int | None,
    typer.Option("--batch-size", help="With --steps: largest batch size.", min=2, show_default="the recipe's"),
]
Gpu = Annotated[str, typer.Option("--gpu", help="With --steps: GPU for the estimate: t4, v100, a100, rtx4090.")]


def bench(
    sources: Annotated[
        list[str] | None,
        typer.Argument(help="Folders, archives, array files, or names of data sets.", autocompletion=complete.data),
    ] = None,
    *,
    folder: Annotated[Path, typer.Option("-o", "--out", help="Folder for all runs and the tables.")],
    names: Annotated[
        str,
        opt.methods_option("--methods", "See: c3clust list methods. Your own or scikit-learn's: MODULE:CLASS.", "all"),
    ] = "",
    seeds: Seeds = "0 1 2",
    clusters: Annotated[str | None, opt.clusters_option("Number of clusters, or auto.", "number of classes")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Set a parameter: method.name=value. Repeatable.")
    ] = None,
    recipe: opt.Recipe = None,
    start: Start = None,
    labels: opt.Labels = None,
    encoder: Annotated[
        str | None, opt.encoder_option("Run all methods on its features. See: c3clust list encoders.")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            help="CPU seconds per fit: methods that need more train fewer epochs.",
            show_default="none",
            metavar="SECONDS",
        ),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option("--share", help="Fraction of its own epochs that each method trains.", show_default="all"),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", help="Number of parallel runs; if more than 1, one thread each.", min=1)
    ] = 1,
    compared: Annotated[
        str, typer.Option("--compare", help="Two methods to compare seed by seed.", autocompletion=complete.methods)
    ] = "c3 cc",
    do: Annotated[
        bool, typer.Option("--run/--no-run", help="Run the missing jobs, or only tabulate the finished ones.")
    ] = True,
    steps: Steps = None,
    batch: Batch = None,
    gpu: Gpu = "v100",
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Compare methods on data sets over several seeds: a table with means and standard deviations.

    Each run has its own folder and is not repeated; after an interruption, the same command continues. A later call
    with other methods, data or seeds adds to the table. Without a source, the runs of earlier calls are continued. C3
    starts from the CC of its seed, which is trained once.

    Examples:

      c3clust bench digits --methods kmeans cc c3 --seeds 0 1 2 -o runs/bench

      c3clust bench digits --budget 30 -o runs/equal

      c3clust bench cifar10 --recipe c3-cifar10 --methods cc c3 --seeds 0 -o runs/cifar10

      c3clust bench cifar10 --recipe c3-cifar10 --methods cc c3 --seeds 0 -o runs/cifar10 --steps 2
    """
    from c3clust.bench import format, remember, result_of, run
    from c3clust.bench.plan import parse_seeds, plan
    from c3clust.bench.ranking import ranking
    from c3clust.bench.rehearsal import Rehearsal
    from c3clust.bench.statistics import rows
    from c3clust.files.atomic import write_atomically

    pair = _words(compared)
    if len(pair) != 2:
        raise InputError(f"--compare takes two methods, not {len(pair)}: for example --compare c3 cc.")
    k = opt.number_of_clusters(clusters)
    given = (k, settings or [], recipe, labels, encoder, start, budget, share)
    planned = plan(sources or [], _words(names), parse_seeds(seeds), *given)
    if steps is not None:
        _rehearse(planned, Rehearsal(steps, batch, gpu), folder, jobs, quiet)
        return
    planned = remember(folder, planned)
    if do:
        with opt.interruptible(AGAIN):
            run(planned, folder, jobs, _printer(quiet or as_json))
    results = [result for job in planned if (result := result_of(folder, job)).status != "missing"]
    text = format.write(folder, results, [(pair[0], pair[1])])
    write_atomically(folder / "ranking.md", ranking(rows(results)).encode())
    if as_json:
        opt.json_out({"out": folder, "tables": [folder / name for name in format.FILES], "results": _plain(results)})
    elif not quiet:
        opt.out(text, wrap=False)
        opt.out(f"Tables: {folder / 'table.md'}, .tex, .csv; ranking.md; runs.csv, differences.csv")
    _plot(results, folder, quiet or as_json)
    if any(result.status == "failed" for result in results):
        raise typer.Exit(1)


def paper(
    what: Annotated[
        str,
        typer.Argument(
            help="An experiment (see: c3clust list experiments), or all.", autocompletion=complete.experiments
        ),
    ],
    dataset: Annotated[
        str,
        typer.Option(
            "--data",
            help="See: c3clust list data. Several are possible for table, fig-convergence and fig-zeta.",
            autocompletion=complete.data,
        ),
    ] = "digits",
    methods: Annotated[
        str,
        opt.methods_option("--methods", "Methods of the table.", "all"),
    ] = "",
    start: Start = None,
    seeds: Seeds = "0 1 2",
    folder: Annotated[Path, typer.Option("-o", "--out", help="Folder for all runs and the results.")] = Path(
        "runs/paper"
    ),
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="Number of parallel runs.", show_default="one per core", min=1)
    ] = None,
    again: Annotated[
        bool, typer.Option("--redraw", help="Draw the figures from existing CSV files; run nothing.")
    ] = False,
    steps: Steps = None,
    batch: Batch = None,
    gpu: Gpu = "v100",
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Run an experiment of the paper and draw its figure. Finished runs are reused.

    Examples:

      c3clust paper fig-zeta

      c3clust paper all --seeds 0-4 -o runs/paper

      c3clust paper fig-zeta -o runs/paper --redraw

      c3clust paper table --data cifar10 cifar100 --methods cc c3 --seeds 0 -o runs/table

      c3clust paper all --data cifar10 --seeds 0 --start checkpoint_1000.tar -o runs/cifar10
    """
    from c3clust.bench.plan import parse_seeds
    from c3clust.bench.rehearsal import FOLDER, Rehearsal
    from c3clust.paper import Setting, all_for, make, pairs, redraw

    rehearsal = None if steps is None else Rehearsal(steps, batch, gpu)
    folder = folder if rehearsal is None else folder / FOLDER
    named = [(d, start and start.replace("{data}", d)) for d in _words(dataset)]
    first, *others = [
        Setting(d, parse_seeds(seeds), folder, rehearsal, _words(methods), network) for d, network in named
    ]
    workers, errors, made = jobs or os.cpu_count() or 1, [], {}
    quiet = quiet or as_json
    experiments = all_for(first) if what == "all" else [what]
    for name in experiments:
        try:
            with opt.interruptible(AGAIN):
                printer = _printer(quiet, rehearsal is not None)
                files = redraw(name, folder) if again else make(name, first, folder, workers, printer, others)
        except (RunError, InputError) as error:  # the other experiments can still be made
            errors.append(error)
            continue
        made[name] = files
        if not quiet and files:
            opt.out(f"{name}: {', '.join(map(str, files))}", wrap=False)
    if rehearsal is not None:
        _report_costs(
            [pair for name in experiments for each in (first, *others) for pair in pairs(name, each)],
            rehearsal,
            folder,
            quiet,
        )
    if as_json:
        opt.json_out({"out": folder, "experiments": made, "errors": list(map(str, errors))})
    for other in errors[1:]:
        opt.fail(str(other))
    if errors:
        raise errors[0]


def _plot(results: "list[Result]", folder: Path, quiet: bool) -> None:
    """Draw the plots; without matplotlib, say what they need."""
    from c3clust.bench.statistics import rows
    from c3clust.errors import MissingExtraError
    from c3clust.paper import bench_plots

    try:
        files = bench_plots.write(folder, rows(results))
    except MissingExtraError as error:
        files = []
        if not quiet:
            opt.err(str(error))
    if files and not quiet:
        opt.out(f"Plots: {', '.join(str(path) for path in files if path.suffix == '.png')}")


def _rehearse(planned: "list[Job]", rehearsal: "Rehearsal", folder: Path, jobs: int, quiet: bool) -> None:
    from c3clust.bench import run
    from c3clust.bench.rehearsal import FOLDER

    folder = folder / FOLDER
    with opt.interruptible(AGAIN):
        results = run([rehearsal.shorten(job) for job in planned], folder, jobs, _printer(quiet, rehearsed=True))
    starts = [(job.start, r.start) for job, r in zip(planned, results, strict=True) if job.start and r.start]
    _report_costs([*starts, *zip(planned, results, strict=True)], rehearsal, folder, quiet)
    if any(result.status == "failed" for result in results):
        raise typer.Exit(1)


def _report_costs(pairs: "list[tuple[Job, Result]]", rehearsal: "Rehearsal", folder: Path, quiet: bool) -> None:
    """Print and store the table of costs."""
    from c3clust.bench.rehearsal import costs, markdown, numbers, without_epochs
    from c3clust.files.atomic import write_atomically

    found = costs(pairs, rehearsal.gpu)
    text = markdown(found, rehearsal, without_epochs(pairs))
    write_atomically(folder / "rehearsal.md", text.encode())
    write_atomically(folder / "rehearsal.csv", numbers(found, rehearsal.gpu).encode())
    if not quiet:
        opt.out(text, wrap=False)


def _plain(results: "list[Result]") -> list[dict[str, Any]]:
    """The results as JSON."""
    return [
        {
            "data": r.job.data, "method": r.job.name, "seed": r.job.seed, "status": r.status, "reason": r.reason,
            "scores": r.scores, "seconds": r.seconds, "folder": r.folder,
        }
        for r in results
    ]  # fmt: skip


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _printer(quiet: bool, rehearsed: bool = False) -> "Callable[[Result], None]":
    return (lambda result: None) if quiet else partial(_print_result, rehearsed=rehearsed)


def _print_result(result: "Result", rehearsed: bool) -> None:
    """One line per run. After the few steps of a rehearsal, scores and sizes of clusters mean nothing."""
    score = f"ACC {result.scores['acc']:.3f}" if result.scores else ""
    outcome = f"{result.status} {score} {result.reason}"
    if rehearsed and result.status in ("ok", "collapsed"):
        outcome = "rehearsed"
    text = f"{result.job.data}  {result.job.name}  seed {result.job.seed}: {outcome}"
    opt.err(f"{text.rstrip()}  {result.seconds:.0f} s", wrap=False)
