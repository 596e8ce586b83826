"""Encoders of texts that the package sentence-transformers loads: st:NAME of its hub, or st:FOLDER.

Nothing but safetensors is read, and no code that comes with a model is run. Views are made of words alone: dropout is
left to encoders/text.py.
"""

import hashlib
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from c3clust.encoders.text import UNKNOWN, TextEncoder
from c3clust.errors import InputError, MissingExtraError

__all__ = ["EXAMPLE", "claims", "load"]

EXAMPLE = "st:NAME_OR_FOLDER"


def claims(spec: str) -> bool:
    return spec.startswith("st:")


def load(spec: str) -> TextEncoder:
    """The model, from a folder, the local cache or the hub."""
    if find_spec("sentence_transformers") is None:
        raise MissingExtraError(f"encoder={spec!r} needs a package: pip install sentence-transformers.")
    from sentence_transformers import SentenceTransformer

    name = spec.removeprefix("st:")
    try:
        model = SentenceTransformer(name, device="cpu", model_kwargs={"use_safetensors": True})
    except (OSError, ValueError, RuntimeError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"encoder={spec!r} cannot be loaded: {first}") from None
    weights = f"sentence-transformers {version('sentence-transformers')}"
    about = {"name": name, "what": "a sentence encoder", "weights": weights, **UNKNOWN, "sha256": _digest(model)}
    return TextEncoder(spec, about, SentenceReader(model.eval()))


class SentenceReader:
    """A model of sentence-transformers, whose features are brought to length 1."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.width = int(self(["a"]).shape[1])

    def to(self, device: torch.device) -> None:
        self.model.to(device)

    def __call__(self, texts: Sequence[str], dropout: float = 0.0) -> Tensor:
        settings = {"convert_to_tensor": True, "normalize_embeddings": True, "show_progress_bar": False}
        return self.model.encode(list(texts), **settings)


def _digest(model: Any) -> str:
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
