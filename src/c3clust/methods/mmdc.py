"""MMDC: multi-modal deep clustering, by targets that are points of a mixture.

Shiran, Weinshall, 2020, https://arxiv.org/abs/1912.02678
Each sample has a target, one of M unit vectors. In each batch, the targets are exchanged among the samples so that the
sum of distances is the least; then the outputs of views approach them. A second task, which of four ways an image is
turned, shapes the features. In the end, targets are the clusters of k-means.
Shapes: N samples per batch, M clusters.

Departures from the released code (guysrn/mmdc, mmdc.py and README.md): the turns are learned in each step, together
with the targets and with a smaller weight, not in separate epochs; the targets of un-augmented samples are exchanged,
those of centre crops there; targets are not shuffled before the first epoch; logits are normalised over the batch; Adam
replaces SGD. As there: targets without noise; k-means starts anew before each epoch, and its clusters are matched with
the targets before; for handwriting no turns, where a turned 6 is a 9, and k-means in 60 % of the epochs (the command
for MNIST), otherwise in an eighth of them (CIFAR-10).
"""

from collections.abc import Mapping
from typing import final

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust import augment, checks, dist
from c3clust.losses.inputs import check_unit_rows
from c3clust.losses.terms import full_precision
from c3clust.methods._base import Clusterer, NetworkFields, parameters
from c3clust.methods._optimiser import OptimiserFields
from c3clust.networks import backbone
from c3clust.training import Batch, Stage, TrainingContext

__all__ = ["MMDC"]

SHARPNESS = 10.0  # of the assignment: softmax of this times the cosines
TURNS = 0.5  # weight of the turns of photographs, times M: the loss of the targets is a mean over N M entries
REFINED = 0.125, 0.6  # share of the epochs with targets of k-means: of photographs, of others


# 1. Loss


