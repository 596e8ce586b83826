"""shard: pictures as tar files, for data that are streamed."""

from pathlib import Path
from typing import Annotated

import typer

from c3clust.cli import options as opt

__all__ = ["shard"]


def shard(
    source: opt.Source,
    out: Annotated[Path, typer.Option("-o", "--out", help="The folder of the shards, a new one.")],
    labels: opt.Labels = None,
    megabytes: Annotated[int, typer.Option("--megabytes", help="Size of a shard, about.", min=1)] = 256,
    seed: Annotated[int, typer.Option("--seed", help="Of the order of the pictures.", min=0)] = 0,
) -> None:
    """Copy pictures into tar shards (WebDataset), which fit and predict stream from disk or from a URL.

    Example:  c3clust shard photos/ -o shards/
    """
    from c3clust.data.shard import write_shards

    written, skipped = write_shards(source, out, labels=labels, megabytes=megabytes, seed=seed)
    opt.print_skipped(skipped)
    opt.out(f"{len(written):,} shards in {out}")
