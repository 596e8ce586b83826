"""EDESC: efficient deep embedded subspace clustering.

Cai, Fan, Guo, Wang, Zhang, Zhang, CVPR 2022
Each cluster has a subspace of the code of an autoencoder, spanned by d trained vectors. A code belongs to the cluster
whose subspace holds most of its length. Bases are orthonormal within and orthogonal between clusters.
Shapes: N samples per batch, D = M d code width, M clusters, d dimensions of a subspace.

The losses are those of the released code (JinyuCai95/EDESC-pytorch, EDESC.py and Constraint.py) up to rounding, and
targets are those of all samples before each epoch, as in EDESC-MB.py, which has mini-batches; EDESC.py trains on all
samples at once. Departures: a tenth of its learning rate in stage 2; batches are shuffled, and the last short one is
left out; the accuracy is that of the last step, the largest of all steps there.
"""

from collections.abc import Mapping
from typing import Any, final

import numpy as np
import torch
from torch import Tensor, nn

from c3clust import checks, dist
from c3clust.losses.terms import kl_rows, sharpened
from c3clust.methods._base import Clusterer, parameters
from c3clust.methods.ae import reconstruction_errors
from c3clust.methods.dae import DAE, PretrainFields
from c3clust.networks.autoencoder import Autoencoder
from c3clust.training import Batch, TrainingContext

__all__ = ["EDESC"]


# 1. Loss


def subspace_affinities(z: Tensor, bases: Tensor, eta: float) -> Tensor:
    """s_ik ~ ‖D_kᵀ z_i‖² + η d, rows sum to 1. z: [N, D]; bases: [M, D, d] -> [N, M].

    In float64: affinities are nearly equal, so rounding errors, which depend on the batch, would decide labels.
    """
    held = torch.einsum("nf,mfd->nmd", z.double(), bases.double()).square().sum(dim=2) + eta * bases.shape[2]
    return (held / held.sum(dim=1, keepdim=True)).to(z.dtype)


def basis_loss(bases: Tensor) -> Tensor:
    """‖DᵀD ∘ I - I‖_F + ‖DᵀD ∘ O‖_F, O the entries of different clusters. bases: [M, D, d]."""
    m, _, d = bases.shape
    all_bases = bases.transpose(0, 1).flatten(1)  # [D, M d]
    gram = all_bases.T @ all_bases
    off = torch.ones_like(gram) - torch.kron(torch.eye(m, device=gram.device), torch.ones(d, d, device=gram.device))
    tiny = 1e-12  # of the square, for a finite gradient at 0
    unit = ((gram.diagonal() - 1).square().sum() + tiny).sqrt()
    return unit + ((gram * off).square().sum() + tiny).sqrt()


# 2. Objective


class SubspaceNet(nn.Module):
    """An autoencoder (`body`) and a basis for each cluster: x -> (code, affinities)."""

    def __init__(self, body: Autoencoder, n_clusters: int, d: int, eta: float) -> None:
        super().__init__()
        self.body: Any = body
        self.eta, self.bases = eta, nn.Parameter(torch.randn(n_clusters, n_clusters * d, d) / (n_clusters * d) ** 0.5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.body(x)
        return z, subspace_affinities(z, self.bases, self.eta)

    @torch.no_grad()
    def place(self, z: np.ndarray, labels: np.ndarray) -> None:
        """The basis of a cluster: the leading left singular vectors of its codes. z: [n, D]; labels: [n]."""
        for k, basis in enumerate(self.bases):
            u, _, _ = np.linalg.svd(z[labels == k].T, full_matrices=True)  # [D, D]
            basis.copy_(torch.from_numpy(u[:, : basis.shape[1]].copy()))


class EDESCObjective:
    """What one step minimises: mean ‖x - x̂‖² / d + β mean KL(t_i ‖ s_i) / M + 1e-3 of the bases.

    The released code averages the divergence over the N M entries of s, hence 1 / M. State: the targets [n, M].
    """

    def __init__(self, beta: float) -> None:
        self.beta, self.targets = beta, torch.empty(0, 0)

    def refresh(self, network: SubspaceNet, context: TrainingContext) -> None:
        s = torch.from_numpy(context.assignments(network))
        self.targets = sharpened(s, s.sum(dim=0))

    def state_dict(self) -> dict[str, Tensor]:
        return {"targets": self.targets}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.targets = state["targets"]

    def __call__(self, network: SubspaceNet, batch: Batch) -> dict[str, Tensor]:
        z, s = network(batch.x_a)
        body, s = network.body, dist.gather(s)
        errors = dist.gather(reconstruction_errors(body.scaled(batch.x_a), body.decode(z))).mean()
        index = dist.gather(batch.index)
        target = self.targets.to(index.device)[index]
        cluster, bases = kl_rows(target, s).mean() / s.shape[1], dist.replicated(basis_loss(network.bases))
        loss = errors + self.beta * cluster + 1e-3 * bases
        return {"loss": loss, "reconstruction_loss": errors, "cluster_loss": cluster, "basis_loss": bases}


# 3. Estimator


@final
@parameters
class EDESC(PretrainFields, Clusterer):
    """Cluster with efficient deep embedded subspace clustering: a subspace of the code for each cluster.

    Parameters
    ----------
    hidden : tuple of int, default=(500, 500, 1000)
        Widths of the encoder's hidden layers; the decoder has them in reverse.
    subspace_dim : int, default=5
        d, dimensions of each subspace; the code has M d, whatever `code_dim` is.
    eta : float, default=5.0
        η, which smooths the affinities.
    beta : float, default=0.1
        β, the weight of the clustering loss.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" comes to about 200 steps, and at least 5 epochs. The paper: 200 steps.
    lr : float, default=0.0001
        Learning rate of Adam in stage 2; chosen with the accuracy on digits in sight. The paper: 1e-3.

    Attributes
    ----------
    start_labels_ : ndarray [n]
        The clusters before stage 2.
    network_ : SubspaceNet
        The autoencoder (`body`) and the bases.

    References
    ----------
    Cai, Fan, Guo, Wang, Zhang, Zhang. Efficient deep embedded subspace clustering. CVPR 2022.
    https://github.com/JinyuCai95/EDESC-pytorch
    """

    hidden: Any = (500, 500, 1000)
    noise: float = 0.0
    subspace_dim: int = 5
    eta: float = 5.0
    beta: float = 0.1
    lr: float = 1e-4

    def _check_params(self) -> None:
        checks.whole("subspace_dim", self.subspace_dim, why="it is a number of dimensions. A usual value is 5.")
        checks.number("eta", self.eta, 1e-6, why="it smooths the affinities. A usual value is 5.")
        checks.number("beta", self.beta, 0, why="it weighs the clustering loss. A usual value is 0.1.")
        super()._check_params()

    def _stage_1(self) -> DAE:
        first = super()._stage_1()
        first.code_dim = self.n_clusters_ * self.subspace_dim
        return first

    def _build_network(self, shape: tuple[int, ...]) -> SubspaceNet:  # type: ignore[override]
        body = self.autoencoder(shape, self.hidden, self.n_clusters_ * self.subspace_dim)
        return SubspaceNet(body, self.n_clusters_, self.subspace_dim, self.eta)

    def _fit(self, context: TrainingContext) -> SubspaceNet:
        base = self._stage_1()._fit(context)
        network = context.build(lambda _: SubspaceNet(base.body, self.n_clusters_, self.subspace_dim, self.eta))
        z, c = context.outputs(base)
        network.place(z, c.argmax(axis=1))
        self._keep_start(network, context)
        context.train(self._stages(context)[-1], network, EDESCObjective(self.beta))
        return network