def exchanged(outputs: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The clusters `targets` [N] in the order that minimises Σ_i ‖y_i - t_π(i)‖², t the unit vectors of the clusters.

    outputs: [N, M], unit rows. Hungarian method: ‖y - t‖² = 2 - 2 y_t.
    """
    rows, columns = linear_sum_assignment(-outputs[:, targets])
    return targets[columns[np.argsort(rows)]]


def matched(labels: np.ndarray, before: np.ndarray, n_clusters: int) -> np.ndarray:
    """`labels` [n] renumbered so that as many as possible are those of `before` [n]."""
    same = np.zeros((n_clusters, n_clusters))
    np.add.at(same, (labels, before), 1)
    return linear_sum_assignment(-same)[1][labels]


def target_loss(y: Tensor, targets: Tensor) -> Tensor:
    """Mean of (y_ik - t_ik)², for unit rows y [N, M] and the unit vectors t of the clusters `targets` [N]."""
    check_unit_rows(y=y)
    return (2 - 2 * full_precision(y).gather(1, targets[:, None])).mean() / y.shape[1]


# 2. Objective


class TurningNet(nn.Module):
    """Encoder f with a head for targets and one for turns: x -> (unit features, assignment)."""

    def __init__(self, f: nn.Module, width: int, n_clusters: int) -> None:
        super().__init__()
        self.f, self.turns = f, nn.Linear(width, 4)
        self.head = nn.Sequential(nn.Linear(width, n_clusters), nn.BatchNorm1d(n_clusters))

    def encode(self, x: Tensor) -> Tensor:
        return self.f(x).flatten(1)

    def outputs(self, h: Tensor) -> Tensor:
        """y, unit rows: [N, M]."""
        return F.normalize(self.head(h), dim=1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.encode(x)
        return F.normalize(h, dim=1), torch.softmax(SHARPNESS * self.outputs(h), dim=1)


class MMDCObjective:
    """What one step minimises: the distance of views to their targets and the loss of the turns.

    Its state: the targets [n]. With `kmeans`, they are the clusters of the outputs, computed before each epoch.
    """

    def __init__(self, n: int, n_clusters: int, weight: float, kmeans: bool) -> None:
        self.targets, self.n_clusters = torch.arange(n) % n_clusters, n_clusters
        self.weight, self.kmeans = weight, kmeans

    def refresh(self, network: TurningNet, context: TrainingContext) -> None:
        if self.kmeans:
            logs = np.log(context.assignments(network).clip(1e-12))  # the outputs, up to a shift of each row
            kmeans = KMeans(self.n_clusters, n_init=10, random_state=context.seed)
            labels = dist.of_first(lambda: kmeans.fit(logs / SHARPNESS).labels_)
            self.targets = torch.from_numpy(matched(labels, self.targets.numpy(), self.n_clusters)).long()

    def state_dict(self) -> dict[str, Tensor]:
        return {"targets": self.targets}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.targets = state["targets"]

    def __call__(self, network: TurningNet, batch: Batch) -> dict[str, Tensor]:
        index = dist.gather(batch.index).cpu()
        if not self.kmeans:
            with torch.no_grad():
                y = dist.gather(network.outputs(network.encode(batch.x)))
            found = exchanged(y.double().cpu().numpy(), self.targets[index].numpy())
            self.targets[index] = torch.from_numpy(found)
        y = dist.gather(network.outputs(network.encode(batch.x_a)))
        targets = target_loss(y, self.targets[index].to(y.device))
        turns = turn_loss(network, batch.x_b) if batch.x_b.ndim == 4 and self.weight else torch.zeros_like(targets)
        return {"loss": targets + self.weight * turns, "target_loss": targets, "turn_loss": turns}


def turn_loss(network: TurningNet, x: Tensor) -> Tensor:
    """Cross entropy of which way each image is turned: of four ways; of two, by half a turn, if it is not square."""
    step = 1 if x.shape[2] == x.shape[3] else 2
    first = dist.rank() * len(x) * step  # so that the turns of all processes are those of one batch
    turned = [torch.rot90(x[(k - first) % 4 // step :: 4 // step], k, (2, 3)) for k in range(0, 4, step)]
    labels = torch.cat(
        [torch.full((len(part),), k, device=x.device) for k, part in zip(range(0, 4, step), turned, strict=True)]
    )
    return F.cross_entropy(dist.gather(network.turns(network.encode(torch.cat(turned)))), dist.gather(labels))


# 3. Estimator


@final
@parameters
class MMDC(OptimiserFields, NetworkFields, Clusterer):
    """Cluster with MMDC: targets that samples exchange, and images that are turned.

    Parameters
    ----------
    turn_weight : float or "auto", default="auto"
        Weight of the loss of the turns. "auto" is 0.5 / M for views of photographs (policy "photo") and 0 for others,
        which have none in the released commands either. The released code: 1. Vectors are never turned.
    refine : float or "auto", default="auto"
        Share of the epochs, the last ones, in which targets are the clusters of k-means. "auto" is 0.125 for views of
        photographs and 0.6 for others, as in the released commands.
    epochs : int or "auto", default="auto"
        In all. "auto" is about 500 steps, and at least 15 epochs. The
        paper: 400.
    lr : float, default=0.001
        Learning rate of Adam. The paper: SGD at 0.05.

    Attributes
    ----------
    network_ : TurningNet
        The encoder (`f`), the head of the targets (`head`) and that of the turns (`turns`).

    References
    ----------
    Shiran, Weinshall. Multi-modal deep clustering: unsupervised partitioning of images. ICPR 2020.
    https://arxiv.org/abs/1912.02678
    """

    turn_weight: float | str = "auto"
    refine: float | str = "auto"

    def _check_params(self) -> None:
        if self.turn_weight != "auto":
            checks.number("turn_weight", self.turn_weight, 0, why='it is the weight of the turns, or "auto".')
        if self.refine != "auto":
            checks.number("refine", self.refine, 0, 1, why='it is a share of the epochs, or "auto".')
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> TurningNet:
        return TurningNet(*backbone(self.backbone, shape, self.stem), self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        epochs = self._epochs(context, 500, 15, 400)
        share = REFINED[not _photographs(context)] if self.refine == "auto" else float(self.refine)
        last = int(share * epochs)
        return [self._stage("mmdc", epochs - last), self._stage("kmeans", last)]

    def _fit(self, context: TrainingContext) -> TurningNet:
        network, (first, last) = context.build(self._build_network), self._stages(context)
        automatic = self.turn_weight == "auto"
        weight = TURNS / self.n_clusters_ * _photographs(context) if automatic else float(self.turn_weight)
        objective = MMDCObjective(len(context.x), self.n_clusters_, weight, kmeans=False)
        context.train(first, network, objective)
        self._keep_start(network, context)
        refined = MMDCObjective(len(context.x), self.n_clusters_, weight, kmeans=True)
        refined.load_state_dict(objective.state_dict())
        context.train(last, network, refined)
        return network


def _photographs(context: TrainingContext) -> bool:
    return isinstance(getattr(context, "policy", None), augment.Photo)  # a plan may have none yet
