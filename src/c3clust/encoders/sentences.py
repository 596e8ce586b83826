"""Encoders of texts that the package sentence-transformers loads: st:NAME of its hub, or st:FOLDER.

Nothing but safetensors is read, and no code that comes with a model is run. Views are made of words alone: dropout is
left to encoders/text.py.
"""

import hashlib
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from c3clust.augment import Policy
from c3clust.data.images import Images
from c3clust.encoders.base import Encoder
from c3clust.encoders.text import refuse_others
from c3clust.errors import InputError, MissingExtraError

__all__ = ["EXAMPLE", "SentenceEncoder", "claims", "load"]

EXAMPLE = "st:NAME_OR_FOLDER"


def claims(spec: str) -> bool:
    return spec.startswith("st:")


def load(spec: str) -> "SentenceEncoder":
    """The model, from a folder, the local cache or the hub."""
    if find_spec("sentence_transformers") is None:
        raise MissingExtraError(f"encoder={spec!r} needs the package: pip install sentence-transformers.")
    from sentence_transformers import SentenceTransformer

    try:
        model = SentenceTransformer(spec.removeprefix("st:"), device="cpu", model_kwargs={"use_safetensors": True})
    except (OSError, ValueError, RuntimeError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"encoder={spec!r} cannot be loaded: {first}") from None
    return SentenceEncoder(spec, model.eval())


class SentenceEncoder(Encoder):
    """A model of sentence-transformers; its features are of length 1."""

    kind = "text"
    batch = 512

    def __init__(self, spec: str, model: Any) -> None:
        self.spec, self.model = spec, model
        digest = hashlib.sha256()
        for name, tensor in model.state_dict().items():
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.cpu().contiguous().view(-1).view(torch.uint8).numpy())
        self.about = {
            "name": spec.removeprefix("st:"),
            "what": "a sentence encoder",
            "weights": f"sentence-transformers {version('sentence-transformers')}",
            **dict.fromkeys(("licence", "labels", "trained_on"), "unknown"),
            "sha256": digest.hexdigest(),
        }

    def __repr__(self) -> str:
        return str(self.about["name"])

    @property
    def width(self) -> int:
        return int(self.encode(["a"]).shape[1])

    def describe(self) -> dict[str, Any]:
        return dict(self.about)

    def reading(self) -> dict[str, Any]:
        return {"kind": "text"}

    def check(self, images: Images) -> None:
        refuse_others(self, images)

    def to(self, device: torch.device) -> "SentenceEncoder":
        self.model.to(device)
        return self

    def encode(self, samples: Any, policy: Policy | None = None, generator: torch.Generator | None = None) -> Tensor:
        texts = list(samples)
        if policy is not None and generator is not None:
            texts = list(policy(texts, (), generator))  # type: ignore[arg-type]
        settings = {"convert_to_tensor": True, "normalize_embeddings": True, "show_progress_bar": False}
        with torch.inference_mode():
            return self.model.encode(texts, **settings).float().cpu().clone()
