"""DCN: a deep clustering network, for codes that k-means likes.

Yang, Fu, Sidiropoulos, Hong, ICML 2017, https://arxiv.org/abs/1610.04794
Stage 1 is a denoising autoencoder with k-means on its codes (methods/dae.py). Stage 2 alternates with every batch:
the network takes a step with the centres fixed, the centres move as running means of the codes assigned to them.
Shapes: N samples per batch, D code width, M clusters.

Departures from the released code (boyangumn/DCN-New, multi_layer_km.py and run_raw_mnist.py): the autoencoder's layers
are trained together, not one after the other, and decoder and encoder have weights of their own; Adam replaces SGD with
momentum; centres move by the codes as they were just before the network's step.
"""

from collections.abc import Mapping
from typing import final

import torch
from torch import Tensor

from c3clust import checks, dist
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.methods.ae import reconstruction_errors
from c3clust.methods.dae import PretrainFields
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, TrainingContext

__all__ = ["DCN"]

COUNT = 100.0  # samples that each centre represents at the start


# 1. Loss


def centre_errors(z: Tensor, centres: Tensor, labels: Tensor) -> Tensor:
    """‖z_i - m_(s_i)‖², s_i the label: [N, D], [M, D], [N] -> [N]."""
    return (z - centres[labels]).square().sum(dim=1)


def moved_centres(centres: Tensor, counts: Tensor, z: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Centres and counts after the codes z, one by one: c_k += 1, m_k -= (m_k - z_i) / c_k, k the label of i.

    That is a running mean: m_k = (c_k m_k + Σ z_i) / (c_k + n_k), whatever the order.
    """
    n = torch.bincount(labels, minlength=len(centres)).to(counts)  # [M]
    sums = (counts[:, None] * centres).index_add(0, labels, z)  # [M, D]
    return sums / (counts + n)[:, None], counts + n


# 2. Objective


class DCNObjective:
    """What one step minimises: the mean of (‖x - x̂‖² + λ/2 ‖z - m_s‖²) / d over the batch of all processes.

    After that the centres move; gradients do not reach them.
    """

    def __init__(self, network: Centred, lam: float) -> None:
        centres = network.readout.centres
        self.lam, self.counts = lam, centres.new_full((len(centres),), COUNT)

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        z, c = network(batch.x_a)
        labels, centres = c.argmax(dim=1), network.readout.centres.detach().clone()
        errors = reconstruction_errors(network.body.scaled(batch.x_a), network.body.decode(z))
        reconstruction = dist.gather(errors).mean()
        cluster = dist.gather(centre_errors(z, centres, labels)).mean()
        with torch.no_grad():
            moved, self.counts = moved_centres(centres, self.counts, dist.gather(z.detach()), dist.gather(labels))
            network.readout.centres.copy_(moved)
        loss = reconstruction + self.lam / 2 * cluster / batch.x_a[0].numel()
        return {"loss": loss, "reconstruction_loss": reconstruction, "cluster_loss": cluster}

    def state_dict(self) -> dict[str, Tensor]:
        return {"counts": self.counts}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.counts = state["counts"].to(self.counts)


# 3. Estimator


@final
@parameters
class DCN(OptimiserFields, PretrainFields, Clusterer):
    """Cluster with a deep clustering network: an autoencoder whose codes are drawn to k-means centres.

    Parameters
    ----------
    lam : float, default=2.0
        λ: the squared distance to the centre weighs λ / 2 relative to the squared error of the reconstruction, both
        sums. The released code for MNIST weighs both 1 (`beta` and `lbd`), which is λ = 2.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 200 steps, and at least 5 epochs. The paper: 50 epochs.
    lr : float, default=0.0001
        Learning rate of Adam. The paper: SGD at 1e-4 with momentum 0.9.

    References
    ----------
    Yang, Fu, Sidiropoulos, Hong. Towards K-means-friendly spaces: simultaneous deep learning and clustering. ICML 2017.
    https://arxiv.org/abs/1610.04794
    """

    lam: float = 2.0
    lr: float = 1e-4
    schedule: str = "constant"

    def _check_params(self) -> None:
        checks.number("lam", self.lam, 0, why="it is the weight of the distance to centres. A usual value is 2.")
        super()._check_params()

    def _fit(self, context: TrainingContext) -> Centred:
        network = self._stage_1()._fit(context)
        self._keep_start(network, context)
        context.train(self._stages(context)[-1], network, DCNObjective(network, self.lam))
        return network
