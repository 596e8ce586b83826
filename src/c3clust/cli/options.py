"""Options that several commands share, and how results are printed. Commands import this module as `opt`."""

import logging
import math
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from shutil import get_terminal_size
from textwrap import fill
from typing import IO, Annotated, Any

import typer

from c3clust.checks import SEEDS
from c3clust.cli import complete
from c3clust.errors import InputError, ProcessError
from c3clust.files.text import encoded, printable

NOUNS = {"image": "images", "vector": "samples", "text": "texts", "table": "rows"}
MAX_SKIPPED = 20  # unreadable files that are listed on the screen

# Options of less use have panels of their own in --help, below the others.
data_option = partial(typer.Option, rich_help_panel="Data")
method_option = partial(typer.Option, rich_help_panel="Method")
run_option = partial(typer.Option, rich_help_panel="Run")
output_option = partial(typer.Option, rich_help_panel="Output")


def clusters_option(help: str, default: str) -> Any:
    return typer.Option("-k", "--clusters", help=help, show_default=default, metavar="NUMBER")


def methods_option(name: str, help: str, default: str) -> Any:
    return typer.Option(name, help=help, show_default=default, autocompletion=complete.methods)


def encoder_option(help: str, default: str | bool = False) -> Any:
    return typer.Option("--encoder", help=help, show_default=default, autocompletion=complete.encoders)


def start_option(more: str = "") -> Any:
    help = f"Stage 1 of CC and C3: a run folder, or a checkpoint of CC's released code.{more}"
    return method_option("--start", help=help, show_default="train CC", autocompletion=complete.runs)


SOURCE = "A folder, archive, array or table, a .txt file of texts or of image paths, or the name of a data set."
Source = Annotated[str, typer.Argument(help=SOURCE, autocompletion=complete.data)]
Clusters = Annotated[str | None, clusters_option("Number of clusters; auto estimates it.", "auto")]
AsJson = Annotated[bool, output_option("--json", help="Print only the result, as JSON.")]
Quiet = Annotated[bool, output_option("--quiet", "-q", help="Print errors only.")]
Run = Annotated[
    Path, typer.Argument(help="The folder of a finished run.", show_default=False, autocompletion=complete.runs)
]
NewRun = Annotated[Path, typer.Option("-o", "--out", help="The folder of the new run.")]
NamedRun = Annotated[
    Path | None, typer.Option("-o", "--out", help="The folder of the new run.", show_default="runs/NAME of the source")
]
SavedEncoder = Annotated[str | None, encoder_option("Encoder of the run; required if it is not built in.")]
Seed = Annotated[
    int, typer.Option("--seed", help="Random seed: the same seed gives the same clusters.", min=0, max=SEEDS - 1)
]
Recipe = Annotated[
    str | None, method_option("--recipe", help="See: c3clust list recipes.", autocompletion=complete.recipes)
]
Start = Annotated[str | None, start_option()]
Labels = Annotated[
    str | None,
    typer.Option(
        "--labels", help="True labels, for scores only: 'folders' (sub-folders are classes), or a .npy or .csv file."
    ),
]
Method = Annotated[
    str | None, method_option("--method", help="MODULE:CLASS, if the method of the run is not part of c3clust.")
]
Device = Annotated[str | None, run_option("--device", help="auto, cpu, cuda, cuda:1, mps.", show_default="auto")]
MaxBad = Annotated[float, data_option("--max-bad", help="Fraction of unreadable files that stops the run.")]
Columns = Annotated[
    list[str] | None,
    data_option(
        "--column",
        help="A column to cluster; a single column of words is read as texts. Repeatable.",
        show_default="all",
    ),
]
MaxPixels = Annotated[
    int | None,
    data_option(
        "--max-pixels", help="Pixels of one image; larger JPEGs are read reduced.", show_default="89478485", min=1
    ),
]
Outside = Annotated[bool, data_option("--outside", help="Allow a list of images to name files outside of its folder.")]
Cache = Annotated[Path | None, data_option("--cache", help="Folder that stores decoded images for later runs.")]
Workers = Annotated[
    int | None,
    data_option("--workers", help="Number of processes that decode images.", show_default="one per core", min=1),
]
Memory = Annotated[
    int | None,
    data_option(
        "--memory",
        help="MB of images held in memory; larger data are streamed, and k-means uses mini-batches.",
        show_default="half of the free memory",
        min=0,
    ),
]


def number_of_clusters(text: str | None) -> int | str | None:
    """The value of -k: an integer, or "auto"."""
    if text is None or text == "auto":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"-k {text} is neither a positive integer nor auto, which estimates the number.")
    return int(text)


def reading_options(
    columns: list[str] | None,
    cache: Path | None,
    workers: int | None,
    memory: int | None,
    max_bad: float,
    outside: bool = False,
    max_pixels: int | None = None,
) -> dict[str, Any]:
    """How files are read: options for `data.load`, which counts memory in bytes."""
    return {
        "columns": columns or None,
        "cache": None if cache is None else str(cache.resolve()),
        "workers": workers,
        "memory": None if memory is None else memory * 2**20,
        "max_bad": max_bad,
        "outside": outside or None,
        "max_pixels": max_pixels,
    }


