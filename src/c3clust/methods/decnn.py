"""DeCNN: deconvolutional networks, then k-means on their sparse maps.

Zeiler, Krishnan, Taylor, Fergus, CVPR 2010
Layer by layer, the maps below are written as sums of filters convolved with sparse maps. The filters are learned, the
sparse maps are inferred for each sample. k-means runs on the pooled maps of the last layer.
Shapes: N samples per batch, C channels below, K maps of a layer.

Departures from the paper: maps are inferred by a fixed number of steps of FISTA with the l1 norm, where the paper
splits the problem and solves it by conjugate gradients; maps are max-pooled by 2 between layers, and averaged over
4 x 4 places in the end.
"""

from typing import Any, final

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.errors import InputError
from c3clust.methods._base import Clusterer, TrainingFields, parameters
from c3clust.networks.maps import as_map
from c3clust.networks.readouts import Centred
from c3clust.training import Adam, Batch, Stage, TrainingContext

__all__ = ["DeCNN"]

PLACES = 4  # per side of the last maps
POWER_STEPS = 10  # of the power iteration for the step size


# 1. Loss


def reconstruct(z: Tensor, filters: Tensor) -> Tensor:
    """Σ_k z_k * f_kc for each channel c: maps [N, K, H, W], filters [K, C, s, s] -> [N, C, H, W]."""
    return F.conv_transpose2d(z, filters, padding=filters.shape[2] // 2)


def sparse_cost(y: Tensor, z: Tensor, filters: Tensor, lamb: float) -> Tensor:
    """λ/2 Σ_c ‖Σ_k z_k * f_kc - y_c‖² + Σ_k |z_k| of each sample, the paper's cost for p = 1: -> [N]."""
    return lamb / 2 * (reconstruct(z, filters) - y).square().sum(dim=(1, 2, 3)) + z.abs().sum(dim=(1, 2, 3))


@torch.no_grad()
def largest_gain(filters: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The largest eigenvalue of AᵀA, A the reconstruction, by power iteration from maps of `shape` [1, K, H, W]."""
    z = torch.ones(shape, device=filters.device) + 0.1 * torch.arange(shape[1], device=filters.device)[:, None, None]
    gain = torch.ones((), device=filters.device)
    for _ in range(POWER_STEPS):
        z = F.conv2d(reconstruct(z / z.norm().clamp_min(1e-12), filters), filters, padding=filters.shape[2] // 2)
        gain = z.norm()
    return gain.clamp_min(1e-6)


@torch.no_grad()
def infer(y: Tensor, filters: Tensor, lamb: float, gain: Tensor, steps: int) -> Tensor:
    """The sparse maps that minimise the cost of y [N, C, H, W], by FISTA (Beck, Teboulle 2009): [N, K, H, W]."""
    rate = 1 / (1.5 * gain)  # a margin: the gain is that of the filters before the epoch
    z = ahead = y.new_zeros(len(y), len(filters), *y.shape[2:])
    t = 1.0
    for _ in range(steps):
        gradient = F.conv2d(reconstruct(ahead, filters) - y, filters, padding=filters.shape[2] // 2)
        moved = ahead - rate * gradient
        new = moved.sign() * (moved.abs() - rate / lamb).clamp_min(0)
        t_new = (1 + (1 + 4 * t * t) ** 0.5) / 2
        ahead, z, t = new + (t - 1) / t_new * (new - z), new, t_new
    return z


# 2. Objective


class Deconvolutional(nn.Module):
    """Layers of filters of unit length: x -> the pooled maps of the last layer [N, 16 K] (K for vectors)."""

    gains: Tensor

    def __init__(self, shape: tuple[int, ...], maps: list[int], kernel: int, lamb: float, steps: int) -> None:
        super().__init__()
        self.lamb, self.steps, pictures = lamb, steps, len(shape) == 3
        side = kernel if pictures else 1
        inputs = [shape[0], *maps[:-1]]
        self.filters = nn.ParameterList(torch.randn(k, c, side, side) for k, c in zip(maps, inputs, strict=True))
        self.register_buffer("gains", torch.ones(len(maps)))
        height, width = shape[1:] if pictures else (1, 1)
        for _ in maps[1:]:
            height, width = -(-height // 2), -(-width // 2)
        self.places = (min(height, PLACES), min(width, PLACES))
        self.width = maps[-1] * self.places[0] * self.places[1]

    def unit(self, layer: int) -> Tensor:
        """The filters of a layer, each of unit length: [K, C, s, s]."""
        return F.normalize(self.filters[layer].flatten(1), dim=1).view_as(self.filters[layer])

    def below(self, x: Tensor, layer: int) -> Tensor:
        """What a layer writes as sums of filters: the samples, or the pooled maps of the layer before."""
        y = as_map(x)
        for i in range(layer):
            z = infer(y, self.unit(i), self.lamb, self.gains[i], self.steps)
            y = F.max_pool2d(z.abs(), 2, ceil_mode=True) if y.shape[-1] * y.shape[-2] > 1 else z.abs()
        return y

    def forward(self, x: Tensor) -> Tensor:
        last = len(self.filters) - 1
        z = infer(self.below(x, last), self.unit(last), self.lamb, self.gains[last], self.steps)
        return F.adaptive_avg_pool2d(z.abs(), self.places).flatten(1)


class DeCNNObjective:
    """What one step minimises: the reconstruction of one layer by its filters, with the maps inferred for them."""

    def __init__(self, layer: int) -> None:
        self.layer = layer

    def optimisers(self, network: Centred, lr: float) -> dict[str, torch.optim.Optimizer]:
        return {"loss": Adam([network.body.filters[self.layer]], lr=lr)}

    def refresh(self, network: Centred, context: TrainingContext) -> None:
        """The step size of the inference, for the current filters."""
        body: Any = network.body
        x = torch.from_numpy(context.pixels(torch.zeros(1).long().numpy())).view(1, *context.shape).to(context.device)
        with torch.no_grad():
            y = body.below(x, self.layer)
            filters = body.unit(self.layer)
            body.gains[self.layer] = largest_gain(filters, (1, len(filters), *y.shape[2:]))

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        body = network.body
        with torch.no_grad():
            y = body.below(batch.x_a, self.layer)
        filters = body.unit(self.layer)
        z = infer(y, filters.detach(), body.lamb, body.gains[self.layer], body.steps)
        cost = dist.gather(sparse_cost(y, z, filters, body.lamb)).mean()
        return {"loss": cost, "used": dist.gather((z != 0).float()).mean()}


# 3. Estimator


@final
@parameters
class DeCNN(TrainingFields, Clusterer):
    """Cluster with k-means on the sparse maps of a deconvolutional network.

    Parameters
    ----------
    maps : tuple of int, default=(16, 48)
        K, maps of each layer.
    kernel : int, default=5
        Side of the filters, an odd number. The paper: 7.
    lamb : float, default=10.0
        λ, the weight of the reconstruction relative to the sparsity.
    inference_steps : int, default=10
        Steps of FISTA.
    n_init : int, default=20
        Starts of k-means.
    epochs : int or "auto", default="auto"
        Of each layer. "auto" is about 60 steps, and at least 3 epochs.
    lr : float, default=0.01
        Learning rate of Adam for the filters.

    Attributes
    ----------
    network_ : Centred
        The layers (`body`) and the centres of the pooled maps (`readout`).

    References
    ----------
    Zeiler, Krishnan, Taylor, Fergus. Deconvolutional networks. CVPR 2010.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.decnn import DeCNN
    >>> x = load_digits().images[:100] / 16
    >>> DeCNN(n_clusters=10, epochs=1, random_state=0).fit(x).predict_proba(x[:2]).shape
    (2, 10)
    """

    maps: Any = (16, 48)
    kernel: int = 5
    lamb: float = 10.0
    inference_steps: int = 10
    n_init: int = 20
    lr: float = 0.01

    def _check_params(self) -> None:
        for k in self.maps if isinstance(self.maps, list | tuple) and len(self.maps) else [self.maps]:
            checks.whole("maps", k, why="it lists the maps of each layer. A usual value is (16, 48).")
        if checks.whole("kernel", self.kernel, why="it is a side in pixels. A usual value is 5.") % 2 == 0:
            raise InputError(f"kernel={self.kernel} is even: filters need a centre. A usual value is 5.")
        checks.number("lamb", self.lamb, 1e-6, why="it is the weight of the reconstruction. A usual value is 10.")
        checks.whole("inference_steps", self.inference_steps, why="it is the number of steps. A usual value is 10.")
        checks.whole("n_init", self.n_init, why="it is the number of k-means starts. A usual value is 20.")
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        body = Deconvolutional(shape, list(self.maps), self.kernel, self.lamb, self.inference_steps)
        return Centred(body, body.width, self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        epochs = self._epochs(context, 60, 3, 50)
        return [self._stage(f"layer {layer + 1}", epochs) for layer in range(len(self.maps))]

    def _fit(self, context: TrainingContext) -> Centred:
        network = context.build(self._build_network)
        for layer, stage in enumerate(self._stages(context)):
            context.train(stage, network, DeCNNObjective(layer))
        network.readout.place(context.projections(network), self.n_init, context.seed)
        return network
