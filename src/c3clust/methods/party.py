"""PARTY: deep subspace clustering with a sparsity prior.

Peng, Xiao, Feng, Yau, Yi, IJCAI 2016
Each sample is written as a sparse sum of other samples. An autoencoder learns codes that are the same sums of the codes
of those samples. The sparse sums of the codes themselves then give a graph, whose spectral clusters are the labels.
Shapes: n samples, K candidates, N samples per batch, D code width, M clusters.

Only the first page of the paper was available, and no released code. How it was read: sums of at most K nearest
neighbours, by the lasso, where the paper's are over all samples; the codes that a sum refers to are those before the
epoch. All layers are trained together. New samples get the label of the nearest code: the codes are part of the model.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, final

import numpy as np
import torch
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors
from torch import Tensor, nn

from c3clust import checks, dist
from c3clust.features.vectors import unit_rows
from c3clust.methods._base import AutoencoderFields, Clusterer, TrainingFields, parameters
from c3clust.methods.ae import AEObjective, reconstruction_errors, set_scale
from c3clust.methods.sc import spectral_embedding
from c3clust.networks.autoencoder import Autoencoder
from c3clust.networks.readouts import Neighbours
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["PARTY"]

STEPS = 100  # of the lasso


# 1. Sparse sums and loss


def lasso(gram: np.ndarray, b: np.ndarray, alpha: float, steps: int = STEPS) -> np.ndarray:
    """argmin_c ½ cᵀG c - bᵀc + α ‖c‖₁ of each row, by FISTA (Beck, Teboulle 2009): [n, K, K], [n, K] -> [n, K]."""
    rate = (
        1 / np.linalg.norm(gram, axis=(1, 2)).clip(1e-12)[:, None]
    )  # the Frobenius norm bounds the largest eigenvalue
    c = ahead = np.zeros_like(b)
    t = 1.0
    for _ in range(steps):
        moved = ahead - rate * (np.einsum("nkl,nl->nk", gram, ahead) - b)
        new = np.sign(moved) * np.maximum(np.abs(moved) - rate * alpha, 0)
        t_new = (1 + (1 + 4 * t * t) ** 0.5) / 2
        ahead, c, t = new + (t - 1) / t_new * (new - c), new, t_new
    return c


def sparse_sums(x: np.ndarray, n_neighbors: int, alpha: float) -> csr_array:
    """C with x_i ≈ Σ_j C_ij x_j, C_ii = 0, sparse, over the nearest neighbours of unit rows: [n, n]."""
    z, k, n = unit_rows(x.astype(np.float64)), min(n_neighbors, len(x) - 1), len(x)
    index = NearestNeighbors(n_neighbors=k).fit(z).kneighbors(return_distance=False)
    parts = []
    for i in np.array_split(np.arange(n), -(-n // 1024)):
        near = z[index[i]]  # [block, K, d]
        parts.append(lasso(near @ near.transpose(0, 2, 1), np.einsum("nkd,nd->nk", near, z[i]), alpha))
    return csr_array((np.concatenate(parts).ravel(), (np.repeat(np.arange(n), k), index.ravel())), shape=(n, n))


def expression_errors(h: Tensor, target: Tensor) -> Tensor:
    """‖h_i - Σ_j C_ij h_j‖² of each sample: [N, D] twice -> [N]."""
    return (h - target).square().sum(dim=1)


# 2. Objective


class LabelledCodes(nn.Module):
    """An autoencoder (`body`) and labelled codes (`readout`): x -> (code, assignment)."""

    def __init__(self, body: Autoencoder, code_dim: int, n_clusters: int) -> None:
        super().__init__()
        self.body: Any = body
        self.readout = Neighbours(n_clusters, code_dim, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.readout(self.body(x))


class PARTYObjective:
    """What one step minimises: mean ‖x - x̂‖² / d + λ1 ‖h - HC‖² + λ2 ‖weights‖². Its state: the sums H C [n, D]."""

    def __init__(self, sums: csr_array, weight: float, decay: float) -> None:
        self.sums, self.weight, self.decay, self.targets = sums, weight, decay, torch.empty(0)

    def refresh(self, network: LabelledCodes, context: TrainingContext) -> None:
        self.targets = torch.from_numpy(np.asarray(self.sums @ context.projections(network), np.float32))

    def state_dict(self) -> dict[str, Tensor]:
        return {"targets": self.targets}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.targets = state["targets"]

    def __call__(self, network: LabelledCodes, batch: Batch) -> dict[str, Tensor]:
        body, h = network.body, network.body(batch.x_a)
        errors = dist.gather(reconstruction_errors(body.scaled(batch.x_a), body.decode(h))).mean()
        target = self.targets[batch.index.cpu()].to(h.device)
        expression = dist.gather(expression_errors(h, target)).mean()
        size = dist.replicated(sum((p.square().sum() for p in body.parameters()), torch.zeros_like(errors)))
        loss = errors + self.weight * expression + self.decay * size
        return {"loss": loss, "reconstruction_loss": errors, "expression_loss": expression}


# 3. Estimator


@final
@parameters
class PARTY(AutoencoderFields, TrainingFields, Clusterer):
    """Cluster with PARTY: codes that keep the sparse sums of the samples, then spectral clustering.

    All codes are part of a saved model. Time and memory suit up to 20,000 samples.

    Parameters
    ----------
    n_neighbors : int, default=20
        K, samples that a sum may have.
    alpha : float, default=0.02
        α, the weight of the l1 norm of a sum, for samples of unit length.
    weight : float, default=0.1
        λ1, the weight of the sums of codes.
    decay : float, default=1e-6
        λ2, the weight of the squared weights.
    pretrain_epochs : int or "auto", default="auto"
        Stage 1, the autoencoder alone. "auto" is about 300 steps, and at least 10 epochs.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 200 steps, and at least 5 epochs.

    Attributes
    ----------
    network_ : LabelledCodes
        The autoencoder (`body`) and the codes of the samples with their labels (`readout`).

    References
    ----------
    Peng, Xiao, Feng, Yau, Yi. Deep subspace clustering with sparsity prior. IJCAI 2016.
    """

    example: ClassVar[str] = AutoencoderFields.two_stages

    n_neighbors: int = 20
    alpha: float = 0.02
    weight: float = 0.1
    decay: float = 1e-6
    pretrain_epochs: int | str = "auto"

    def _check_params(self) -> None:
        checks.whole("n_neighbors", self.n_neighbors, why="it is the number of samples of a sum. A usual value is 20.")
        for name, usual in (("alpha", 0.02), ("weight", 0.1), ("decay", 1e-6)):
            checks.number(name, getattr(self, name), 0, why=f"it is the weight of a term. A usual value is {usual}.")
        checks.stage(self.pretrain_epochs, self.batch_size, self.lr, self.schedule, "pretrain_")
        self._check_stage()
        self._check_autoencoder()

    def _build_network(self, shape: tuple[int, ...]) -> LabelledCodes:  # type: ignore[override]
        return LabelledCodes(Autoencoder(shape, self.hidden, self.code_dim), self.code_dim, self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        first = self._epochs(context, 300, 10, 300, "pretrain_epochs")
        return [self._stage("ae", first), self._stage("party", self._epochs(context, 200, 5, 200))]

    def _fit(self, context: TrainingContext) -> LabelledCodes:
        network = context.build(self._build_network)
        set_scale(network.body, context)
        first, second = self._stages(context)
        context.train(first, network, AEObjective())
        sums = sparse_sums(context.pixels(), self.n_neighbors, self.alpha)
        objective = PARTYObjective(sums, self.weight, self.decay)
        context.train(second, network, objective)
        h = context.projections(network)
        c = abs(sparse_sums(h, self.n_neighbors, self.alpha))
        v = spectral_embedding(csr_array(c + c.T), self.n_clusters_, context.seed)
        labels = KMeans(self.n_clusters_, n_init=self.n_init, random_state=context.seed).fit_predict(v)
        network.readout.store(h, labels)
        network.readout.to(context.device)
        return network
