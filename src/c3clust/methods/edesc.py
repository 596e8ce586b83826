"""EDESC: efficient deep embedded subspace clustering.

Cai, Fan, Guo, Wang, Zhang, Zhang, CVPR 2022
Each cluster has a subspace of the code of an autoencoder, spanned by d trained vectors. A code belongs to the cluster
whose subspace holds most of its length. Bases are orthonormal within and orthogonal between clusters.
Shapes: N samples per batch, D = M d code width, M clusters, d dimensions of a subspace.

A departure from the paper: mini-batches with the target of each batch, where the released code takes 200 steps on all
samples at once.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
import torch
from sklearn.cluster import KMeans
from torch import Tensor, nn

from c3clust import checks, dist
from c3clust.methods._base import AutoencoderFields, Clusterer, TrainingFields, parameters
from c3clust.methods.ae import AEObjective, reconstruction_errors, set_scale
from c3clust.networks.autoencoder import Autoencoder
from c3clust.ops import kl_rows, sharpened
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["EDESC"]


# 1. Loss


def subspace_affinities(z: Tensor, bases: Tensor, eta: float) -> Tensor:
    """s_ik ~ ‖D_kᵀ z_i‖² + η d, rows sum to 1. z: [N, D]; bases: [M, D, d] -> [N, M]."""
    held = torch.einsum("nf,mfd->nmd", z, bases).square().sum(dim=2) + eta * bases.shape[2]
    return held / held.sum(dim=1, keepdim=True)


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
    def place(self, z: np.ndarray, n_init: int, seed: int) -> None:
        """The basis of a cluster: the leading left singular vectors of its codes, where k-means finds it."""
        labels = KMeans(len(self.bases), n_init=n_init, random_state=seed).fit_predict(z)
        for k, basis in enumerate(self.bases):
            u, _, _ = np.linalg.svd(z[labels == k].T, full_matrices=True)  # [D, D]
            basis.copy_(torch.from_numpy(u[:, : basis.shape[1]].copy()))


@dataclass(frozen=True)
class EDESCObjective:
    """What one step minimises: mean ‖x - x̂‖² / d + β mean KL(t_i ‖ s_i) / M + 1e-3 of the bases.

    The released code averages the divergence over the N M entries of s, hence 1 / M.
    """

    beta: float

    def __call__(self, network: SubspaceNet, batch: Batch) -> dict[str, Tensor]:
        z, s = network(batch.x_a)
        body, s = network.body, dist.gather(s)
        errors = dist.gather(reconstruction_errors(body.scaled(batch.x_a), body.decode(z))).mean()
        target = sharpened(s.detach(), s.detach().sum(dim=0))
        cluster, bases = kl_rows(target, s).mean() / s.shape[1], dist.replicated(basis_loss(network.bases))
        loss = errors + self.beta * cluster + 1e-3 * bases
        return {"loss": loss, "reconstruction_loss": errors, "cluster_loss": cluster, "basis_loss": bases}


# 3. Estimator


@final
@parameters
class EDESC(AutoencoderFields, TrainingFields, Clusterer):
    """Cluster with efficient deep embedded subspace clustering: a subspace of the code for each cluster.

    Parameters
    ----------
    hidden : tuple of int, default=(500, 500, 1000)
        Widths of the encoder's hidden layers; the decoder has them in reverse.
    subspace_dim : int, default=5
        d, dimensions of each subspace; the code has M d.
    eta : float, default=5.0
        η, which smooths the affinities.
    beta : float, default=0.1
        β, the weight of the clustering loss.
    pretrain_epochs : int or "auto", default="auto"
        Stage 1, the autoencoder. "auto" comes to about 500 steps, and at least 15 epochs. The paper: 50.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" comes to about 200 steps, and at least 5 epochs. The paper: 200 steps.

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

    example: ClassVar[str] = AutoencoderFields.two_stages

    hidden: Any = (500, 500, 1000)
    subspace_dim: int = 5
    eta: float = 5.0
    beta: float = 0.1
    pretrain_epochs: int | str = "auto"

    def _check_params(self) -> None:
        checks.whole("subspace_dim", self.subspace_dim, why="it is a number of dimensions. A usual value is 5.")
        checks.number("eta", self.eta, 1e-6, why="it smooths the affinities. A usual value is 5.")
        checks.number("beta", self.beta, 0, why="it weighs the clustering loss. A usual value is 0.1.")
        checks.stage(self.pretrain_epochs, self.batch_size, self.lr, self.schedule, "pretrain_")
        self._check_stage()
        self._check_autoencoder()

    def _build_network(self, shape: tuple[int, ...]) -> SubspaceNet:  # type: ignore[override]
        body = Autoencoder(shape, self.hidden, self.n_clusters_ * self.subspace_dim)
        return SubspaceNet(body, self.n_clusters_, self.subspace_dim, self.eta)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        first = self._epochs(context, 500, 15, 500, "pretrain_epochs")
        return [self._stage("ae", first), self._stage("edesc", self._epochs(context, 200, 5, 200))]

    def _fit(self, context: TrainingContext) -> SubspaceNet:
        network = context.build(self._build_network)
        set_scale(network.body, context)
        first, second = self._stages(context)
        context.train(first, network, AEObjective())
        network.place(context.projections(network), self.n_init, context.seed)
        self._keep_start(network, context)
        context.train(second, network, EDESCObjective(self.beta))
        return network
