"""What an encoder is: samples -> [N, F]. Each kind is one subclass; none is subclassed again."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from c3clust.augment import Policy
from c3clust.data.samples import Samples

__all__ = ["Encoder"]


class Encoder:
    """Turns samples into features, and knows how samples must look for that.

    spec: the string from which `encoders.load` makes it again; "" if only the user's own code can.
    kind: what it takes: "image", "text" or "table".
    batch: how many samples are encoded at once, so that memory is bounded.
    scaled: whether its features are on a common scale already, and stay as they are.
    leads: whether a cluster head begins with the clusters of its features, not with those of a z trained on them.
    on_views: the policy that is applied to its stored views once more, when a pair is drawn.
    notes: what `fit` wants the owner of a run to know, one sentence each.
    """

    spec: str = ""
    kind: str = "image"
    batch: int = 64
    scaled: bool = False
    leads: bool = False
    on_views: str = "none"
    notes: Sequence[str] = ()

    @property
    def width(self) -> int:
        """F, how many features there are."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """For the record: "name", "what", "weights" (where they are from), "licence", and
        "labels": "yes" | "no" | "unknown", whether it was trained with labels; "trained_on" says with which data.
        """
        raise NotImplementedError

    def encode(self, samples: Any, policy: Policy | None = None, generator: torch.Generator | None = None) -> Tensor:
        """Features [N, F] float32 on the CPU of the samples as `data.batches` gives them.

        With a policy, those of one random view of each sample; all randomness comes from the generator.
        """
        raise NotImplementedError

    def check(self, images: Samples) -> None:
        """Refuse, as InputError, samples that cannot be encoded."""

    def taken(self, images: Samples) -> Samples:
        """The samples as `encode` takes them, checked."""
        self.check(images)
        return images

    def on_features(self, policy: Policy) -> Policy | None:
        """How views are made of the features, where that is as good as views of the samples; None: it is not."""
        return None

    def fit(self, images: Samples) -> None:
        """Learn what depends on the data (scales, categories). Encoders that bring their weights learn nothing."""

    def settings(self) -> dict[str, Any]:
        """What a saved model must remember beside the spec, as JSON can hold it."""
        return {}

    def tensors(self) -> dict[str, Tensor]:
        """And what it must remember as tensors."""
        return {}

    def recall(self, settings: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Take back what `settings` and `tensors` gave."""

    def reading(self) -> dict[str, Any]:
        """Options for `data.load`, so that samples come as they are best encoded."""
        return {}

    def at(self, size: int | None) -> "Encoder":
        """Take pictures at another size from now on, where there are pictures; None changes nothing."""
        return self

    def to(self, device: torch.device) -> "Encoder":
        """Work on this device from now on."""
        return self

    def key(self) -> str:
        """A hash of all that decides the features. Same key, same features."""
        plain = {"spec": self.spec, "kind": self.kind, "settings": self.settings(), "about": self.describe()}
        digest = hashlib.sha256(json.dumps(plain, sort_keys=True).encode())
        for name, tensor in sorted(self.tensors().items()):
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()
