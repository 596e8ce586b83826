"""The heads of CC and C3 (Li et al. 2021, section 3), ClusterNet, which joins f, g_I and g_C; heads of other methods.

The networks here join an encoder f with heads that several methods have: x -> (z, c).
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


def head(width: int, out: int) -> nn.Sequential:
    """Linear(F, F) ReLU Linear(F, out): the shape of both heads."""
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out))


class ClusterNet(nn.Module):
    """Encoder f with its instance head g_I (unit rows z) and its cluster head g_C (rows c that sum to 1).

    With `temperature` set, the logits of g_C are divided by it.
    """

    temperature: Tensor | None

    def __init__(self, f: nn.Module, width: int, projection_dim: int, n_clusters: int) -> None:
        super().__init__()
        self.f, self.n_clusters = f, n_clusters
        self.g_i = head(width, projection_dim)
        self.g_c = head(width, n_clusters)
        self.register_buffer("temperature", None)

    def set_clusters(self, n_clusters: int, seed: int) -> None:
        """Replace g_C by a new head for that many clusters, with seeded weights."""
        weight = next(self.g_c.parameters())
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            new = head(weight.shape[1], n_clusters)
        self.g_c, self.n_clusters = new.to(weight.device), n_clusters

    def encode(self, x: Tensor) -> Tensor:
        """h = f(x): [N, F]."""
        return self.f(x).flatten(1)

    def project(self, h: Tensor) -> Tensor:
        """z = g_I(h), unit rows: [N, D]."""
        return F.normalize(self.g_i(h), dim=1)

    def assign(self, h: Tensor) -> Tensor:
        """c = g_C(h), rows sum to 1: [N, M]."""
        logits = self.g_c(h)
        return torch.softmax(logits if self.temperature is None else logits / self.temperature, dim=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(z, c) of x."""
        h = self.encode(x)
        return self.project(h), self.assign(h)


class LinearHeads(nn.Module):
    """H cluster heads on the same features. The one with the lowest training loss gives the assignments.

    `losses` is the moving average of each head's training loss. As a buffer, it is saved and resumed with the weights.
    With a `scale`, the logits are normalised over the batch, and start with this standard deviation: so no cluster is
    empty at the start. `hidden` heads have a layer of F units and ReLU before the linear one.
    """

    losses: Tensor

    def __init__(
        self, width: int, n_clusters: int, n_heads: int, scale: float | None = None, hidden: bool = False
    ) -> None:
        super().__init__()
        self.linear: nn.Module = nn.Linear(width, n_heads * n_clusters)
        self.shape = (n_heads, n_clusters)
        if hidden:
            self.linear = _two_layers(width, n_clusters, n_heads)
        self.norm: nn.Module = nn.Identity()
        if scale is not None:
            self.norm = nn.BatchNorm1d(n_heads * n_clusters)
            nn.init.constant_(self.norm.weight, scale)
        self.register_buffer("losses", torch.zeros(n_heads))

    def logits(self, h: Tensor) -> Tensor:
        """The logits of every head: [N, F] -> [N, H, M]."""
        return self.norm(self.linear(h)).reshape(-1, *self.shape)

    def assign(self, h: Tensor) -> Tensor:
        """The soft assignments of every head, rows sum to 1: [N, F] -> [N, H, M]."""
        return torch.softmax(self.logits(h), dim=2)

    def best(self, h: Tensor) -> Tensor:
        """The logits of the head with the lowest loss: [N, F] -> [N, M]."""
        return self.logits(h)[:, self.losses.argmin()]

    def record(self, losses: Tensor) -> Tensor:
        """Add the heads' losses [H] of one step to their moving averages; the mean of these losses, to be minimised."""
        self.losses.lerp_(losses.detach(), 0.1)
        return losses.mean()


def _two_layers(width: int, n_clusters: int, n_heads: int) -> nn.Sequential:
    """A hidden layer of F units for each head, then its own linear one: [N, F] -> [N, H M]."""
    each = nn.Conv1d(n_heads * width, n_heads * n_clusters, 1, groups=n_heads)
    first = nn.Linear(width, n_heads * width)
    return nn.Sequential(first, nn.ReLU(), nn.Unflatten(1, (n_heads * width, 1)), each, nn.Flatten(1))


class LabelNet(nn.Module):
    """Encoder f and a linear head with batch norm: x -> (unit features, assignment).

    As in DAC's released code, the logits are normalised over the batch: without it, all label features are nearly the
    same at the start, and all pairs would be similar. `scale` is the standard deviation of the logits at the start.
    """

    def __init__(self, f: nn.Module, width: int, n_clusters: int, scale: float = 1.0) -> None:
        super().__init__()
        norm = nn.BatchNorm1d(n_clusters)
        nn.init.constant_(norm.weight, scale)
        self.f, self.head = f, nn.Sequential(nn.Linear(width, n_clusters), norm)

    def encode(self, x: Tensor) -> Tensor:
        """h = f(x): [N, F]."""
        return self.f(x).flatten(1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.encode(x)
        return F.normalize(h, dim=1), torch.softmax(self.head(h), dim=1)


class Projected(nn.Module):
    """Encoder f with a projection head g; `forward` is the unit feature f(x) / ‖f(x)‖."""

    def __init__(self, f: nn.Module, width: int, projection_dim: int) -> None:
        super().__init__()
        self.f, self.g = f, head(width, projection_dim)

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(self.f(x).flatten(1), dim=1)

    def project(self, x: Tensor) -> Tensor:
        """g(f(x)), what is contrasted: [N, D]."""
        return self.g(self.f(x).flatten(1))


class NeighbourNet(nn.Module):
    """Encoder and projection head (`body`) with linear cluster heads: x -> (unit features, assignment)."""

    def __init__(self, body: Projected, heads: LinearHeads) -> None:
        super().__init__()
        self.body, self.heads = body, heads

    def encode(self, x: Tensor) -> Tensor:
        """h = f(x): [N, F]."""
        return self.body.f(x).flatten(1)

    def project(self, h: Tensor) -> Tensor:
        """z = g(h), unit rows: [N, D]."""
        return F.normalize(self.body.g(h), dim=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.encode(x)
        return F.normalize(h, dim=1), torch.softmax(self.heads.best(h), dim=1)


class InformationNet(nn.Module):
    """Encoder f with sub-heads for M clusters (`main`) and for more (`over`): x -> (unit features, assignment)."""

    def __init__(
        self,
        f: nn.Module,
        width: int,
        n_clusters: int,
        n_overclusters: int,
        n_heads: int,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        self.f = f
        self.main, self.over = (LinearHeads(width, m, n_heads, scale) for m in (n_clusters, n_overclusters))

    def encode(self, x: Tensor) -> Tensor:
        """h = f(x): [N, F]."""
        return self.f(x).flatten(1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.encode(x)
        return F.normalize(h, dim=1), torch.softmax(self.main.best(h), dim=1)


class Standardised(nn.Module):
    """Flat samples, each entry with mean 0 and standard deviation 1: [N, ...] -> [N, d]."""

    centre: Tensor
    spread: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("spread", torch.ones(width))

    def fit(self, x: np.ndarray) -> None:
        """Take mean and standard deviation from x [n, d]; an entry that is constant stays 0."""
        spread = x.std(axis=0, dtype=np.float64)
        self.centre.copy_(torch.from_numpy(x.mean(axis=0, dtype=np.float64)))
        self.spread.copy_(torch.from_numpy(np.where(spread > 0, spread, 1.0)))

    def forward(self, x: Tensor) -> Tensor:
        return (x.flatten(1) - self.centre) / self.spread