def new_run(name: str) -> Path:
    """A folder in runs/ that does not exist, by the name of a source or a recipe.

    >>> new_run("/home/me/Holiday 2024.tar.gz").as_posix()
    'runs/Holiday 2024'
    """
    path = Path(name).absolute()
    return free_folder(Path("runs") / ((path.name if path.is_dir() else path.name.partition(".")[0]) or "run"))


def free_folder(folder: Path) -> Path:
    """The folder, with a number appended if it exists."""
    numbered = (folder.with_name(f"{folder.name}-{i}") for i in count(2))
    return folder if not os.path.lexists(folder) else next(path for path in numbered if not os.path.lexists(path))


def out(text: str, wrap: bool = True) -> None:
    """Print a result."""
    print(_wrapped(printable(text), sys.stdout) if wrap else printable(text))


def err(text: str, wrap: bool = True) -> None:
    """Print a message on standard error."""
    print(_wrapped(printable(text), sys.stderr) if wrap else printable(text), file=sys.stderr)


def _wrapped(text: str, stream: IO[str]) -> str:
    """The text wrapped to the width of the terminal; addresses and paths are not broken."""
    if not stream.isatty():
        return text
    width = get_terminal_size().columns
    return "\n".join(
        fill(line, width, break_long_words=False, break_on_hyphens=False, drop_whitespace=False) if line else ""
        for line in text.split("\n")
    )


def json_out(content: Any) -> None:
    """Print a result as one line of JSON (docs/CLI_JSON.md); numbers that are not finite become null."""
    import json

    print(json.dumps(_plain(content), allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, str | int | None) else value.item() if hasattr(value, "item") else str(value)


def skipped_plain(skipped: Sequence[Sequence[str]]) -> list[dict[str, str]]:
    """Unreadable files as JSON."""
    return [{"name": name, "reason": reason} for name, reason in skipped]


def fail(sentence: str, followed: bool = False) -> None:
    """Print an error on standard error, in one line. Of several processes, one prints for all.

    followed: this process ends because others ended, or because of a signal.
    """
    if several():
        from c3clust import dist

        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # which torchrun sends when one process has failed
        words = dist.last_words(sentence, followed) if dist.world_size() > 1 or is_first() else None
        if words is None:
            return
        sentence = words
    stream = sys.__stderr__ if several() else sys.stderr
    print(printable(f"c3clust: {' '.join(sentence.split())}"), file=stream)


def several() -> bool:
    """Whether torchrun or SLURM started this process as one of several."""
    return os.environ.get("WORLD_SIZE", "1").isdecimal() and int(os.environ.get("WORLD_SIZE", "1")) > 1


def is_first() -> bool:
    """Whether this process is the one that prints and writes."""
    return not several() or os.environ.get("RANK", "0") == "0"


def silence() -> None:
    """From here on, print nothing but the error of `fail`."""
    sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def write_out(content: str) -> None:
    """Write the content of a file to standard output; on a terminal, control characters are escaped."""
    if sys.stdout.isatty():
        sys.stdout.write(printable(content.replace("\r\n", "\n")))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(encoded(content))
        sys.stdout.buffer.flush()


class Messages(logging.Handler):
    """Log messages on standard error, one line each."""

    def emit(self, record: logging.LogRecord) -> None:
        print(printable(record.getMessage()), file=sys.stderr)


def print_scores(rows: Sequence[tuple[str, dict[str, float]]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("", "ACC", "NMI", "ARI")
    for name, scores in rows:
        table.add_row(printable(name), *(f"{scores[key]:.3f}" for key in ("acc", "nmi", "ari")))
    Console().print(table)


def print_skipped(skipped: Sequence[Sequence[str]]) -> None:
    """List the unreadable files on standard error: the first twenty, and how many more there are."""
    for name, reason in skipped[:MAX_SKIPPED]:
        err(f"skipped {name}: {reason}")
    if len(skipped) > MAX_SKIPPED:
        err(f"skipped {len(skipped) - MAX_SKIPPED:,} more")


class Terminated(SystemExit):
    """SIGTERM or SIGHUP, as an exception, so that temporary files are removed. code: 128 and the number."""


@contextmanager
def terminable() -> Iterator[None]:
    """Turn SIGTERM, and SIGHUP of a closed terminal, into one message and exit code 143 or 129. nohup still holds."""

    def end(number: int, _: Any) -> None:
        raise Terminated(128 + number)

    signals = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signals.append(signal.SIGHUP)
    before = [(each, signal.signal(each, end)) for each in signals]
    try:
        yield
    except Terminated as error:
        fail(f"stopped by {signal.Signals(int(error.code or 0) - 128).name}.", followed=True)
        raise SystemExit(error.code) from None
    finally:  # torchrun sends SIGTERM to a failed process too, while it exchanges its last message
        for each, handler in before:
            signal.signal(each, signal.SIG_IGN if several() else handler)


@contextmanager
def interruptible(advice: str) -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and SIGHUP into one message with advice how to continue, and an exit code."""
    try:
        yield
    except (KeyboardInterrupt, Terminated) as error:
        fail(f"stopped. {advice}", followed=True)
        raise typer.Exit(int(error.code or 0) if isinstance(error, Terminated) else 130) from None
    except ProcessError:
        fail(f"All processes stopped. {advice}", followed=True)
        raise typer.Exit(2) from None
