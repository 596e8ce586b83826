"""The model of a run folder or of an .onnx file, loaded once per process."""

import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from c3clust.errors import InputError, RunError
from c3clust.files.atomic import expanded, read_bytes
from c3clust.records.changes import states

__all__ = ["identity", "loaded", "open_model"]

FILES = ("model.json", "change.json", "split.json", "edits.json")  # each has a hash of the tensors that belong to it


def open_model(run: str | Path, **given: Any) -> tuple[Any, dict[str, Any]]:
    """The model of a run folder or of an .onnx file, which needs no torch, and how it reads samples.

    given: parameters that a file may not decide, as of `c3clust.load`; None is none.
    """
    run, named = Path(run), {name: value for name, value in given.items() if value}
    if run.suffix == ".onnx" and not run.is_dir():
        from c3clust.export import onnx_model

        if named:
            raise InputError(f"{run} contains everything that predict needs: omit --{next(iter(named))}.")
        found = onnx_model.load(run)
        return found, found.load_options()
    from c3clust import methods

    estimator = methods.load_model(run, **named)
    return estimator, estimator.preprocessor_.load_options()


def identity(run: str | Path) -> str:
    """A hash of everything that decides on the clusters of new samples: the model, and what was edited since."""
    run = expanded(run)
    if not run.is_dir():
        paths = [run]
    else:
        paths = [state / name for state in states(run) for name in FILES if (state / name).exists()]
    digest = hashlib.sha256()
    try:
        for path in paths:
            digest.update(path.name.encode() + hashlib.sha256(read_bytes(path.resolve())).digest())
    except FileNotFoundError:
        raise RunError(f"{run} does not exist: give the folder of a finished run, or an .onnx file.") from None
    return digest.hexdigest()


@lru_cache(maxsize=4)
def loaded(run: str, known: str, given: tuple[tuple[str, Any], ...]) -> tuple[Any, dict[str, Any]]:
    """`open_model`, once per process. known: the `identity` of the run; it is loaded again when that changes."""
    return open_model(run, **dict(given))
