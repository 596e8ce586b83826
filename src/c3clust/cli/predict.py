"""predict, merge-parts, evaluate: use a finished run on new samples, and compare it with true labels."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from c3clust.cli import complete
from c3clust.cli import options as opt
from c3clust.errors import InputError
from c3clust.files.atomic import open_regular

if TYPE_CHECKING:
    from c3clust.batch import Mapped
    from c3clust.records.assignments import Assignments
    from c3clust.records.edits import Edits
    from c3clust.report.sorting import Sorted

__all__ = ["evaluate", "merge_parts", "predict"]

MOST = 20  # clusters that a summary lists


def predict(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a finished run, or an .onnx file.", show_default=False, autocompletion=complete.runs
        ),
    ],
    sources: Annotated[
        list[str], typer.Argument(help=f"{opt.SOURCE} Or several image files.", autocompletion=complete.data)
    ],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="A CSV file.", show_default="the screen")] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to",
            help="Copy the images into the folders of an export, or of a new folder. Of a folder of shards (.tar or "
            ".parquet files), write a table for each shard into this folder instead.",
        ),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option("--part", help="Of shards: the part i/n of the work, 1/8 to 8/8.", show_default="all"),
    ] = None,
    z: Annotated[bool, typer.Option("--z", help="Of shards: also write the learned representation.")] = False,
    min_confidence: Annotated[
        float, typer.Option("--min-confidence", help="With --to: images with a lower confidence go to unsure/.")
    ] = 0.5,
    link: Annotated[bool, typer.Option("--link", help="With --to: link to the originals instead of copying.")] = False,
    encoder: opt.SavedEncoder = None,
    method: opt.Method = None,
    column: opt.Columns = None,
    device: opt.Device = None,
    cache: opt.Cache = None,
    workers: opt.Workers = None,
    memory: opt.Memory = None,
    max_bad: opt.MaxBad = 0.05,
    max_pixels: opt.MaxPixels = None,
    outside: opt.Outside = False,
    as_json: opt.AsJson = False,
) -> None:
    """Assign new samples to the clusters of a run: name, cluster, confidence and name of the cluster, as CSV.

    Examples:

      c3clust predict runs/photos tomorrow/ -o tomorrow.csv

      c3clust predict runs/photos tomorrow/ --to sorted/

      c3clust predict runs/photos shards/ --to parts/ --part 2/8

      c3clust predict photos.onnx tomorrow/

      c3clust predict runs/photos one.jpg --json

      c3clust predict runs/photos new/*.jpg
    """
    from c3clust import batch, data

    if out is not None and out.suffix.lower() == ".json":
        raise InputError(f"-o {out} would be a CSV file: end its name with .csv, or write --json > {out} instead.")
    if out is not None and not out.absolute().parent.is_dir():
        raise InputError(f"-o {out} cannot be written: the folder {out.parent} does not exist. Make it first.")
    if out is not None:
        _check_target(out)
    if to is None and (link or min_confidence != 0.5):
        raise InputError("--link and --min-confidence are of --to, the folder that images are copied to: add it.")
    source = sources[0] if len(sources) == 1 else _image_files(sources)
    shards = batch.shards_of(source) if to is not None or part is not None or z else None
    if shards is None and (part is not None or z):
        raise InputError(f"--part and --z are of a folder of shards (.tar or .parquet files), and {source} is none.")
    shared = _join(run) if shards is None else False
    model, reading = batch.open_model(run, device=device, encoder=encoder, method=method)
    given = opt.reading_options(column, cache, workers, memory, max_bad, outside, max_pixels)
    reading |= {name: value for name, value in given.items() if value is not None}
    if shards is not None:
        if to is None or out is not None or link or min_confidence != 0.5:
            raise InputError("Shards are assigned into a folder of tables: give --to, and neither -o nor --link.")
        chosen = batch.parse_part(part)
        tell = (lambda line: None) if as_json else opt.err
        _show_mapped(
            batch.map_shards(model, run, str(source), shards, to, part=chosen, reading=reading, z=z, tell=tell), as_json
        )
        return
    samples = data.load(source, **reading, shared=shared)
    assignments = model.assign(samples, **({"shared": True} if shared else {}))
    if opt.is_first() and to is not None:
        from c3clust.report import sorting

        files = sorting.originals(source, assignments.names, outside)
        edits = model._edits()
        done = sorting.sort_into(to, assignments, edits, files, samples.x, min_confidence=min_confidence, link=link)
        _show_sorted(done, samples.skipped, as_json)
    if opt.is_first() and (to is None or out is not None):
        _Prediction(run, source, out, assignments, model._edits(), samples.skipped).show(as_json and to is None)
    if shared:
        from c3clust import dist

        dist.leave()


def _show_sorted(done: "Sorted", skipped: Sequence[Any], as_json: bool) -> None:
    """What was copied where."""
    if as_json:
        counts = {"n": done.n, "folders": done.folders, "known": done.known, "missing": done.missing}
        opt.json_out({"to": done.to, **counts, "page": done.page, "skipped": opt.skipped_plain(skipped)})
        return
    opt.out(f"{done.n:,} new images in {len(done.folders)} folders of {done.to}")
    for folder, n in sorted(done.folders.items()):
        opt.out(f"{n:7,}  {folder}")
    if done.known:
        opt.out(f"{len(done.known):,} were there already")
    if done.page is not None:
        opt.out(f"Page: {done.page}")
    for name in done.missing:
        opt.err(f"could not be read: {name}")
    opt.print_skipped(skipped)


def _check_target(out: Path) -> None:
    """InputError if -o names a file that no predict wrote: only such a file is replaced."""
    from c3clust.records.assignments import COLUMNS

    header = ",".join((*COLUMNS, "cluster_name")).encode()
    if not os.path.lexists(out):
        return
    try:
        with open_regular(out) as file:
            same = file.read(len(header)) in (header, b"")
    except OSError:
        same = False
    if not same:
        raise InputError(f"-o {out} exists and is no list of predictions: give another name, or remove it first.")


def _image_files(paths: list[str]) -> list[str]:
    """The paths, if all are image files that exist."""
    from c3clust.data.io.decode import names_an_image

    for path in paths:
        if not names_an_image(path):
            raise InputError(f"{path} is not an image file: give several image files, or one source of another kind.")
        if not os.path.exists(path):
            raise InputError(f"{path} does not exist.")
    return paths


@dataclass(frozen=True)
class _Prediction:
    """What `predict` found. out: the CSV file; None for the screen."""

    run: Path
    source: str | list[str]
    out: Path | None
    assignments: "Assignments"
    edits: "Edits"
    skipped: Sequence[Any]

    def show(self, as_json: bool) -> None:
        """Write and print it."""
        if self.out is not None:
            self.assignments.write(self.out, self.edits.names)
        if as_json:
            opt.json_out(self.plain())
            return
        if self.out is None:
            opt.write_out(self.assignments.csv(self.edits.names))
        else:
            self.print_summary()
        opt.print_skipped(self.skipped)

    def plain(self) -> dict[str, Any]:
        """For JSON; the samples only if they are not written to a file."""
        names, found = self.edits.names, self.assignments
        rows = zip(found.names, found.clusters, found.confidence, strict=True)
        samples = [
            {"name": name, "cluster": int(m), "cluster_name": names.get(int(m)), "confidence": float(c)}
            for name, m, c in rows
        ]
        return {
            "run": self.run,
            "source": self.source,
            "out": self.out,
            "n": len(samples),
            "clusters": self.edits.plain(self.assignments.clusters),
            "samples": samples if self.out is None else None,
            "skipped": opt.skipped_plain(self.skipped),
        }

    def print_summary(self) -> None:
        """Number of samples per cluster, the largest first."""
        from collections import Counter

        counts = Counter(self.assignments.clusters.tolist())
        sizes = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
        n, clusters = len(self.assignments.clusters), "1 cluster" if len(sizes) == 1 else f"{len(sizes)} clusters"
        opt.out(f"{n:,} {'sample' if n == 1 else 'samples'} in {clusters}: {self.out}")
        for cluster, size in sizes[:MOST]:
            opt.out(f"{size:7,}  {'no cluster' if cluster < 0 else self.edits.name(cluster)}")
        if len(sizes) > MOST:
            opt.out(f"{sum(size for _, size in sizes[MOST:]):7,}  in {len(sizes) - MOST} more")


def _join(run: Path) -> bool:
    """Whether several processes share the work; if so, join them."""
    if not opt.several():
        return False
    from c3clust import dist

    dist.join()
    if run.suffix == ".onnx":
        raise InputError(
            f"{run}: an .onnx file is run by one process. Start c3clust without torchrun, or give the run folder."
        )
    return True


def _show_mapped(done: "Mapped", as_json: bool) -> None:
    """What one worker computed."""
    if as_json:
        counts = {"shards": done.shards, "done": done.done, "there": done.there, "samples": done.samples}
        opt.json_out({"to": done.to, **counts, "skipped": opt.skipped_plain(done.skipped)})
        return
    opt.out(f"{done.samples:,} samples of {done.done:,} shards in {done.to}; {done.there:,} were there already")
    opt.print_skipped(done.skipped)


def merge_parts(
    parts: Annotated[Path, typer.Argument(help="The folder that predict --to wrote the parts of shards into.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="A new Parquet file.", show_default="only check")
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Check that each sample of all shards is in the parts exactly once, and write them as one Parquet file.

    Example:  c3clust merge-parts parts/ -o all.parquet
    """
    from c3clust import batch

    done = batch.merge_parts(parts, out)
    if as_json:
        counts = {"parts": done.parts, "samples": done.samples}
        opt.json_out({**counts, "out": done.out, "skipped": opt.skipped_plain(done.skipped)})
        return
    where = "" if done.out is None else f": {done.out}"
    opt.out(f"{done.samples:,} samples of {done.parts:,} shards, each exactly once{where}")
    opt.print_skipped(done.skipped)


def evaluate(
    run: opt.Run,
    labels: Annotated[Path | None, typer.Option("--labels", help="CSV with the columns name and label.")] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Compare a run's clusters with true labels: ACC, NMI, ARI.

    Example:  c3clust evaluate runs/digits --json
    """
    from c3clust import metrics
    from c3clust.records.assignments import read_labels
    from c3clust.records.state import State

    now = State.read(run)
    path = labels or run / "labels.csv"
    if labels is None and not os.path.lexists(path):
        raise InputError(f"{run} has no true labels: give a CSV file with the columns name and label as --labels FILE.")
    true = read_labels(path, now.assignments.names, any_file=labels is not None)
    scores = metrics.scores(true, now.assignments.clusters)
    if as_json:
        opt.json_out(scores)
    else:
        opt.print_scores([(now.record.method, scores)])
