"""Several encoders of images at once, "SPEC+SPEC": their features side by side, those of each scaled to unit length.

All get the images at one size, the smallest of theirs.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust.encoders.base import about
from c3clust.encoders.image import ImageEncoder
from c3clust.errors import InputError

EXAMPLES = {
    "efficientnet-lite2+pplcnetv2": "photographs: the features of both side by side; any two encoders of images",
}


class SideBySide(nn.Module):
    """[N, C, S, S] in [0, 1] -> the features of each network, of unit length, side by side."""

    def __init__(self, networks: list[nn.Module]) -> None:
        super().__init__()
        self.networks = nn.ModuleList(networks)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([F.normalize(network(x), dim=1) for network in self.networks], dim=1)


def claims(spec: str) -> bool:
    """Whether the spec consists of several that other types claim. A path may contain a "+" itself."""
    from c3clust import encoders

    parts = spec.split("+")
    return len(parts) > 1 and all(encoders.is_known(part) for part in parts)


def load(spec: str) -> ImageEncoder:
    from c3clust import encoders

    parts = [encoders.load(part) for part in spec.split("+")]
    images = [part for part in parts if isinstance(part, ImageEncoder) and part.size]
    if len(images) < len(parts):
        other = next(part for part in parts if part not in images)
        raise InputError(f"encoder={spec!r} combines encoders of images, and {other} is not one. Name another.")
    size = min(part.size for part in images if part.size)
    network = SideBySide([part.network for part in images])
    return ImageEncoder(spec, network, _about(spec, [part.describe() for part in images]), size)


def _about(spec: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The entry of the record: what is known of each, and "yes" if one of them was trained with labels."""
    labels = {part["labels"] for part in parts}
    trained = "yes" if "yes" in labels else "unknown" if "unknown" in labels else "no"
    joined = {key: "; ".join(dict.fromkeys(str(part[key]) for part in parts)) for key in parts[0] if key != "size"}
    hashes = {key: joined[key] for key in ("weights_sha256",) if all(key in part for part in parts)}
    entry = about(spec, joined["what"], joined["weights"], joined["licence"], trained, joined["trained_on"])
    return entry | hashes
