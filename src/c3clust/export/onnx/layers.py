"""Layers of a network that ONNX has no operator for, by operators that it has. N samples, D features, M clusters."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust.errors import RunError
from c3clust.networks.readouts import Centres, Neighbours, student_t

__all__ = ["exportable", "resize"]


class _Resize(torch.autograd.Function):
    """F.interpolate(mode="bilinear", antialias=True), which torch exports no further than to its own name."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, channels: int, height: int, width: int) -> Tensor:
        return F.interpolate(x, (height, width), mode="bilinear", antialias=True)

    @staticmethod
    def symbolic(g: Any, x: Any, channels: int, height: int, width: int) -> Any:
        none = g.op("Constant", value_t=torch.tensor([], dtype=torch.float32))
        sizes = g.op("Constant", value_t=torch.tensor([height, width]))
        how = {"mode_s": "linear", "antialias_i": 1, "exclude_outside_i": 1, "axes_i": [2, 3]}
        resized = g.op("Resize", x, none, none, sizes, coordinate_transformation_mode_s="half_pixel", **how)
        return resized.setType(x.type().with_sizes([None, channels, height, width]))


def resize(x: Tensor, size: tuple[int, int]) -> Tensor:
    """Images [N, C, H, W] of any size -> [N, C, *size], as `augment.prepare` resizes them."""
    resized: Tensor = _Resize.apply(x, int(x.shape[1]), *size)
    return resized


class _Centres(nn.Module):
    """`Centres`, with distances in float64."""

    centres: Tensor
    spread: Tensor

    def __init__(self, layer: Centres) -> None:
        super().__init__()
        self.register_buffer("centres", layer.centres.detach().double())
        self.register_buffer("spread", layer.spread.detach().double())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = x.flatten(1)
        return z, student_t(_squares(z.double(), self.centres), self.spread).float()


class _Neighbours(nn.Module):
    """`Neighbours`, with the stored samples of each cluster side by side."""

    samples: Tensor
    spread: Tensor

    def __init__(self, layer: Neighbours) -> None:
        super().__init__()
        order = layer.labels.argsort(stable=True)
        self.sizes = torch.bincount(layer.labels, minlength=layer.n_clusters).tolist()
        self.register_buffer("samples", layer.samples[order].double())
        self.register_buffer("spread", layer.spread)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = x.flatten(1)
        parts = _squares(z.double(), self.samples).split(self.sizes, dim=1)
        none = torch.full_like(z[:, :1], torch.inf, dtype=torch.float64)
        nearest = [part.amin(dim=1, keepdim=True) if n else none for part, n in zip(parts, self.sizes, strict=True)]
        return z, student_t(torch.cat(nearest, dim=1), self.spread)


class _Pool(nn.Module):
    """`nn.AdaptiveAvgPool2d`, which is exported only if the size is a multiple of its own."""

    def __init__(self, layer: nn.AdaptiveAvgPool2d) -> None:
        super().__init__()
        size: Any = layer.output_size
        self.size = (size, size) if isinstance(size, int) else tuple(size)

    def forward(self, x: Tensor) -> Tensor:
        rows, columns = (_means(int(n), int(m)) for n, m in zip(x.shape[2:], self.size, strict=True))
        return rows @ x @ columns.T


def exportable(network: nn.Module) -> nn.Module:
    """The network with these layers instead of its own; it is changed itself. RunError if it is no graph."""
    if reason := getattr(network, "no_graph", None):
        raise RunError(
            f"The model cannot be exported to ONNX: {reason}. Predict with its folder, or use another method."
        )
    for name, child in network.named_children():
        setattr(network, name, exportable(child))
    instead: dict[type, Any] = {Centres: _Centres, Neighbours: _Neighbours, nn.AdaptiveAvgPool2d: _Pool}
    return instead.get(type(network), lambda same: same)(network)


def _squares(a: Tensor, b: Tensor) -> Tensor:
    """Squared distances [N, M] of the rows of a and b, which are float64."""
    return (a.square().sum(dim=1, keepdim=True) + b.square().sum(dim=1) - 2 * a @ b.T).clamp_min(0)


def _means(n: int, m: int) -> Tensor:
    """[m, n]: the mean of each of m parts of n values, which overlap where m does not divide n."""
    weight = np.zeros((m, n), np.float32)
    for i in range(m):
        start, end = i * n // m, -(-(i + 1) * n // m)
        weight[i, start:end] = 1 / (end - start)
    return torch.from_numpy(weight)  # a constant of the export
