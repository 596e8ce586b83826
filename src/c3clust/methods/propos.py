"""ProPos: prototype scattering and positive sampling, on top of BYOL.

Huang, Chen, Zhang, Shan, IEEE TPAMI 2022, https://arxiv.org/abs/2111.11821
Stage 1 is BYOL (Grill et al., NeurIPS 2020, https://arxiv.org/abs/2006.07733): a network predicts the projections that
its own moving average, the target, makes of another view. Stage 2 adds noise to the projections that are predicted, and
scatters the prototypes, the mean projections of the clusters that k-means finds before each epoch. k-means on the
projections of the target gives the labels.
Shapes: N samples per batch, F feature width, D projection width, M clusters.

Departures from the released code (Hzzone/ProPos, models/propos/byol_wrapper.py, byol.py and models/basic_template.py):
Adam replaces SGD by default; batches are not shuffled for batch normalisation; projector and predictor have 2 F hidden
units, 4096 there. As there: the predictor learns at ten times the rate and starts from small weights; the learning rate
grows in stage 1 and falls in stage 2; the target has batch statistics of its own; k-means has ten starts per epoch; the
momentum is constant.
"""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import final

import torch
from sklearn.cluster import KMeans
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.losses.inputs import check_pairs, check_unit_rows
from c3clust.losses.terms import full_precision
from c3clust.methods._base import Clusterer, NetworkFields, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.networks import backbone
from c3clust.networks.momentum import follow_weights
from c3clust.networks.readouts import Centred
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["ProPos"]

PREDICTOR_RATE = 10.0  # times the learning rate of everything else
STARTS = 10  # of k-means before an epoch


# 1. Loss


def alignment_loss(q: Tensor, z: Tensor) -> Tensor:
    """Mean of 2 - 2 cos(q_i, z_i): predictions and projections of the target [N, D], as in BYOL."""
    check_pairs(q=q, z=z)
    return (2 - 2 * F.cosine_similarity(full_precision(q), full_precision(z), dim=1)).mean()


def prototypes(z: Tensor, labels: Tensor, n_clusters: int) -> Tensor:
    """The mean of the rows of each cluster, of unit length: [N, D], [N] -> [M, D]; 0 for a cluster without samples."""
    return F.normalize(F.one_hot(labels, n_clusters).to(z.dtype).T @ z, dim=1)


def scattering_loss(a: Tensor, b: Tensor, present: Tensor, tau: float = 0.5) -> Tensor:
    """Mean of -log e^(a_k · b_k / τ) / (e^(a_k · b_k / τ) + Σ_{j ≠ k} e^(a_k · a_j / τ)).

    a, b: [M, D], unit prototypes of two views; present: [M] bool, clusters that have samples, to which all sums go.
    """
    check_pairs(a=a, b=b)
    check_unit_rows(a=a, b=b)
    a, b = full_precision(a[present]), full_precision(b[present])
    own = torch.eye(len(a), dtype=torch.bool, device=a.device)
    s = torch.where(own, a @ b.T, a @ a.T) / tau
    return F.cross_entropy(s, torch.arange(len(s), device=s.device))


# 2. Objective


def mlp_head(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    """Linear, BatchNorm, ReLU, Linear: BYOL's projector and predictor."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def small(predictor: nn.Sequential) -> nn.Sequential:
    """The predictor with the released code's first weights, N(0, 0.01²), and its share of the learning rate."""
    for layer in predictor:
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=0.01)
            nn.init.zeros_(layer.bias)
    predictor.rate = PREDICTOR_RATE  # type: ignore[assignment]
    return predictor


class Predicting(nn.Module):
    """Encoder f and projector g (`online`), predictor q, and the moving average of f and g (`target`).

    `forward` is the unit projection of the target, which k-means clusters.
    """

    def __init__(self, f: nn.Module, width: int, projection_dim: int) -> None:
        super().__init__()
        self.online = nn.Sequential(f, nn.Flatten(1), mlp_head(width, 2 * width, projection_dim))
        self.q = small(mlp_head(projection_dim, 2 * width, projection_dim))
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(self.target(x), dim=1)


