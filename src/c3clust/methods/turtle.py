"""TURTLE: the labelling of features that a linear classifier learns best.

Gadetsky, Jiang, Brbić, ICML 2024, https://arxiv.org/abs/2406.07236
The features of a pretrained encoder stay as they are. A task head labels the samples. A linear classifier is trained on
these labels for a few steps; then the task head moves towards labels that this classifier predicts, and that are spread
over all clusters: the labelling of the largest margin.
Shapes: N samples per batch, d features, M clusters.

As in the released code (mlbio-epfl/turtle, run_turtle.py), the weights of the task head are split into length and
direction, and the classifier starts anew for each step of the task head. Departures: one space of features, where the
paper may use several at once; the features are centred, and all divided by one number; the classifier starts at 0,
where the released code draws its weights at random.
"""

from collections.abc import Iterator
from math import prod, sqrt
from typing import ClassVar, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from c3clust import checks, dist
from c3clust.losses.terms import entropy, full_precision
from c3clust.methods._base import Clusterer, TrainingFields, parameters
from c3clust.training import Adam, Batch, Stage, TrainingContext

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


class LengthAndDirection(nn.Module):
    """A linear layer whose weights are length times unit direction, for each output, both trained: [N, d] -> [N, M].

    The length moves by at most the learning rate per step, so that labels do not become certain, and final, at once.
    """

    def __init__(self, width: int, n_clusters: int) -> None:
        super().__init__()
        start = nn.Linear(width, n_clusters)
        self.direction, self.bias = nn.Parameter(start.weight.detach()), nn.Parameter(start.bias.detach())
        self.length = nn.Parameter(self.direction.detach().norm(dim=1, keepdim=True))

    def forward(self, h: Tensor) -> Tensor:
        return F.linear(h, self.length * F.normalize(self.direction, dim=1), self.bias)


class TaskNet(nn.Module):
    """Scaled features with a task head and the inner classifier: x -> (features, labels of the task head)."""

    centre: Tensor  # [d]
    scale: Tensor

    def __init__(self, width: int, n_clusters: int) -> None:
        super().__init__()
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("scale", torch.ones(()))
        self.task, self.inner = LengthAndDirection(width, n_clusters), nn.Linear(width, n_clusters)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.scale * (x.flatten(1) - self.centre)
        return h, torch.softmax(self.task(h), dim=1)

    def fit_scale(self, x: np.ndarray) -> None:
        """Centre the features x [n, d], and scale them to a root mean square of their length of `LENGTH`."""
        centre = x.mean(axis=0, dtype=np.float64)
        square = np.square(x - centre).sum(axis=1).mean()
        self.centre.copy_(torch.from_numpy(centre))
        self.scale.fill_(LENGTH / sqrt(square) if square > 0 else 1.0)


class TURTLEObjective:
    """What one step minimises: a few steps of the classifier on the labels, then one of the task head."""

    def __init__(self, inner_steps: int, gamma: float, warm_start: bool = False) -> None:
        self.inner_steps, self.gamma, self.warm_start = inner_steps, gamma, warm_start
        self.made: dict[str, torch.optim.Optimizer] = {}

    def optimisers(self, network: TaskNet, lr: float) -> dict[str, torch.optim.Optimizer]:
        self.made = {name: Adam(getattr(network, name).parameters(), lr=lr) for name in ("inner", "task")}
        return self.made

    def _start(self, network: TaskNet) -> None:
        """Set the classifier to 0, and forget the moments of its optimiser."""
        for parameter in network.inner.parameters():
            nn.init.zeros_(parameter)
        if "inner" in self.made:
            self.made["inner"].state.clear()

    def losses(self, network: TaskNet, batch: Batch) -> Iterator[tuple[str, Tensor]]:
        if not self.warm_start:
            self._start(network)
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
    warm_start : bool, default=False
        Let the classifier continue from the last step of the task head instead of starting anew.
    epochs : int or "auto", default="auto"
        "auto" comes to about 600 steps, and at least 20 epochs. The paper: 6000 steps.
    batch_size : int, default=1024
        The paper: 10000.
    lr : float, default=0.01
        Learning rate of Adam, for the task head and the classifier. The paper: 1e-3.

    Attributes
    ----------
    network_ : TaskNet
        The centre and scale of the features, the task head (`task`) and the classifier (`inner`).

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

    standardise: ClassVar[float] = 0  # distances of an encoder's features are kept

    inner_steps: int = 10
    gamma: float = 10.0
    warm_start: bool = False
    batch_size: int = 1024
    lr: float = 0.01

    def _check_params(self) -> None:
        checks.whole("inner_steps", self.inner_steps, why="it counts steps of the classifier. A usual value is 10.")
        checks.number("gamma", self.gamma, 0, why="it is the weight of an entropy. A usual value is 10.")
        checks.flag("warm_start", self.warm_start)
        self._check_stage()

    def _build_network(self, shape: tuple[int, ...]) -> TaskNet:
        return TaskNet(prod(shape), self.n_clusters_)

    def _stages(self, context: TrainingContext) -> list[Stage]:
        return [self._stage("turtle", self._epochs(context, 600, 20, 600))]

    def _fit(self, context: TrainingContext) -> TaskNet:
        network = context.build(self._build_network)
        network.fit_scale(context.pixels())
        objective = TURTLEObjective(self.inner_steps, self.gamma, self.warm_start)
        context.train(self._stages(context)[0], network, objective)
        return network
