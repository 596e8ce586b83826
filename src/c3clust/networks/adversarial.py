"""Generator and discriminator of DCGAN (Radford et al., ICLR 2016), for images of any size and for vectors."""

from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["Adversaries", "sides"]

PLACES = 4  # per side of the pooled maps


def sides(height: int, width: int) -> list[tuple[int, int]]:
    """The sizes of the discriminator's maps: halved until the larger side is at most 4, at least once."""
    found = [((height + 1) // 2, (width + 1) // 2)]
    while max(found[-1]) > PLACES:
        found.append(((found[-1][0] + 1) // 2, (found[-1][1] + 1) // 2))
    return found


class Discriminator(nn.Module):
    """Strided convolutions (linear layers for vectors): x -> the activations of each layer, then one logit."""

    def __init__(self, shape: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.blocks, inputs, pictures = nn.ModuleList(), shape[0], len(shape) == 3
        self.maps = sides(*shape[1:]) if pictures else [(1, 1)] * 2
        for i in range(len(self.maps)):
            outputs = width * 2 ** min(i, 3)
            layer = nn.Conv2d(inputs, outputs, 3, 2, 1) if pictures else nn.Conv2d(inputs, outputs, 1)
            norm = nn.BatchNorm2d(outputs) if i else nn.Identity()
            self.blocks.append(nn.Sequential(layer, norm, nn.LeakyReLU(0.2)))
            inputs = outputs
        self.last = nn.Linear(inputs * prod(self.maps[-1]), 1)
        pooled = [min(h, PLACES) * min(w, PLACES) for h, w in self.maps]
        self.width = sum(width * 2 ** min(i, 3) * places for i, places in enumerate(pooled))

    def activations(self, x: Tensor) -> list[Tensor]:
        found, h = [], x if x.ndim == 4 else x[:, :, None, None]
        for block in self.blocks:
            h = block(h)
            found.append(h)
        return found

    def logits(self, x: Tensor) -> Tensor:
        return self.last(self.activations(x)[-1].flatten(1)).squeeze(1)

    def forward(self, x: Tensor) -> Tensor:
        """The pooled maps of all layers: [N, width]."""
        rows = []
        for h in self.activations(x):
            size = (min(h.shape[2], PLACES), min(h.shape[3], PLACES))
            rows.append(F.adaptive_max_pool2d(h, size).flatten(1))
        return torch.cat(rows, dim=1)


class Generator(nn.Module):
    """Noise -> the smallest maps -> interpolation and convolution up to the size of the samples."""

    def __init__(self, shape: tuple[int, ...], width: int, noise_dim: int) -> None:
        super().__init__()
        self.shape, self.noise_dim = shape, noise_dim
        pictures = len(shape) == 3
        maps = sides(*shape[1:]) if pictures else [(1, 1)] * 2
        self.sizes = [*reversed(maps), tuple(shape[1:]) if pictures else (1, 1)]
        channels = [width * 2 ** min(i, 3) for i in reversed(range(len(maps)))]
        self.first = nn.Sequential(nn.Linear(noise_dim, channels[0] * prod(self.sizes[0])), nn.ReLU())
        outputs, kernel = [*channels[1:], shape[0]], 3 if pictures else 1
        self.blocks = nn.ModuleList()
        for inputs, out in zip(channels, outputs, strict=True):
            self.blocks.append(
                nn.Sequential(nn.BatchNorm2d(inputs), nn.Conv2d(inputs, out, kernel, padding=kernel // 2))
            )

    def forward(self, u: Tensor) -> Tensor:
        h = self.first(u).unflatten(1, (-1, *self.sizes[0]))
        for i, (block, size) in enumerate(zip(self.blocks, self.sizes[1:], strict=True)):
            h = block(F.interpolate(h, size))
            h = F.relu(h) if i + 1 < len(self.blocks) else h
        return torch.tanh(h) if len(self.shape) == 3 else h.flatten(1)


class Adversaries(nn.Module):
    """Discriminator D and generator G; `forward` gives the features of D."""

    def __init__(self, shape: tuple[int, ...], width: int, noise_dim: int) -> None:
        super().__init__()
        self.d, self.g = Discriminator(shape, width), Generator(shape, width, noise_dim)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.normal_(module.weight, 0, 0.02 if len(shape) == 3 else module.weight[0].numel() ** -0.5)

    def scaled(self, x: Tensor) -> Tensor:
        """Images in [-1, 1], as the generator makes them; vectors unchanged."""
        return 2 * x - 1 if x.ndim == 4 else x

    def forward(self, x: Tensor) -> Tensor:
        return self.d(self.scaled(x))
