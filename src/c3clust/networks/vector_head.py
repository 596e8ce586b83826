"""VectorHead: clusters of feature vectors as a softmax of a linear or quadratic function of them."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["VectorHead", "expand", "expanded_width"]


def expanded_width(width: int) -> int:
    """Features and products of two of them."""
    return width * (width + 3) // 2


def expand(z: Tensor) -> Tensor:
    """[N, F] -> [N, F (F + 3) / 2]: the features, and the products of all pairs of them."""
    i, j = (torch.from_numpy(index).to(z.device) for index in np.triu_indices(int(z.shape[1])))  # constants in ONNX
    return torch.cat([z, z[:, i] * z[:, j]], dim=1)


class VectorHead(nn.Module):
    """x -> (z, c): z the centred features, c the probabilities of the clusters, calibrated by a temperature.

    Probabilities are computed in float64, so that a sample's assignment does not depend on the others in its batch.
    Shapes: N samples, F features, f features or features and their products, K clusters.
    """

    centre: Tensor  # [F]
    scale: Tensor
    unit: Tensor  # bool: rows are scaled to unit length
    temperature: Tensor
    weight: Tensor  # [K, f]
    bias: Tensor  # [K]

    def __init__(self, n_clusters: int, width: int) -> None:
        super().__init__()
        self.n_clusters, self.width = n_clusters, width
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("scale", torch.ones(()))
        self.register_buffer("unit", torch.zeros((), dtype=torch.bool))
        self.register_buffer("temperature", torch.ones(()))
        self.register_buffer("weight", torch.zeros(n_clusters, width))
        self.register_buffer("bias", torch.zeros(n_clusters))

    def project(self, x: Tensor) -> Tensor:
        """z: the features, centred, and scaled as the head expects them."""
        z = (x.flatten(1) - self.centre) / self.scale
        return torch.where(self.unit, F.normalize(z, dim=1, eps=1e-9), z)

    def assign(self, z: Tensor) -> Tensor:
        """The probabilities [N, K] before calibration."""
        rows = z.double() if self.weight.shape[1] == self.width else expand(z.double())
        return (rows @ self.weight.double().T + self.bias.double()).softmax(dim=1)

    def calibrate(self, c: Tensor) -> Tensor:
        """Rows proportional to c^(1/T): the same order with another confidence."""
        return torch.softmax(c.clamp_min(1e-6).log() / self.temperature, dim=1).float()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.project(x)
        return z, self.calibrate(self.assign(z))

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *args: Any) -> None:
        """Take a linear or a quadratic head, as the file has it."""
        weight = state.get(prefix + "weight")
        if weight is not None:
            if weight.ndim != 2 or weight.shape[1] not in (self.width, expanded_width(self.width)):
                raise ValueError("the weights of the head do not fit its features")
            self.weight = torch.zeros(self.n_clusters, weight.shape[1], device=self.weight.device)
        super()._load_from_state_dict(state, prefix, *args)
