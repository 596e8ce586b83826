"""The command line: a thin door. Parse, call, print.

A mistake of the user is one sentence on standard error and exit code 2; results go to standard output.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from c3clust import __version__, bench, data, dist, encoders, methods, metrics, paper, recipes, report
from c3clust.bench import plan, table
from c3clust.errors import C3ClustError, InputError, RunError, suggest
from c3clust.recipes.settings import parse_settings
from c3clust.records import edits
from c3clust.records.assignments import Assignments, read_labels
from c3clust.records.record import RunRecord
from c3clust.report import export
from c3clust.runs import Run as RunFolder
from c3clust.runs import originals

__all__ = ["main"]

app = typer.Typer(
    help="Cluster images without labels.", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich"
)
NOUNS = {"image": "images", "vector": "samples", "text": "texts", "table": "rows"}
SHOWN = 20  # unreadable files that are named on the screen
out_console, err_console = Console(), Console(stderr=True)

Clusters = Annotated[int | None, typer.Option("-k", "--clusters", help="How many clusters.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Run = Annotated[Path, typer.Argument(help="The folder of a finished run.", show_default=False)]
Seed = Annotated[int, typer.Option("--seed", help="Same seed, same clusters.", min=0)]
Device = Annotated[str | None, typer.Option("--device", help="auto, cpu, cuda, cuda:1, mps.", show_default="auto")]
MaxBad = Annotated[float, typer.Option("--max-bad", help="Share of unreadable files that stops the run.")]

Kind = Annotated[
    str | None, typer.Option("--kind", help="What a table holds: image, text or table.", show_default="by its cells")
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", help="A column to cluster; one of words as texts. Repeatable.", show_default="all"),
]

ImageSize = Annotated[int | None, typer.Option("--image-size", help="Side in pixels.", show_default="from the images")]
Cache = Annotated[Path | None, typer.Option("--cache", help="A folder that keeps decoded images for the next time.")]
Workers = Annotated[
    int | None, typer.Option("--workers", help="Processes that decode.", show_default="one per core", min=1)
]
Memory = Annotated[
    int | None,
    typer.Option(
        "--memory", help="MB for decoded images; more are streamed.", show_default="half of what is free", min=0
    ),
]


@app.command()
def fit(
    source: Annotated[
        str | None, typer.Argument(help="A folder, archive, array, .txt or table file, or data set by name.")
    ] = None,
    clusters: Clusters = None,
    *,
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder of the new run.")],
    method: Annotated[
        str | None, typer.Option("--method", help="See: c3clust list methods.", show_default="c3")
    ] = None,
    seed: Seed = 0,
    recipe: Annotated[str | None, typer.Option("--recipe", help="See: c3clust list recipes.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A parameter, name=value; repeatable.")] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", help="'folders': sub-folders are classes, for scores.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option("--encoder", help="See: c3clust list encoders.", show_default="by the images")
    ] = None,
    embeddings: Annotated[
        bool, typer.Option("--embeddings", help="An array [n, V, F] holds V views of n samples, not pictures.")
    ] = False,
    finetune: Annotated[bool, typer.Option("--finetune", help="Train the encoder too.")] = False,
    kind: Kind = None,
    column: Columns = None,
    device: Device = None,
    image_size: ImageSize = None,
    cache: Cache = None,
    workers: Workers = None,
    memory: Memory = None,
    max_bad: MaxBad = 0.05,
    checkpoint_minutes: Annotated[
        float, typer.Option(help="A checkpoint each epoch, and after so many minutes.", min=0)
    ] = 10.0,
    guard: Annotated[bool, typer.Option(help="Stop C3 when it goes wrong, and keep its last healthy epoch.")] = True,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Cluster SOURCE and write a run folder.

    Examples:

      c3clust fit photos/ -k 8 -o runs/photos

      c3clust fit digits -k 10 -o runs/digits --seed 1 --set zeta=0.7

      c3clust fit --recipe c3-cifar10 -o runs/cifar10

      c3clust fit reviews.csv --column text -k 12 -o runs/reviews
    """
    chosen = recipes.load(recipe) if recipe else {}
    source, method = source or chosen.get("data"), method or chosen.get("method", "c3")
    clusters = clusters or chosen.get("n_clusters")
    if source is None:
        raise InputError(
            "No source was given: name a folder of images, a file, or a data set (see: c3clust list data)."
        )
    if clusters is None:
        raise InputError("The number of clusters was not given: say how many with -k.")
    base = chosen.get("params", {}) if chosen.get("method") == method else {}
    asked_for = ({"encoder": encoder} if encoder else {}) | ({"finetune": True} if finetune else {})
    params = {**parse_settings(method, settings or [], base | asked_for), "n_clusters": clusters}
    if device:
        params["device"] = device
    if not guard and "guard" in methods.parameters(method):
        params["guard"] = False
    params |= {name: _absolute(params[name]) for name in ("start", "encoder") if isinstance(params.get(name), str)}
    dist.join()
    verbose = not (quiet or as_json) and dist.rank() == 0
    if "verbose" in methods.parameters(method):
        params["verbose"] = verbose
    if image_size and "image_size" in methods.parameters(method):
        params["image_size"] = image_size
    estimator = methods.load(method)(**params, random_state=seed)
    options = {
        "labels": labels,
        "max_bad": max_bad,
        "embeddings": embeddings,
        **estimator._input_options().load_options(),
        **({"image_size": image_size} if image_size else {}),
        **_meant(kind, column),
        **_reading(cache, workers, memory),
    }
    folder = RunFolder(
        out,
        source=_absolute(source),
        options=options,
        command=shlex.join(["c3clust", *sys.argv[1:]]),
        checkpoint_minutes=checkpoint_minutes,
        resume=False,
    )
    folder.claim()
    images = data.load(source, **options)
    if verbose:
        err_console.print(f"{len(images):,} samples of {source}, {clusters} clusters, method {method}", highlight=False)
    with _interruptible(out):
        estimator.fit(images, run_dir=folder)
    assert folder.record is not None
    _finished(out, folder.record, verbose, as_json)


