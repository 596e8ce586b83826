"""Completion of values on the command line: names that begin with what was typed. Imports nothing heavy.

Where nothing is found, the shell completes paths itself. Options that take several words complete the last of them, as
in `--methods kmeans c`.
"""

import os
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from itertools import islice

from c3clust.files import catalog

__all__ = ["data", "encoders", "experiments", "last_words", "listings", "methods", "recipes", "runs"]

LISTINGS = ("data", "encoders", "experiments", "methods", "recipes")
RUN = ("record.json", "request.json", "model.json")  # a folder with one of these is a run or a saved model
MOST = 1000  # entries of a folder that are read


def _beginning(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """A completion of these names, or of the last one where several are separated by commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [before + comma + name for name in names() if name.startswith(last)]

    return complete


listings = _beginning(lambda: LISTINGS)
methods = _beginning(catalog.methods)
recipes = _beginning(catalog.recipes)
experiments = _beginning(lambda: ["all", *catalog.experiments()])


def data(incomplete: str) -> list[str]:
    """Names of datasets, and files and folders."""
    names = [name for name in catalog.datasets() if name.startswith(incomplete)]
    return [*names, *(path + os.sep * os.path.isdir(path) for path in _paths(incomplete))] if names else []


def encoders(incomplete: str) -> list[str]:
    """Specs up to the part that is to be filled in, and run folders."""
    specs = (spec[: spec.find(":") + 1] or spec for spec in catalog.encoders() if not spec.startswith("RUN_FOLDER"))
    return [*(spec for spec in ("auto", "none", *specs) if spec.startswith(incomplete)), *runs(incomplete)]


def runs(incomplete: str) -> list[str]:
    """Run folders that begin so, and those in a folder that does."""
    found = [path for path in _paths(incomplete) if os.path.isdir(path)]
    inside = [run for path in found if not _is_run(path) for run in _paths(os.path.join(path, ""))]
    return [path for path in (*found, *inside) if _is_run(path)]


def _is_run(path: str) -> bool:
    return any(os.path.isfile(os.path.join(path, name)) for name in RUN)


def _paths(incomplete: str) -> list[str]:
    """The paths that begin so; hidden ones only if a dot was typed."""
    head, typed = os.path.split(incomplete)
    names = (name for name in islice(_names(head or "."), MOST) if name.startswith(typed))
    return sorted(os.path.join(head, name) for name in names if typed.startswith(".") or not name.startswith("."))


def _names(folder: str) -> Iterator[str]:
    try:
        with os.scandir(os.path.expanduser(folder)) as entries:
            yield from (entry.name for entry in entries)
    except OSError:
        return


def last_words(environment: MutableMapping[str, str], several: Sequence[str]) -> None:
    """Drop the earlier words of an option that takes several, from the words that a shell passes for completion."""
    if "COMP_CWORD" in environment:  # bash
        text = environment.get("COMP_WORDS", "")
        space = "\n" if "\n" in text else " "
        words, at = text.split(space), int(environment["COMP_CWORD"])
        kept = _without_earlier(words[:at], several)
        environment["COMP_WORDS"], environment["COMP_CWORD"] = space.join([*kept, *words[at:]]), str(len(kept))
    if "_TYPER_COMPLETE_ARGS" in environment:  # other shells
        *words, last = environment["_TYPER_COMPLETE_ARGS"].split(" ")
        environment["_TYPER_COMPLETE_ARGS"] = " ".join([*_without_earlier(words, several), last])


def _without_earlier(words: Sequence[str], several: Sequence[str]) -> list[str]:
    """The words before the one to complete, without other values of the same option.

    >>> _without_earlier(["c3clust", "bench", "--methods", "kmeans", "cc"], ["--methods"])
    ['c3clust', 'bench', '--methods']
    """
    options = [i for i, word in enumerate(words) if word.startswith("-")]
    return list(words[: options[-1] + 1] if options and words[options[-1]] in several else words)
