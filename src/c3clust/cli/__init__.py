"""The command line: parse, call, print. One file per group of commands, which import what they need when they run.

A mistake of the user is one sentence on standard error and exit code 2; results go to standard output.
"""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from c3clust import __version__
from c3clust.cli import bench, edit, fit, listing, predict, report
from c3clust.cli import options as opt
from c3clust.errors import C3ClustError

__all__ = ["main"]

COMMANDS: dict[str, Callable[..., None]] = {
    "fit": fit.fit,
    "resume": fit.resume,
    "predict": predict.predict,
    "evaluate": predict.evaluate,
    "report": report.report,
    "export": report.export,
    "label": edit.label,
    "merge": edit.merge,
    "undo": edit.undo,
    "bench": bench.bench,
    "paper": bench.paper,
    "list": listing.list_,
    "demo": fit.demo,
}
SEVERAL = ("--methods", "--seeds", "--compare")  # options that take several words

app = typer.Typer(
    help="Cluster images without labels.", no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich"
)
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)


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
    """Join the words of options that take several.

    >>> _joined(["bench", "digits", "--seeds", "0", "1", "-o", "out"])
    ['bench', 'digits', '--seeds', '0,1', '-o', 'out']
    """
    joined: list[str] = []
    for word in words:
        if joined[-2:-1] and joined[-2] in SEVERAL and not word.startswith("-"):
            joined[-1] += f",{word}"
        else:
            joined.append(word)
    return joined


def main() -> None:
    """The entry point: errors of c3clust become one sentence and exit code 2."""
    try:
        with opt.terminable():
            app(_joined(sys.argv[1:]))
    except (C3ClustError, OSError) as error:
        print(f"c3clust: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(2)
