"""The command line: parse, call, print. One file per group of commands, which import what they need when they run.

Only the file of the command that was named is imported, and all of them for help and completion.

A mistake of the user is one sentence on standard error and exit code 2; results go to standard output.
"""

import logging
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated

import typer

from c3clust import __version__
from c3clust.cli import complete
from c3clust.cli import options as opt
from c3clust.errors import C3ClustError, ProcessError, first_line

__all__ = ["main"]

COMMANDS = {  # the module and the function of each
    "fit": ("fit", "fit"),
    "resume": ("fit", "resume"),
    "predict": ("predict", "predict"),
    "merge-parts": ("predict", "merge_parts"),
    "evaluate": ("predict", "evaluate"),
    "report": ("report", "report"),
    "export": ("report", "export"),
    "import": ("report", "import_"),
    "label": ("edit", "label"),
    "merge": ("edit", "merge"),
    "move": ("edit", "move"),
    "discard": ("edit", "discard"),
    "answer": ("edit", "answer"),
    "split": ("edit", "split"),
    "regroup": ("edit", "regroup"),
    "undo": ("edit", "undo"),
    "review": ("review", "review"),
    "bench": ("bench", "bench"),
    "paper": ("bench", "paper"),
    "list": ("listing", "list_"),
    "encoders": ("encoders", "encoders"),
    "demo": ("fit", "demo"),
    "shard": ("shard", "shard"),
}
SHARED = ("fit", "resume", "predict")  # commands whose work several processes share; the first one does the others
SEVERAL = ("--methods", "--seeds", "--compare", "--data")  # options that take several words


def _version(show: bool) -> None:
    if show:
        print(f"c3clust {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _app(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands."""
    app = typer.Typer(
        help="Cluster images without labels.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback()(_options)
    for name in names:
        module, function = COMMANDS[name]
        app.command(name)(getattr(import_module(f"c3clust.cli.{module}"), function))
    return app


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
    """The entry point. Every error becomes one message and exit code 2; C3CLUST_DEBUG=1 shows the traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a pipe on Windows may lack the letters of a file name
            stream.reconfigure(errors="backslashreplace")
    log = logging.getLogger("c3clust")
    if not log.handlers:
        log.addHandler(opt.Messages())
    words = _joined(sys.argv[1:])
    if opt.several():
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # its warnings about connections of ended processes
    if not opt.is_first():
        if not words or words[0] not in SHARED:
            return
        opt.silence()
    try:
        with opt.terminable():
            complete.last_words(os.environ, SEVERAL)
            app = _app(words[:1] if words and words[0] in COMMANDS else COMMANDS)
            app(words, prog_name="c3clust")
    except Exception as error:
        if os.environ.get("C3CLUST_DEBUG"):
            raise
        opt.fail(_sentence(error), followed=isinstance(error, ProcessError))
        sys.exit(2)


def _sentence(error: Exception) -> str:
    """The message that is printed for an error."""
    if isinstance(error, C3ClustError):
        return str(error)
    if isinstance(error, BrokenPipeError):
        return "The output was closed before everything was written."
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}." if error.filename and error.strerror else f"{error}."
    if isinstance(error, MemoryError):
        return "Out of memory: give fewer or smaller samples, or set --memory."
    return (
        f"Unexpected error ({type(error).__name__}: {first_line(error)}): a file is damaged, or c3clust has a bug. "
        "Set C3CLUST_DEBUG=1 to see where."
    )
