"""DEC: deep embedded clustering.

Xie, Girshick, Farhadi, ICML 2016, https://arxiv.org/abs/1511.06335
Stage 1 is a denoising autoencoder with k-means on its codes (methods/dae.py). Stage 2 drops the decoder and trains
encoder and centres so that the soft assignments q approach their own sharpened form t, which is refreshed every epoch.
Shapes: N samples per batch, D code width, M clusters.

Departures from the released code (piiswrong/dec, dec/dec.py and dec/pretrain.py): the autoencoder's layers are trained
together with noise on the input, not one after the other with dropout first; Adam replaces SGD with momentum, in stage
2 by default; the target is computed once per epoch, every 20 steps there; stage 2 has a fixed length, there it ends
when 0.1 % of the labels change.
"""

import copy
from collections.abc import Mapping
from typing import Any, final

import torch
from torch import Tensor

from c3clust import dist
from c3clust.files.model_io import with_prefix, without_prefix
from c3clust.losses.terms import kl_rows, sharpened
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.methods.dae import PretrainFields
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, TrainingContext

__all__ = ["DEC"]


# 1. Loss: KL(T ‖ Q), the mean of ops.kl_rows(t, q) over the samples, with t of


class SharpenedTarget:
    """t_ij of the paper's equation 3, constant between refreshes.

    It consists of a copy of the network and the soft sizes of the clusters at the last refresh: from these, t of any
    batch is computed when it is needed.
    """

    def __init__(self, network: Centred) -> None:
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self.sizes = torch.empty(0)

    def refresh(self, network: Centred, context: TrainingContext) -> None:
        """Copy the current network, and compute its soft cluster sizes Σ_i q_ij over all samples."""
        self.network.load_state_dict(network.state_dict())
        centres = self.network.readout.centres
        parts = (c.double().sum(dim=0) for _, c in context.embed_part(network))
        self.sizes = dist.total(sum(parts, torch.zeros(len(centres), dtype=torch.float64))).to(centres)

    def state_dict(self) -> dict[str, Tensor]:
        return {"sizes": self.sizes, **with_prefix("network", self.network.state_dict())}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.network.load_state_dict(without_prefix("network", state))
        self.sizes = state["sizes"].to(self.network.readout.centres)

    def target(self, x: Tensor) -> Tensor:
        """t of this batch: [N, M], rows sum to 1."""
        with torch.no_grad():
            return sharpened(self.network(x)[1], self.sizes)


# 2. Objective


class DECObjective(SharpenedTarget):
    """What one step minimises: the mean KL(t_i ‖ q_i) over the batch of all processes."""

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        return {"loss": dist.gather(kl_rows(self.target(batch.x_a), network(batch.x_a)[1])).mean()}


# 3. Estimator


@final
@parameters
class DEC(OptimiserFields, PretrainFields, Clusterer):
    """Cluster with deep embedded clustering: an autoencoder, then its encoder sharpens its own clusters.

    Parameters
    ----------
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 200 steps, and at least 5 epochs.
        The paper: until fewer than 0.1 % of the labels change.
    lr : float, default=0.0001
        Learning rate of Adam. The paper: SGD at 0.01.

    References
    ----------
    Xie, Girshick, Farhadi. Unsupervised deep embedding for clustering analysis. ICML 2016.
    https://arxiv.org/abs/1511.06335
    """

    lr: float = 1e-4
    schedule: str = "constant"

    def _fit(self, context: TrainingContext) -> Centred:
        return fit_sharpened(self, DECObjective, context)


# What IDEC shares.


def prepare_sharpening(network: Centred) -> None:
    """Make the centres trainable, and use the kernel of the paper: one degree of freedom, no spread."""
    network.readout.centres.requires_grad_()
    network.readout.spread.fill_(1.0)


def fit_sharpened(method: Any, objective: Any, context: TrainingContext) -> Centred:
    """Train stage 1, then stage 2 from its network."""
    network = method._stage_1()._fit(context)
    method._keep_start(network, context)
    prepare_sharpening(network)
    context.train(method._stages(context)[-1], network, objective(network))
    return network
