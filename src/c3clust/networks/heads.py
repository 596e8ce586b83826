"""The heads of CC and C3 (Li et al. 2021, section 3), and ClusterNet, which joins f, g_I and g_C: x -> h -> (z, c)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def head(width: int, out: int) -> nn.Sequential:
    """Linear(F, F) ReLU Linear(F, out): the shape of both heads."""
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out))


SHARPNESS = 10.0  # of the soft assignment to centres: c = softmax(SHARPNESS * cosine)


class ClusterNet(nn.Module):
    """Encoder f with its instance head g_I (unit rows z) and its cluster head g_C (rows c that sum to 1).

    With `centres` [M, D] set, assignments are read from z instead of g_C: a softmax over the cosines to the centres.
    """

    centres: Tensor | None

    def __init__(self, f: nn.Module, width: int, projection_dim: int, n_clusters: int) -> None:
        super().__init__()
        self.f, self.n_clusters = f, n_clusters
        self.g_i = head(width, projection_dim)
        self.g_c = head(width, n_clusters)
        self.register_buffer("centres", None)

    def encode(self, x: Tensor) -> Tensor:
        """h = f(x): [N, F]."""
        return self.f(x).flatten(1)

    def project(self, h: Tensor) -> Tensor:
        """z = g_I(h), unit rows: [N, D]."""
        return F.normalize(self.g_i(h), dim=1)

    def assign(self, h: Tensor) -> Tensor:
        """c = g_C(h), rows sum to 1: [N, M]."""
        return torch.softmax(self.g_c(h), dim=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(z, c) of x."""
        h = self.encode(x)
        z = self.project(h)
        if self.centres is None:
            return z, self.assign(h)
        return z, torch.softmax(SHARPNESS * z @ self.centres.T, dim=1)