@app.command()
def resume(
    run: Annotated[Path, typer.Argument(help="The folder of an unfinished run.", show_default=False)],
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was interrupted, from its last checkpoint.

    Example:  c3clust resume runs/photos
    """
    dist.join()
    verbose = not (quiet or as_json) and dist.rank() == 0
    with _interruptible(run):
        _, record = methods.resume(run, verbose)
    _finished(run, record, verbose, as_json)


@contextmanager
def _interruptible(run: Path) -> Iterator[None]:
    """Ctrl-C ends a run in one sentence that says how to go on; what was trained up to the last epoch is kept."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"c3clust: stopped. Go on from the last epoch with: c3clust resume {run}", file=sys.stderr)
        raise typer.Exit(130) from None


def _finished(out: Path, record: RunRecord, verbose: bool, as_json: bool) -> None:
    if as_json and dist.rank() == 0:
        print(json.dumps({"run": str(out), "scores": record.scores, "seconds": record.seconds}))
    elif verbose:
        _summary(out, record)
    if dist.world_size() > 1:
        dist.leave()


def _absolute(place: str) -> str:
    """A place as it can be found from any folder; names of data sets stay."""
    return str(Path(place).absolute()) if place not in data.names() and Path(place).exists() else place


@app.command()
def predict(
    run: Run,
    source: Annotated[str, typer.Argument(help="A folder, archive, array, .txt or table file, or data set by name.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="A CSV file.", show_default="the screen")] = None,
    column: Columns = None,
    device: Device = None,
    cache: Cache = None,
    workers: Workers = None,
    memory: Memory = None,
    max_bad: MaxBad = 0.05,
) -> None:
    """Sort new images into the clusters of a run: name, cluster, confidence as CSV.

    Example:  c3clust predict runs/photos tomorrow/ -o tomorrow.csv
    """
    estimator = methods.load_model(run, **({"device": device} if device else {}))
    options = {**estimator._load_options(), **_meant(None, column), **_reading(cache, workers, memory)}
    images = data.load(source, max_bad=max_bad, **options)
    labels, confidence = estimator._predict(images)
    found = Assignments(images.names, labels, confidence)
    if out is None:
        sys.stdout.write(found.csv())
    else:
        found.write(out)
    _list_skipped(images.skipped)


def _meant(kind: str | None, columns: list[str] | None) -> dict[str, Any]:
    """What a table is meant to be, as far as it was said: options for `data.load`."""
    return ({"kind": kind} if kind else {}) | ({"columns": columns} if columns else {})


def _reading(cache: Path | None, workers: int | None, memory: int | None) -> dict[str, Any]:
    """How files are read: options for `data.load`, which counts memory in bytes."""
    return {
        "cache": None if cache is None else str(cache.resolve()),
        "workers": workers,
        "memory": None if memory is None else memory * 2**20,
    }


def _list_skipped(skipped: Sequence[Sequence[str]]) -> None:
    """The unreadable files, on standard error: the first twenty, and how many more."""
    for name, reason in skipped[:SHOWN]:
        err_console.print(f"skipped {name}: {reason}", markup=False, highlight=False)
    if len(skipped) > SHOWN:
        err_console.print(f"skipped {len(skipped) - SHOWN:,} more", highlight=False)


@app.command()
def evaluate(
    run: Run,
    labels: Annotated[Path | None, typer.Option("--labels", help="CSV with the columns name and label.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare a run's clusters with true labels: ACC, NMI, ARI.

    Example:  c3clust evaluate runs/digits --json
    """
    record, found = RunRecord.read(run / "record.json"), Assignments.read(run)
    path = labels or run / "labels.csv"
    if labels is None and not path.exists():
        raise InputError(f"{run} has no true labels: give a CSV file with the columns name and label as --labels FILE.")
    clusters, _ = edits.Edits.read(run, record.n_clusters).apply(found.clusters)
    scores = metrics.scores(read_labels(path, found.names), clusters)
    if as_json:
        print(json.dumps(scores))
    else:
        _scores_table([(record.method, scores)])


@app.command("report")
def report_(run: Run) -> None:
    """Write the report page of a run again, for example after clusters were named.

    Example:  c3clust report runs/photos
    """
    out_console.print(f"Report: {report.render(run)}", highlight=False)


@app.command("export")
def export_(
    run: Run,
    to: Annotated[Path, typer.Option("--to", help="A new folder, which gets one folder a cluster.")],
    min_confidence: Annotated[float, typer.Option("--min-confidence", help="Less sure images go to unsure/.")] = 0.0,
    link: Annotated[bool, typer.Option("--link", help="Link to the originals instead of copying them.")] = False,
    source: Annotated[str | None, typer.Option("--source", help="Where the images are now, if they moved.")] = None,
) -> None:
    """Copy the images of a run into one folder a cluster. The originals stay as they are.

    Example:  c3clust export runs/photos --to sorted/ --min-confidence 0.8
    """
    of = RunRecord.read(run / "record.json").data
    if of.get("kind") in ("text", "table"):
        raise InputError(f"{run} is of {NOUNS[of['kind']]}, not images: its clusters are in {run / 'assignments.csv'}.")
    place = source or of.get("place", "")
    names = Assignments.read(run).names
    files = originals(place, names)
    if files is None:
        images = data.load(place)
        if list(images.names) != list(names):
            raise InputError(f"{place!r} does not hold the images of this run: name the place with --source.")
        done = export.export(run, to, x=images.x, min_confidence=min_confidence)
    else:
        done = export.export(run, to, files=files, min_confidence=min_confidence, link=link)
    out_console.print(f"{done.n:,} images in {len(done.folders)} folders of {to}", highlight=False)
    for name in done.missing:
        err_console.print(f"could not be read: {name}", markup=False, highlight=False)


@app.command()
def label(
    run: Run, names: Annotated[list[str], typer.Argument(help='Cluster numbers and names, as 3="cats" 5="dogs".')]
) -> None:
    """Name clusters. Predictions, report and export use the names; nothing is trained again.

    Example:  c3clust label runs/photos 3="cats" 5="dogs"
    """
    given = [text.partition("=") for text in names]
    for number, equals, _ in given:
        if not equals or not number.strip().isdecimal():
            raise InputError(f"{number + equals!r} is not number=name, for example 3=cats.")
    _edited(run, edits.label(run, {int(number): name for number, _, name in given}))


@app.command()
def merge(run: Run, clusters: Annotated[list[int], typer.Argument(help="Numbers of clusters that are one.")]) -> None:
    """Make one cluster of several; it keeps the first number. Nothing is trained again.

    Example:  c3clust merge runs/photos 3 5
    """
    _edited(run, edits.merge(run, clusters))


@app.command()
def undo(run: Run) -> None:
    """Take back the last label or merge.

    Example:  c3clust undo runs/photos
    """
    _edited(run, edits.undo(run))


def _edited(run: Path, now: edits.Edits) -> None:
    """Say which clusters there are now, and bring the page up to date."""
    _, called = now.apply([])
    for number, name in called.items():
        out_console.print(f"{number}: {name}", markup=False, highlight=False)
    if (run / "view.npz").exists():
        report.render(run)


Seeds = Annotated[str, typer.Option("--seeds", help="One run for each: 0 1 2, or 0-4.")]
Jobs = Annotated[int, typer.Option("--jobs", help="Runs at the same time; with more than 1, one thread each.", min=1)]


@app.command("bench")
def bench_(
    sources: Annotated[
        list[str] | None, typer.Argument(help="Folders, archives, array files, or sets by name.")
    ] = None,
    *,
    out: Annotated[Path, typer.Option("-o", "--out", help="A folder that keeps all runs and the tables.")],
    names: Annotated[str, typer.Option("--methods", help="See: c3clust list methods.", show_default="all")] = "",
    seeds: Seeds = "0 1 2",
    clusters: Annotated[
        int | None, typer.Option("-k", "--clusters", help="How many clusters.", show_default="as many as classes")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, method.name=value; repeatable.")
    ] = None,
    recipe: Annotated[str | None, typer.Option("--recipe", help="See: c3clust list recipes.")] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", help="'folders': sub-folders are classes, for scores.")
    ] = None,
    encoder: Annotated[
        str | None, typer.Option("--encoder", help="All methods on its features. See: c3clust list encoders.")
    ] = None,
    jobs: Jobs = 1,
    compared: Annotated[str, typer.Option("--compare", help="Two methods, seed by seed.")] = "c3 cc",
    do: Annotated[bool, typer.Option("--run/--no-run", help="Run what is missing, or tabulate what is there.")] = True,
    quiet: Quiet = False,
) -> None:
    """Compare methods on data sets over seeds: a table with means and spreads.

    Each run has its own folder and is done once; the same command goes on after an interruption. Rows add up: a later
    call with other methods, data or seeds adds to the table. Without a source, it goes on with what was asked before.

    Examples:

      c3clust bench digits --methods kmeans cc c3 --seeds 0 1 2 -o runs/bench

      c3clust bench cifar10 --recipe c3-cifar10 --methods cc c3 --seeds 0 -o runs/cifar10
    """
    chosen, pair = names.replace(",", " ").split(), compared.replace(",", " ").split()
    if len(pair) != 2:
        raise InputError(f"--compare takes two methods, not {len(pair)}: for example --compare c3 cc.")
    asked = plan.plan(sources or [], chosen, plan.numbers(seeds), clusters, settings or [], recipe, labels, encoder)
    asked = bench.remember(out, asked)
    with _interruptible_bench():
        if do:
            bench.run(asked, out, jobs, _silent if quiet else _tell)
    results = [result for job in asked if (result := bench.result_of(out, job)).status != "missing"]
    text = table.write(out, results, [(pair[0], pair[1])])
    if not quiet:
        out_console.print(text, markup=False, highlight=False, soft_wrap=True)
        out_console.print(f"Tables: {out / 'table.md'}, .tex, .csv; runs.csv, differences.csv", highlight=False)
    if any(result.status == "failed" for result in results):
        raise typer.Exit(1)


@app.command("paper")
def paper_(
    what: Annotated[str, typer.Argument(help="An experiment (see: c3clust list experiments), or all.")],
    place: Annotated[str, typer.Option("--data", help="See: c3clust list data.")] = "digits",
    seeds: Seeds = "0 1 2",
    out: Annotated[Path, typer.Option("-o", "--out", help="A folder that keeps all runs and the results.")] = Path(
        "runs/paper"
    ),
    jobs: Annotated[
        int | None, typer.Option("--jobs", help="Runs at the same time.", show_default="one per core", min=1)
    ] = None,
    again: Annotated[bool, typer.Option("--redraw", help="Draw from the CSV files at hand; run nothing.")] = False,
    quiet: Quiet = False,
) -> None:
    """Run an experiment of the paper: what is missing is run, what is there is taken, the figure is drawn.

    Examples:

      c3clust paper fig-zeta

      c3clust paper all --seeds 0-4 -o runs/paper

      c3clust paper fig-zeta -o runs/paper --redraw
    """
    chosen = paper.names() if what == "all" else [what]
    setting = paper.Setting(place, plan.numbers(seeds))
    workers = jobs or os.cpu_count() or 1
    tell, failed = _silent if quiet else _tell, []
    for name in chosen:
        try:
            with _interruptible_bench():
                files = paper.redraw(name, out) if again else paper.make(name, setting, out, workers, tell)
        except (RunError, InputError) as error:  # the other experiments can still be had
            failed.append(error)
            continue
        if not quiet and files:
            out_console.print(f"{name}: {', '.join(map(str, files))}", markup=False, highlight=False, soft_wrap=True)
    for other in failed[1:]:
        print(f"c3clust: {other}", file=sys.stderr)
    if failed:
        raise failed[0]


@contextmanager
def _interruptible_bench() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        print("c3clust: stopped. Go on with the same command.", file=sys.stderr)
        raise typer.Exit(130) from None


def _silent(result: bench.Result) -> None:
    pass


def _tell(result: bench.Result) -> None:
    """One line a run."""
    found = f"ACC {result.scores['acc']:.3f}" if result.scores else ""
    words = f"{result.job.data}  {result.job.name}  seed {result.job.seed}: {result.status} {found} {result.reason}"
    err_console.print(f"{words.rstrip()}  {result.seconds:.0f} s", markup=False, highlight=False, soft_wrap=True)


@app.command("list")
def list_(what: Annotated[str, typer.Argument(help="methods, data, encoders, recipes or experiments")]) -> None:
    """Say which methods, data sets, encoders, recipes or experiments there are.

    Example:  c3clust list data
    """
    listings = {
        "methods": _list_methods,
        "data": _list_data,
        "recipes": _list_recipes,
        "encoders": _list_encoders,
        "experiments": _list_experiments,
    }
    if what not in listings:
        raise InputError(f"{what!r} cannot be listed. {suggest(what, listings)}")
    listings[what]()


@app.command()
def demo(
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder of the new run.")] = Path("runs/demo"),
    seed: Seed = 0,
) -> None:
    """Cluster scikit-learn's 1,797 handwritten digits, and compare k-means, CC and C3."""
    folder, i = out, 2
    while folder.exists():
        folder, i = out.with_name(f"{out.name}-{i}"), i + 1
    images = data.load("digits")
    err_console.print("1,797 handwritten digits of 8 x 8 pixels, 10 clusters, no labels used.", highlight=False)
    baseline = methods.load("kmeans")(n_clusters=10, random_state=seed).fit(images)
    run = RunFolder(folder, source="digits", command=f"c3clust demo --seed {seed}", resume=False)
    with _interruptible(folder):
        methods.load("c3")(10, verbose=True, random_state=seed).fit(images, run_dir=run)
    record = run.record
    assert record is not None
    assert images.y is not None
    rows = [("k-means on pixels", metrics.scores(images.y, baseline.labels_))]
    _scores_table([*rows, *_stage_scores(record)])
    _where(folder, record)


def _stage_scores(record: RunRecord) -> list[tuple[str, dict[str, float]]]:
    """The scores after each stage; the last stage's are the run's own."""
    earlier = [(f"after {s['name'].upper()}", s["scores"]) for s in record.stages if "scores" in s]
    return [*earlier, (record.method, record.scores)] if record.scores else []


def _summary(out: Path, record: RunRecord) -> None:
    if record.scores:
        _scores_table(_stage_scores(record))
    bad = record.data["skipped"]
    if bad:
        _list_skipped(bad)
        out_console.print(f"{len(bad):,} unreadable files were skipped; record.json lists them all", highlight=False)
    _where(out, record)


def _where(out: Path, record: RunRecord) -> None:
    """What there is now, and where."""
    noun = NOUNS[record.data.get("kind", "image")]
    out_console.print(
        f"{record.data['n']:,} {noun} in {record.n_clusters} clusters, {record.seconds:.0f} s", highlight=False
    )
    if record.encoder:
        taught = ", trained with labels" if record.encoder.get("labels") == "yes" else ""
        out_console.print(f"Encoder:    {record.encoder.get('name')}{taught}", markup=False, highlight=False)
    out_console.print(f"Run folder: {out}", highlight=False)
    out_console.print(f"Report:     {out / 'report.html'}", highlight=False)


def _scores_table(rows: list[tuple[str, dict[str, float]]]) -> None:
    table = Table("", "ACC", "NMI", "ARI")
    for name, scores in rows:
        table.add_row(name, *(f"{scores[key]:.3f}" for key in ("acc", "nmi", "ari")))
    out_console.print(table)


def _list_methods() -> None:
    for name in methods.names():
        out_console.print(f"{name:12} {methods.title(name)}", markup=False, highlight=False)


def _list_encoders() -> None:
    for example in encoders.examples():
        out_console.print(example, markup=False, highlight=False)


def _list_recipes() -> None:
    for name in recipes.names():
        recipe = recipes.load(name)
        out_console.print(
            f"{name:24} {recipe['method']} on {recipe['data']}, {recipe['n_clusters']} clusters", highlight=False
        )


def _list_experiments() -> None:
    for name in paper.names():
        out_console.print(f"{name:16} {paper.title(name)}", markup=False, highlight=False)


def _list_data() -> None:
    for entry in data.describe():
        out_console.print(f"[bold]{entry.name}[/bold]: {entry.what}", highlight=False)
        out_console.print(f"  {entry.found or 'not found'}", markup=False, highlight=False)
        if not entry.found:
            out_console.print(f"  looked in {', '.join(entry.looks_in)}", markup=False, highlight=False)
            out_console.print(f"  get it: {entry.fetch or entry.address}", markup=False, highlight=False)


def _version(show: bool) -> None:
    if show:
        print(f"c3clust {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _joined(words: Sequence[str]) -> list[str]:
    """--methods, --seeds and --compare take several words.

    >>> _joined(["bench", "digits", "--seeds", "0", "1", "-o", "out"])
    ['bench', 'digits', '--seeds', '0,1', '-o', 'out']
    """
    joined: list[str] = []
    for word in words:
        if joined[-2:-1] and joined[-2] in ("--methods", "--seeds", "--compare") and not word.startswith("-"):
            joined[-1] += f",{word}"
        else:
            joined.append(word)
    return joined


def main() -> None:
    """The entry point: our own errors become one sentence and exit code 2."""
    try:
        app(_joined(sys.argv[1:]))
    except (C3ClustError, OSError) as error:
        print(f"c3clust: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
