"""TURTLE: the labelling of features that a linear classifier learns best.

Gadetsky, Jiang, Brbić, ICML 2024, https://arxiv.org/abs/2406.07236
The features of a pretrained encoder stay as they are. A task head labels the samples. A linear classifier is trained on
these labels for a few steps; then the task head moves towards labels that this classifier predicts, and that are spread
over all clusters: the labelling of the largest margin.
Shapes: N samples per batch, d features, M clusters.

Departures from the paper: one space of features, where the paper may use several at once; the weights of the task head
are not split into length and direction; features are standardised; the classifier keeps its optimiser state.
"""

from collections.abc import Iterator
from math import prod, sqrt
from typing import final

import torch
from torch import Tensor, nn

from c3clust import checks, dist
from c3clust.methods._base import Clusterer, TrainingFields, parameters
from c3clust.networks.heads import Standardised
from c3clust.ops import entropy, full_precision
from c3clust.training import Batch, TrainingContext

__all__ = ["TURTLE"]

LENGTH = 10.0  # root mean square of the length of the features, so that a step means the same for any number of them


# 1. Loss


def soft_cross_entropy(logits: Tensor, p: Tensor) -> Tensor:
    """-(1/N) Σ_i Σ_k p_ik log softmax(logits_i)_k: [N, M] twice -> scalar."""
    return -(p * torch.log_softmax(full_precision(logits), dim=1)).sum(dim=1).mean()


def task_loss(logits: Tensor, p: Tensor, gamma: float = 10.0) -> Tensor:
    """Cross entropy of the classifier with the labels p, minus γ H((1/N) Σ_i p_i).

    logits: [N, M], of the classifier, constant; p: [N, M], of the task head, rows sum to 1.
    """
    return soft_cross_entropy(logits.detach(), p) - gamma * entropy(full_precision(p).mean(dim=0))


# 2. Objective


class TaskNet(nn.Module):
    """Standardised features with a task head and the inner classifier: x -> (features, labels of the task head)."""

    def __init__(self, width: int, n_clusters: int) -> None:
        super().__init__()
        self.standard = Standardised(width)
        self.task, self.inner = nn.Linear(width, n_clusters), nn.Linear(width, n_clusters)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = LENGTH * self.standard(x) / sqrt(x[0].numel())
        return h, torch.softmax(self.task(h), dim=1)


class TURTLEObjective:
    """What one step minimises: a few steps of the classifier on the labels, then one of the task head."""

    def __init__(self, inner_steps: int, gamma: float) -> None:
        self.inner_steps, self.gamma = inner_steps, gamma

    def optimisers(self, network: TaskNet, lr: float) -> dict[str, torch.optim.Optimizer]:
        return {name: torch.optim.Adam(getattr(network, name).parameters(), lr=lr) for name in ("inner", "task")}

    def losses(self, network: TaskNet, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        h, p = network(batch.x_a)
        p = dist.gather(p)
        for _ in range(self.inner_steps):
            yield "inner", soft_cross_entropy(dist.gather(network.inner(h)), p.detach())
        yield "task", task_loss(dist.gather(network.inner(h)), p, self.gamma)


# 3. Estimator


@final
@parameters
class TURTLE(TrainingFields, Clusterer):
    """Cluster the features of a pretrained encoder with TURTLE: find labels that a linear classifier learns best.

    Parameters
    ----------
    inner_steps : int, default=10
        Steps of the classifier for each step of the task head.
    gamma : float, default=10.0
        γ, the weight of the entropy of the cluster sizes.
    epochs : int or "auto", default="auto"
        "auto" comes to about 600 steps, and at least 20 epochs. The paper: 6000 steps.
    batch_size : int, default=1024
        The paper: 10000.
    lr : float, default=0.03
        Learning rate of Adam, for the task head and the classifier. The paper: 1e-3.

    Attributes
    ----------
    network_ : TaskNet
        The scale of the features (`standard`), the task head (`task`) and the classifier (`inner`).

    References
    ----------
    Gadetsky, Jiang, Brbić. Let go of your labels with unsupervised transfer. ICML 2024.
    https://arxiv.org/abs/2406.07236

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from c3clust.methods.turtle import TURTLE
    >>> turtle = TURTLE(n_clusters=10, epochs=1, random_state=0).fit(load_digits().data)
    >>> turtle.predict_proba(load_digits().data[:2]).shape
    (2, 10)
    """

    inner_steps: int = 10
    gamma: float = 10.0
    batch_size: int = 1024
    lr: float = 0.03

    def _check_params(self) -> None:
        checks.whole("inner_steps", self.inner_steps, why="it counts steps of the classifier. A usual value is 10.")
        checks.number("gamma", self.gamma, 0, why="it is the weight of an entropy. A usual value is 10.")
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> TaskNet:
        return TaskNet(prod(shape), self.n_clusters_)

    def _fit(self, context: TrainingContext) -> TaskNet:
        network = context.build(self._build_network)
        network.standard.fit(context.pixels())
        objective = TURTLEObjective(self.inner_steps, self.gamma)
        context.train(self._stage("turtle", self._epochs(context, 600, 20, 600)), network, objective)
        return network
