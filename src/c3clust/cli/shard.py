"""shard: images as tar files, for streaming."""

from pathlib import Path
from typing import Annotated

import typer

from c3clust.cli import options as opt

__all__ = ["shard"]


def shard(
    source: opt.Source,
    out: Annotated[Path, typer.Option("-o", "--out", help="New folder for the shards.")],
    labels: opt.Labels = None,
    megabytes: Annotated[int, typer.Option("--megabytes", help="Approximate size of a shard.", min=1)] = 256,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the order of the images.", min=0)] = 0,
) -> None:
    """Copy images into tar shards (WebDataset), which fit and predict stream from disk or from a URL.

    Example:  c3clust shard photos/ -o shards/
    """
    from c3clust.data.shard import write_shards

    written, skipped = write_shards(source, out, labels=labels, megabytes=megabytes, seed=seed)
    opt.print_skipped(skipped)
    opt.out(f"{len(written):,} shards in {out}")
