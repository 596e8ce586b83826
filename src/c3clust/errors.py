"""The exceptions of c3clust.

    C3ClustError              everything below; the command line prints it as one sentence and exits with 2
    ├── InputError            a parameter or an array that cannot be used          (also a ValueError)
    ├── DataError             a source of images that cannot be read               (also a ValueError)
    ├── RunError              a run folder, model, record or checkpoint that cannot be used (also a ValueError)
    ├── TrainingError         training that diverged                               (also a RuntimeError)
    ├── ProcessError          another process of the same run that has ended       (also a RuntimeError)
    └── MissingExtraError     an optional dependency that is not installed         (also an ImportError)

Each message states the wrong value, what is required, and how to fix it.
"""

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "C3ClustError",
    "DataError",
    "InputError",
    "MissingExtraError",
    "ProcessError",
    "RunError",
    "TrainingError",
    "first_line",
    "suggest",
]


class C3ClustError(Exception):
    """The root of all errors that c3clust raises on purpose."""


class InputError(C3ClustError, ValueError):
    """A parameter or an array that cannot be used."""


class DataError(C3ClustError, ValueError):
    """A source of images that cannot be read."""


class RunError(C3ClustError, ValueError):
    """A run folder, model, record or checkpoint that cannot be used."""


class TrainingError(C3ClustError, RuntimeError):
    """Training that diverged."""


class ProcessError(C3ClustError, RuntimeError):
    """Another process of the same run that has ended, or cannot be reached."""


class MissingExtraError(C3ClustError, ImportError):
    """An optional dependency that is not installed."""


def first_line(error: Exception) -> str:
    """The first line of an error's message without its full stop; the name of its class if there is no message.

    >>> first_line(ValueError("No such file."))
    'No such file'
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def suggest(unknown: str, known: Iterable[str]) -> str:
    """The end of an error message about an unknown name: the nearest known one, then all of them.

    >>> suggest("kmean", ["kmeans", "cc", "c3"])
    'Did you mean kmeans? Known: c3, cc, kmeans.'
    """
    names = sorted(known)
    near = get_close_matches(unknown, names, n=1, cutoff=0.5)
    return (f"Did you mean {near[0]}? " if near else "") + f"Known: {', '.join(names)}."
