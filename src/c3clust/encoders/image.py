"""Encoders of pictures: a torch module and the way its pixels must look. [N, C, H, W] in [0, 1] -> [N, F]."""

import hashlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from c3clust import augment
from c3clust.augment import Policy
from c3clust.data.samples import Samples
from c3clust.encoders.base import Encoder
from c3clust.errors import InputError

__all__ = ["ImageEncoder", "Prepared", "of_module"]

PIXELS = 2**20  # of a batch: 64 pictures at 128 px, 20 at 224 px


class Prepared(nn.Module):
    """A module with its preparation in front: grey made three channels if it needs three, then (x - mean) / std.

    Trained with a network (finetune), it learns at a tenth of the rate: it starts from what it knows.
    """

    rate = 0.1
    mean: Tensor
    std: Tensor

    def __init__(self, module: nn.Module, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        self.module = module
        self.register_buffer("mean", torch.tensor(mean).view(1, -1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(1, -1, 1, 1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.module(
            (x.expand(-1, 3, -1, -1) if self.mean.numel() == 3 else x).sub(self.mean).div(self.std)
        ).flatten(1)


class ImageEncoder(Encoder):
    """A module that takes pictures of `size` pixels (None: any), with mean and std of the pixels it was trained on.

    One mean for each of three channels says that it takes three; a single one, that it takes what it gets.

    A handful of views is soon known by heart: then z tells pictures apart, not groups. So pairs get noise and gaps as
    well (500 photographs, seed 1, k-means in z after CC: ACC .50 without, .88 with; its head has .86 and .84).
    """

    kind = "image"
    on_views = "vector"

    def __init__(
        self,
        spec: str,
        module: nn.Module,
        about: dict[str, Any],
        size: int | None = None,
        mean: Sequence[float] = (0.0,),
        std: Sequence[float] = (1.0,),
    ) -> None:
        self.spec, self.about, self.size = spec, about, size
        self.network = Prepared(module, mean, std).eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.shape = (3, size, size) if size else None
        self._width: int | None = None

    def __repr__(self) -> str:
        return str(self.about["name"])

    @property
    def batch(self) -> int:  # type: ignore[override]
        side = max(self.shape[1:]) if self.shape else 64
        return int(min(max(PIXELS // side**2, 8), 256))

    @property
    def width(self) -> int:
        if self._width is None:
            if self.shape is None:
                raise InputError(f"{self} has not seen a picture yet: encode some first.")
            self._width = int(self.encode(torch.zeros(1, *self.shape)).shape[1])
        return self._width

    def describe(self) -> dict[str, Any]:
        return {**self.about, "size": self.size}

    def settings(self) -> dict[str, Any]:
        return {"size": self.size}

    def recall(self, settings: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.at(settings.get("size"))

    def reading(self) -> dict[str, Any]:
        return {"largest": self.size} if self.size else {}

    def at(self, size: int | None) -> "ImageEncoder":
        """Work at another size from now on; None changes nothing."""
        if size is not None:
            self.size, self._width, self.shape = size, None, (3, size, size)
        return self

    def check(self, images: Samples) -> None:
        shape = tuple(images.x.shape[1:])
        if len(shape) != 3 or (self.network.mean.numel() == 3 and shape[0] not in (1, 3)):
            raise InputError(
                f"encoder {self} takes pictures with 1 or 3 channels, not samples of shape {shape}. "
                'Leave the encoder out, or say encoder="none".'
            )
        if self.size is None and self.shape != shape:
            self.shape, self._width = shape, None

    def encode(self, samples: Any, policy: Policy | None = None, generator: torch.Generator | None = None) -> Tensor:
        x = torch.as_tensor(samples).to(self.network.mean.device).contiguous(memory_format=torch.channels_last)
        size = (self.size, self.size) if self.size else tuple(x.shape[2:])
        if policy is None or generator is None:
            return self.features(augment.prepare(x, size))
        return self.features(policy(x, size, generator))

    def features(self, x: Tensor) -> Tensor:
        """[N, C, S, S] in [0, 1] -> [N, F]."""
        try:
            with torch.inference_mode():
                h = self.network(x.contiguous(memory_format=torch.channels_last))
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise InputError(
                f"encoder {self} cannot take pictures of shape {tuple(x.shape[1:])}: {str(error).splitlines()[0]} "
                "Leave image_size out, or give the size that it was made for."
            ) from error
        return h.float().cpu().clone()

    def to(self, device: torch.device) -> "ImageEncoder":
        self.network.to(device)
        return self

    def key(self) -> str:
        digest = hashlib.sha256(super().key().encode())
        for name, tensor in self.network.state_dict().items():
            digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
            digest.update(tensor.cpu().contiguous().view(-1).view(torch.uint8).numpy())
        return digest.hexdigest()


def of_module(module: nn.Module) -> ImageEncoder:
    """The user's own module, which gets pictures in [0, 1] at their own size, or at `image_size`."""
    about = {
        "name": type(module).__qualname__,
        "what": "a module given from Python",
        "weights": "the module's own",
        "licence": "unknown",
        "labels": "unknown",
        "trained_on": "unknown",
    }
    return ImageEncoder("", module, about)
