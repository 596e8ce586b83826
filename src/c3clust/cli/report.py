"""report, export: the page of a finished run, and its images in one folder per cluster."""

from pathlib import Path
from typing import Annotated

import typer

from c3clust.cli import options as opt

__all__ = ["export", "report"]


def report(run: opt.Run) -> None:
    """Write the report page of a run again, for example after clusters were named.

    Example:  c3clust report runs/photos
    """
    from c3clust.report import render

    opt.out(f"Report: {render(run)}")


def export(
    run: opt.Run,
    to: Annotated[Path, typer.Option("--to", help="A new folder, which gets one folder per cluster.")],
    min_confidence: Annotated[
        float,
        typer.Option("--min-confidence", help="Images below it, an estimate of being right, go to unsure/."),
    ] = 0.0,
    link: Annotated[bool, typer.Option("--link", help="Link to the originals instead of copying them.")] = False,
    source: Annotated[str | None, typer.Option("--source", help="Where the images are now, if they moved.")] = None,
    outside: opt.Outside = False,
) -> None:
    """Copy the images of a run into one folder per cluster. The originals are not changed.

    The confidence of C3 on features estimates, without labels, the chance that an image is in the right cluster. That
    of other methods is not calibrated: it orders the images, no more.

    Example:  c3clust export runs/photos --to sorted/ --min-confidence 0.8
    """
    from c3clust.report.export import export_run

    exported = export_run(run, to, source, min_confidence=min_confidence, link=link, outside=outside)
    opt.out(f"{exported.n:,} images in {len(exported.folders)} folders of {to}")
    for name in exported.missing:
        opt.err(f"could not be read: {name}")
