"""Encoders: samples go in, features [n, F] come out. They bring what they learned elsewhere, and are used as they are.

A kind of encoder is a file of this folder with

    EXAMPLE                     a spec, as users write it
    claims(spec) -> bool        whether the spec is of this kind
    load(spec) -> Encoder       the encoder, or MissingExtraError with the way to get it
    suits(images) -> str|None   (optional) the spec that `encoder="auto"` takes for such samples, where this is the kind
    missing() -> str|None       (optional) what is to be installed, and what it would bring; None if all is there

so that a new kind is one new file. `register` adds a kind that lives elsewhere (saved runs: methods/__init__.py).

>>> from c3clust import encoders
>>> encoders.load("efficientnet-lite0")  # doctest: +SKIP
EfficientNet-Lite0
"""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from c3clust.data.samples import Samples
from c3clust.encoders.base import Encoder
from c3clust.encoders.store import Encoded, features
from c3clust.errors import InputError

__all__ = ["Encoded", "Encoder", "auto", "examples", "features", "load", "reading", "register", "restored", "saved"]

_elsewhere: list[Any] = []


def register(kind: Any) -> None:
    """Add a kind of encoder: an object with `EXAMPLE`, `claims` and `load`."""
    _elsewhere.append(kind)


def examples() -> list[str]:
    """One spec of each kind."""
    return [kind.EXAMPLE for kind in _kinds()]


def load(which: str | nn.Module | Encoder) -> Encoder:
    """An encoder from its spec, from a module of the user's own, or as it is."""
    if isinstance(which, Encoder):
        return which
    if isinstance(which, nn.Module):
        from c3clust.encoders.image import of_module

        return of_module(which)
    kind = next((kind for kind in _kinds() if isinstance(which, str) and kind.claims(which)), None)
    if kind is None:
        known = ", ".join(examples())
        raise InputError(f"encoder={which!r} is unknown. Known: auto, none, {known}, or any nn.Module.")
    loaded: Encoder = kind.load(which)
    return loaded


def auto(images: Samples) -> tuple[str | None, str | None]:
    """The spec of the encoder that suits these samples, if one does; else perhaps a note about one that would."""
    for kind in _kinds():
        spec = kind.suits(images) if hasattr(kind, "suits") else None
        if spec is not None:
            note = kind.missing()
            return (spec, None) if note is None else (None, note)
    return None, None


def reading(which: Any) -> dict[str, Any]:
    """Options for `data.load` before it is known what the samples are: what the encoder asked for would want."""
    if which is None or which == "none":
        return {}
    if which == "auto":
        from c3clust.encoders import efficientnet

        return {} if efficientnet.missing() else {"largest": efficientnet.SIZE}
    return load(which).reading()


def saved(encoder: Encoder) -> dict[str, Any]:
    """What a saved model keeps of its encoder, beside the tensors; `restored` turns it back."""
    return {"spec": encoder.spec, "settings": encoder.settings(), "key": encoder.key(), "about": encoder.describe()}


def restored(kept: Any, tensors: dict[str, Tensor], given: Any = None) -> Encoder | None:
    """The encoder that `saved` described, or the module that the user gives again; refused if it is another one."""
    if kept is None:
        return None
    try:
        spec, settings, key, name = kept["spec"], dict(kept["settings"]), kept["key"], str(kept["about"]["name"])
    except (KeyError, TypeError, ValueError):
        raise InputError("what it says of its encoder cannot be read.") from None
    encoder = load(spec if given is None else given)
    encoder.recall(settings, tensors)
    if encoder.key() != key:
        raise InputError(
            f"its encoder {name} is not the one that is here now: the weights differ, so features would not fit. "
            "Install the version that the run was made with."
        )
    return encoder


def _kinds() -> Iterator[Any]:
    """The modules of this folder that are kinds of encoders, then those that were registered."""
    for module in pkgutil.iter_modules(__path__):
        kind = importlib.import_module(f"{__name__}.{module.name}")
        if hasattr(kind, "claims"):
            yield kind
    yield from _elsewhere
