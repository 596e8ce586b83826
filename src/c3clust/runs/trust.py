"""What a resumed run may name: everything if it is the user's own, and only numbers if it is untrusted."""

import inspect
from dataclasses import replace
from pathlib import Path

from c3clust import data, encoders
from c3clust.errors import RunError
from c3clust.runs.config import RunConfig
from c3clust.runs.run import FEATURES

__all__ = ["trusted"]

OWN = (
    "cache",
    "root",
    "outside",
    "workers",
    "memory",
    "max_pixels",
)  # options of `data.load` that an untrusted run must not set


def trusted(
    folder: Path, config: RunConfig, source: str | None = None, cache: str | None = None, encoder: str | None = None
) -> RunConfig:
    """The config with what the user gives now. RunError if an untrusted run names what the user does not.

    A run of the same user, which its seal proves, repeats what that user requested. Of another run, the source and an
    encoder that is not built in must be given; cache, root, outside, workers, memory and max_pixels are those that are
    given, or the defaults. A file of labels that it names is not read.
    """
    unknown = set(config.options) - set(inspect.signature(data.load).parameters)
    if unknown:
        raise RunError(f"{folder / 'request.json'}: {min(unknown)!r} is not an option for reading data.")
    options = {name: value for name, value in config.options.items() if value is not None}
    if not config.is_own():
        _check_untrusted(folder, config, source, encoder)
        options = {name: value for name, value in options.items() if name not in OWN}
        if options.get("labels") != "folders":
            options.pop("labels", None)  # a file
    options |= {} if cache is None else {"cache": cache}
    params = config.params | ({} if encoder is None else {"encoder": encoder})
    return replace(config, source=source or config.source, options=options, params=params, seal=config.seal)


def _check_untrusted(folder: Path, config: RunConfig, source: str | None, encoder: str | None) -> None:
    why = f"{folder} was not started by you on this computer"
    if config.source is not None and source is None:
        named = config.source[:200]
        raise RunError(f"{why}: give its data with --source to read them. It names {named!r}.")
    kept = config.params.get("encoder")
    if encoder is None and not encoders.is_built_in(kept):
        raise RunError(f"{why}, and its encoder {str(kept)[:200]!r} is not built in: name it with --encoder.")
    if config.params.get("start") is not None:
        raise RunError(f"{why}, and starts from another run: fit again with a start that you trust.")
    if (folder.parent / FEATURES).is_symlink():
        raise RunError(f"{why}, and {folder.parent / FEATURES} next to it is a link: remove it.")
