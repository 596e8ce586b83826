"""review: correct the clusters of a finished run in the browser."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from c3clust.cli import options as opt
from c3clust.errors import MissingExtraError

__all__ = ["review"]

Port = Annotated[int, typer.Option("--port", help="Port on 127.0.0.1.", show_default="a free one", min=0, max=65535)]


def review(
    run: opt.Run,
    source: Annotated[
        str | None,
        typer.Option(
            "--source", help="Where the samples are, if they were moved or the run was made by somebody else."
        ),
    ] = None,
    port: Port = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    encoder: opt.SavedEncoder = None,
    method: opt.Method = None,
) -> None:
    r"""Look at the clusters in the browser and correct them. Everything is saved at once; Ctrl-C ends it.

    The page is served to this computer only. Needs the extra `review`: pip install "c3clust\[review]".

    Example:  c3clust review runs/photos
    """
    given = {"source": source, "encoder": encoder, "method": method}
    open_page(run, port, browser, {name: value for name, value in given.items() if value is not None})


def check() -> None:
    """MissingExtraError if the extra is not installed."""
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise MissingExtraError('The review page needs starlette and uvicorn: pip install "c3clust[review]".')


def open_page(run: Path, port: int = 0, browser: bool = True, given: dict[str, str] | None = None) -> None:
    """Serve the page of a run until Ctrl-C."""
    check()
    from c3clust.methods._review import ReviewedRun
    from c3clust.review.server import serve

    serve(ReviewedRun(run, **(given or {})), port, browser, lambda text: opt.out(text, wrap=False))
