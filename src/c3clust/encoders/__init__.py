"""Encoders: a dataset of images, texts or table rows -> features [n, F], by a model that is not trained further.

Each type of encoder is a file of this folder with

    EXAMPLES                      what each spec is, by spec as users write it; literals, which files/catalog.py reads
    BUILT_IN                      (optional) the specs whose weights are installed as a package, or that have none. Only
                                  these are loaded because a file names them (docs/SECURITY.md)
    claims(spec) -> bool          whether the spec is of this type
    load(spec) -> Encoder         the encoder, or MissingExtraError
    suits(dataset) -> str | None  (optional) the spec that `encoder="auto"` uses for this dataset, if any
    missing() -> str | None       (optional, with `suits`) the package to install; None if it is installed
    better(spec) -> str | None    (optional, with `suits`) a note if a better one than this spec can be added

New files are discovered automatically. `register` adds a type that is defined elsewhere (saved runs).

>>> from c3clust import encoders
>>> encoders.load("efficientnet-lite0")  # doctest: +SKIP
EfficientNet-Lite0
"""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from torch import nn

from c3clust.data.samples import Dataset
from c3clust.encoders.base import Encoder
from c3clust.encoders.store import LazyFeatures, features, lazy_features
from c3clust.errors import InputError
from c3clust.files import catalog

__all__ = [
    "Encoder", "LazyFeatures", "auto", "examples", "features", "from_config", "is_built_in", "is_known",
    "lazy_features", "load", "load_options", "register", "to_config",
]  # fmt: skip

_registered: list[Any] = []


def register(kind: Any) -> None:
    """Add a type of encoder: an object with `EXAMPLES`, `claims` and `load`."""
    _registered.append(kind)


def examples() -> list[str]:
    """The specs of all types."""
    return list(catalog.encoders())


def load(which: str | nn.Module | Encoder) -> Encoder:
    """An encoder from its spec or from a module; an Encoder is returned unchanged."""
    if isinstance(which, Encoder):
        return which
    if isinstance(which, nn.Module):
        from c3clust.encoders.image import from_module

        return from_module(which)
    kind = next((kind for kind in _kinds() if isinstance(which, str) and kind.claims(which)), None)
    if kind is None:
        known = ", ".join(examples())
        raise InputError(f"encoder={which!r} is unknown. Known: auto, none, {known}, or any nn.Module.")
    return kind.load(which)


def is_built_in(which: Any) -> bool:
    """Whether a file may name this encoder: it is one of c3clust's own, or none."""
    if which in (None, "auto", "none"):
        return True
    names = {name for kind in _kinds() for name in getattr(kind, "BUILT_IN", ())}
    return isinstance(which, str) and names.issuperset(which.split("+"))


def is_known(spec: str) -> bool:
    """Whether a type of encoder of this package claims the spec."""
    return any(kind.claims(spec) for kind in _kinds() if kind not in _registered)


def auto(dataset: Dataset) -> tuple[str | None, str | None]:
    """The spec of the encoder that suits this dataset, if it is there; and a note about one that would suit better."""
    for kind in _kinds():
        spec = kind.suits(dataset) if hasattr(kind, "suits") else None
        if spec is not None:
            note = kind.missing()
            if note is not None:
                return None, note
            return spec, kind.better(spec) if hasattr(kind, "better") else None
    return None, None


def load_options(which: Any) -> dict[str, Any]:
    """Options of `data.load` for the parameter `encoder`, before the type of the dataset is known."""
    if which is None or which == "none":
        return {}
    if which == "auto":
        from c3clust.encoders import photographs, weights

        best = photographs.there()
        return {} if best is None else {"largest": weights.table()[best].size}
    return load(which).load_options()


def to_config(encoder: Encoder) -> dict[str, Any]:
    """The entry "encoder" of a saved model: spec, state and key, without the weights."""
    return {"spec": encoder.spec, "settings": encoder.state(), "key": encoder.key(), "about": encoder.describe()}


def from_config(config: Any, given: Any = None) -> Encoder | None:
    """The encoder of `to_config`: a built-in one, or the one the user gave. InputError if its key is another one."""
    if config is None:
        return None
    try:
        spec, state, key, about = config["spec"], dict(config["settings"]), config["key"], config["about"]
        name, weights = str(about["name"]), str(about["weights"])
    except (KeyError, TypeError, ValueError):
        raise InputError("its entry for the encoder cannot be read.") from None
    if given is None and not is_built_in(spec):
        raise InputError(f"its encoder {name} is not built in: it is only loaded if you give it again.")
    encoder = load(spec if given is None else given)
    if isinstance(given, str):
        encoder.rename(spec, name, weights)
    encoder.load_state(state)
    if encoder.key() != key:
        raise InputError(
            f"its encoder {name} has other weights than the installed one, so its features differ. "
            "Install the version that the run used."
        )
    return encoder


def _kinds() -> Iterator[Any]:
    """The modules of this folder that define a type of encoder, then the registered types."""
    for module in pkgutil.iter_modules(__path__):
        kind = importlib.import_module(f"{__name__}.{module.name}")
        if hasattr(kind, "claims"):
            yield kind
    yield from _registered