class ProPosObjective:
    """What one step minimises: the alignment; and, with a weight, the scattering of prototypes (0 in stage 1).

    Its state: the clusters of all samples.
    """

    def __init__(self, n_clusters: int, momentum: float, weight: float, sigma: float, tau: float) -> None:
        self.n_clusters, self.momentum, self.weight, self.sigma, self.tau = n_clusters, momentum, weight, sigma, tau
        self.labels = torch.empty(0, dtype=torch.int64)

    def refresh(self, network: Centred, context: TrainingContext) -> None:
        if self.weight:
            z, kmeans = context.projections(network), KMeans(self.n_clusters, n_init=STARTS, random_state=context.seed)
            self.labels = torch.from_numpy(dist.of_first(lambda: kmeans.fit(z).labels_)).long()

    def state_dict(self) -> dict[str, Tensor]:
        return {"labels": self.labels}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.labels = state["labels"]

    def __call__(self, network: Centred, batch: Batch) -> dict[str, Tensor]:
        body, views = network.body, (batch.x_a, batch.x_b)
        with torch.no_grad():
            t_a, t_b = (dist.gather(body.target(x)) for x in views)
        z_a, z_b = (body.online(x) for x in views)
        q_a, q_b = (dist.gather(body.q(self.noisy(z))) for z in (z_a, z_b))
        follow_weights(body.target, body.online, self.momentum)
        alignment = (alignment_loss(q_a, t_b) + alignment_loss(q_b, t_a)) / 2
        if not self.weight:
            return {"loss": alignment, "alignment_loss": alignment}
        labels = self.labels.to(t_a.device)[dist.gather(batch.index)]
        scattering = (self.scatter(z_a, t_b, labels) + self.scatter(z_b, t_a, labels)) / 2
        loss = alignment + self.weight * scattering
        return {"loss": loss, "alignment_loss": alignment, "scattering_loss": scattering}

    def noisy(self, z: Tensor) -> Tensor:
        """A neighbour of each projection: z + σ ε."""
        return z + self.sigma * dist.random_rows(torch.randn_like, z)

    def scatter(self, z: Tensor, t: Tensor, labels: Tensor) -> Tensor:
        """The scattering of the prototypes of a view, relative to those that the target makes of the other."""
        a, b = (prototypes(F.normalize(rows, dim=1), labels, self.n_clusters) for rows in (dist.gather(z), t))
        return scattering_loss(a, b, torch.bincount(labels, minlength=self.n_clusters) > 0, self.tau)


# 3. Estimator


@final
@parameters
class ProPos(OptimiserFields, NetworkFields, Clusterer):
    """Cluster with ProPos: BYOL, then alignment of neighbours and scattering of prototypes; k-means on projections.

    Parameters
    ----------
    weight : float, default=0.1
        Weight of the scattering of prototypes.
    sigma : float, default=0.001
        Standard deviation of the noise on projections that makes neighbours, in stage 2.
    tau : float, default=0.5
        Temperature of the scattering.
    momentum : float, default=0.98
        Fraction of the target network that stays in a step. The papers: 0.99 and more, up to 1 at the end.
    pretrain_epochs : int or "auto", default="auto"
        Stage 1, in which the learning rate grows. "auto" is about 300 steps, and at least 10 epochs.
    epochs : int or "auto", default="auto"
        Stage 2. "auto" is about 200 steps, and at least 5 epochs. The paper: 1000 in all.
    n_init : int, default=20
        Starts of k-means in the end.

    Attributes
    ----------
    start_labels_ : ndarray [n]
        The clusters that k-means finds after stage 1.
    network_ : Centred
        Encoder, projector and predictor (`body`) and the centres of the features (`readout`).

    References
    ----------
    Huang, Chen, Zhang, Shan. Learning representation for clustering via prototype scattering and positive sampling.
    IEEE TPAMI 2022. https://arxiv.org/abs/2111.11821
    Grill et al. Bootstrap your own latent: a new approach to self-supervised learning. NeurIPS 2020.
    https://arxiv.org/abs/2006.07733

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.propos import ProPos
    >>> x = load_digits().images[:100] / 16
    >>> propos = ProPos(n_clusters=10, pretrain_epochs=1, epochs=1, random_state=0).fit(x)
    >>> [stage["name"] for stage in propos.stages_]
    ['byol', 'propos']
    """

    weight: float = 0.1
    sigma: float = 0.001
    tau: float = 0.5
    momentum: float = 0.98
    pretrain_epochs: int | str = "auto"
    n_init: int = 20

    def _check_params(self) -> None:
        checks.number("weight", self.weight, 0, why="it is the weight of the scattering. A usual value is 0.1.")
        checks.number("sigma", self.sigma, 0, why="it is a standard deviation. A usual value is 0.001.")
        checks.number("tau", self.tau, 1e-3, why="it divides cosines. A usual value is 0.5.")
        checks.number("momentum", self.momentum, 0, 1, why="it is a fraction of the target. A usual value is 0.98.")
        checks.whole("projection_dim", self.projection_dim, why="it is a width. A usual value is 128.")
        checks.whole("n_init", self.n_init, why="it is the number of k-means starts. A usual value is 20.")
        checks.stage(self.pretrain_epochs, self.batch_size, self.lr, self.schedule, "pretrain_")
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> Centred:
        f, width = backbone(self.backbone, shape, self.stem)
        return Centred(Predicting(f, width, self.projection_dim), self.projection_dim, self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        first = self._epochs(context, 300, 10, 300, "pretrain_epochs")
        growing = replace(self._stage("byol", first), schedule={"name": "constant", "warmup": first})
        return [growing, self._stage("propos", self._epochs(context, 200, 5, 100))]

    def _fit(self, context: TrainingContext) -> Centred:
        network, (byol, propos) = context.build(self._build_network), self._stages(context)
        context.train(byol, network, ProPosObjective(self.n_clusters_, self.momentum, 0, 0, self.tau))
        network.readout.place(context.projections(network), self.n_init, context.seed)
        self._keep_start(network, context)
        objective = ProPosObjective(self.n_clusters_, self.momentum, self.weight, self.sigma, self.tau)
        context.train(propos, network, objective)
        network.readout.place(context.projections(network), self.n_init, context.seed)
        return network
