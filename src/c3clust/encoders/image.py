"""Encoders of images: a torch module and its preprocessing. [N, C, H, W] in [0, 1] -> [N, F]."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from c3clust import augment
from c3clust.augment import Policy
from c3clust.data.samples import Dataset
from c3clust.encoders.base import Encoder, about, hash_tensors
from c3clust.encoders.compiled import compiled
from c3clust.errors import InputError

PIXELS = 2**20  # per batch: 64 images at 128 px, 20 at 224 px


class Prepared(nn.Module):
    """A module with its preprocessing: grey is expanded to three channels if needed, then (x - mean) / std.

    rate: factor of the learning rate for fine-tuning. It is small, since the module is pretrained.
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
        x = x.expand(-1, 3, -1, -1) if self.mean.numel() == 3 and x.shape[1] == 1 else x
        return self.module(x.sub(self.mean).div(self.std)).flatten(1)


class ImageEncoder(Encoder):
    """A module for images of `size` pixels (None: any), with the mean and std of the pixels it was trained on.

    With one mean per channel, the module gets three channels; with a single mean, those of the images.

    Pairs of stored views also get noise and masked features (`view_policy`): a small number of fixed views is
    memorised, and z then separates images instead of clusters (docs/ENCODERS.md).
    """

    view_policy = "vector"
    compiles = True  # on a CPU, where that is possible; the user's own module may depend on more than its input

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
        self._compiled: dict[tuple[tuple[int, ...], int], Callable[[Tensor], Tensor] | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_compiled": {}}  # sessions can neither be copied nor be pickled

    @property
    def batch(self) -> int:  # type: ignore[override]
        side = max(self.shape[1:]) if self.shape else 64
        return int(min(max(PIXELS // side**2, 8), 256))

    @property
    def width(self) -> int:  # type: ignore[override]
        if self._width is None:
            if self.shape is None:
                raise InputError(f"{self} has not encoded an image yet: encode some first.")
            self._width = int(self.encode(torch.zeros(1, *self.shape)).shape[1])
        return self._width

    def describe(self) -> dict[str, Any]:
        return {**self.about, "size": self.size}

    def state(self) -> dict[str, Any]:
        return {"size": self.size}

    def load_state(self, state: dict[str, Any]) -> None:
        self.resize_to(state.get("size"))

    def load_options(self) -> dict[str, Any]:
        return {"largest": self.size} if self.size else {}

    def resize_to(self, size: int | None) -> "ImageEncoder":
        if size is not None:
            self.size, self._width, self.shape = size, None, (3, size, size)
        return self

    def validate(self, dataset: Dataset) -> Dataset:
        shape = tuple(dataset.x.shape[1:])
        if len(shape) != 3 or (self.network.mean.numel() == 3 and shape[0] not in (1, 3)):
            raise InputError(
                f"encoder {self} takes images with 1 or 3 channels, not samples of shape {shape}. "
                'Omit the encoder, or use encoder="none".'
            )
        if self.size is None and self.shape != shape:
            self.shape, self._width = shape, None
        return dataset

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
                h = self._run(x)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            raise InputError(
                f"encoder {self} cannot process images of shape {tuple(x.shape[1:])}: {str(error).splitlines()[0]} "
                "Omit image_size, or give the size that it was made for."
            ) from error
        return h.float().cpu().clone()

    def _run(self, x: Tensor) -> Tensor:
        """The network on one batch, compiled at the first of its shape, for that number of threads, on a CPU."""
        shape = tuple(x.shape[1:])
        key = shape, torch.get_num_threads()
        if self.compiles and x.device.type == "cpu" and key not in self._compiled:
            self._compiled[key] = compiled(self.network, shape)
        run = self._compiled.get(key) if x.device.type == "cpu" else None
        return run(x) if run else self.network(x.contiguous(memory_format=torch.channels_last))

    def to(self, device: torch.device) -> "ImageEncoder":
        self.network.to(device)
        return self

    def key(self) -> str:
        return hash_tensors(self.network.state_dict(), prefix=super().key())


def from_module(module: nn.Module) -> ImageEncoder:
    """An encoder from the user's own module. It gets images in [0, 1] at their own size, or at `image_size`."""
    name = type(module).__qualname__
    encoder = ImageEncoder("", module, about(name, "a module given from Python", "the module's own"))
    encoder.compiles = False
    return encoder
