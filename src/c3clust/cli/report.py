"""report, export, import: the report page, images in folders, models as files, checkpoints of CC's released code."""

from pathlib import Path
from typing import Annotated

import typer

from c3clust.cli import options as opt
from c3clust.errors import RunError

__all__ = ["export", "import_", "report"]


def report(run: opt.Run, as_json: opt.AsJson = False) -> None:
    """Write the report page of a run again, and its lists of clusters and assignments.

    Example:  c3clust report runs/photos
    """
    from c3clust.report import editing

    page = editing.update(run)
    opt.json_out({"run": run, "report": page}) if as_json else opt.out(f"Report: {page}")


def export(
    run: opt.Run,
    to: Annotated[
        Path, typer.Option("--to", help="New folder for one sub-folder per cluster, or new file for a model.")
    ],
    kind: Annotated[
        str,
        typer.Option(
            "--format", help="folders: the images; onnx, hf: the model; cc: the network, for CC's released code."
        ),
    ] = "folders",
    min_confidence: Annotated[
        float,
        typer.Option("--min-confidence", help="Images with a lower confidence go to unsure/."),
    ] = 0.0,
    link: Annotated[bool, typer.Option("--link", help="Link to the originals instead of copying them.")] = False,
    source: Annotated[str | None, typer.Option("--source", help="Where the images are, if they were moved.")] = None,
    outside: opt.Outside = False,
    encoder: opt.SavedEncoder = None,
    as_json: opt.AsJson = False,
) -> None:
    """Copy the images of a run into one folder per cluster, or its model into a file. Originals are not changed.

    The confidence of C3 on features estimates, without labels, the probability that an image is in the right
    cluster. That of other methods is not calibrated: it only ranks the images.

    Examples:

      c3clust export runs/photos --to sorted/ --min-confidence 0.8

      c3clust export runs/photos --format onnx --to photos.onnx

      c3clust export runs/cc --format cc --to checkpoint_1000.tar
    """
    from c3clust import checks

    if checks.choice("--format", kind, ("folders", "onnx", "hf", "cc")) in ("onnx", "hf"):
        _export_model(run, to, kind, encoder, as_json)
        return
    if kind == "cc":
        from c3clust.methods import export_checkpoint

        export_checkpoint(run, to)
        opt.json_out({"run": run, "to": to}) if as_json else opt.out(f"Checkpoint: {to}")
        return
    from c3clust.report.export import export_run

    exported = export_run(run, to, source, min_confidence=min_confidence, link=link, outside=outside)
    if as_json:
        counts = {"n": exported.n, "folders": exported.folders, "missing": exported.missing}
        opt.json_out({"run": run, "to": to, **counts})
        return
    opt.out(f"{exported.n:,} images in {len(exported.folders)} folders of {to}")
    for name in exported.missing:
        opt.err(f"could not be read: {name}")


def _export_model(run: Path, to: Path, kind: str, encoder: str | None, as_json: bool) -> None:
    """The model as an ONNX file, or as a folder in the layout of Hugging Face."""
    from c3clust.methods import load_model

    model = load_model(run, **({"encoder": encoder} if encoder else {}))
    if kind == "onnx":
        message = f"Model: {model.to_onnx(to)}, {to.stat().st_size:,} bytes"
    elif to.exists():
        raise RunError(f"{to} exists: give the name of a new folder.")
    else:
        model.save_pretrained(to)
        message = f"Model: {to}, with its card {to / 'README.md'}"
    opt.json_out({"run": run, "to": to}) if as_json else opt.out(message)


def import_(
    checkpoint: Annotated[Path, typer.Argument(help="checkpoint_1000.tar, of CC's released code.", show_default=False)],
    folder: Annotated[Path, typer.Option("-o", "--out", help="A new folder for the model.")],
    image_size: Annotated[int, typer.Option("--image-size", help="Side of its images in pixels.", min=1)] = 224,
    as_json: opt.AsJson = False,
) -> None:
    """Save the network of a checkpoint of CC's released code, to predict with it or to start C3 from it.

    Example:  c3clust import checkpoint_1000.tar -o runs/cc
    """
    from c3clust.methods import import_checkpoint

    found = import_checkpoint(checkpoint, folder, image_size)
    if as_json:
        opt.json_out(
            {
                "model": folder,
                "backbone": found.backbone,
                "n_clusters": found.n_clusters,
                "epochs": found.epochs,
                "image_size": image_size,
            }
        )
        return
    opt.out(f"{found.backbone}, {found.n_clusters} clusters, {found.epochs} epochs, {image_size} px")
    opt.out(f"Model: {folder}")
    opt.out(
        f"Start C3 from it: c3clust fit SOURCE -k {found.n_clusters} --recipe c3-as-published --start {folder} -o RUN"
    )
