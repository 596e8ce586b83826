"""A fitted estimator as one module: raw samples -> z [N, D], probabilities [N, M], labels [N].

Preprocessing, network, merges, splits and the rule for outliers, in the order of estimator/prediction.py.
"""

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from c3clust.encoders.image import ImageEncoder
from c3clust.encoders.run import RunEncoder
from c3clust.errors import InputError
from c3clust.estimator.corrections import Corrections
from c3clust.estimator.splits import Split
from c3clust.export.onnx.layers import exportable, resize
from c3clust.features.outliers import TIE, OutlierRule
from c3clust.features.preprocess import Preprocessor
from c3clust.records.edits import Edits

__all__ = ["Deployed", "input_layers"]


class Deployed(nn.Module):
    """What is exported of a fitted estimator."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        network, steps = _copy(model.network_), model._steps()
        self.inputs, self.network = input_layers(model.preprocessor_), exportable(network)
        self.steps, n = nn.ModuleList(), model.n_clusters_
        for step in steps:
            if isinstance(step, Edits):
                self.steps.append(_Edits(step))
                n = step.n_all
            elif isinstance(step, Corrections):
                self.steps.append(_Corrections(step, n))
            else:
                self.steps.append(_Split(step, n))
                n = step.n_clusters
        rule = model.outlier_rule_ if model.outliers else None
        self.outliers = None if rule is None else _Outliers(rule, model.n_clusters_)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z, c = self.network(self.inputs(x))
        labels, proba = c.argmax(dim=1), c
        corrected = torch.zeros_like(labels, dtype=torch.bool)
        for step in self.steps:
            if isinstance(step, _Corrections):
                labels, proba, now = step(labels, proba, z)
                corrected = corrected | now
            else:
                labels, proba = step(labels, proba, z)
        if self.outliers is not None:
            labels = torch.where(self.outliers(z, c) & ~corrected, -1, labels)
        return z, proba.float(), labels


def input_layers(preprocessor: Preprocessor) -> nn.Module:
    """Raw samples -> the input of the network."""
    encoder, shape = preprocessor.frozen_encoder, preprocessor.shape
    if encoder is None and len(shape) == 3:
        return _Pixels((shape[1], shape[2]))
    layers: list[nn.Module] = [_Scaled(preprocessor)]
    if isinstance(encoder, ImageEncoder):
        if encoder.shape is None:
            raise InputError(f"{encoder} has no image size of its own: set image_size, and fit again.")
        layers = [_Pixels(encoder.shape[1:]), _copy(encoder.network), *layers]
    elif isinstance(encoder, RunEncoder):
        inner = encoder.model
        layers = [input_layers(inner.preprocessor_), _First(exportable(_copy(inner.network_))), *layers]
    return nn.Sequential(*layers)


class _Pixels(nn.Module):
    """Images of any size, bytes or float32 in [0, 1] -> float32 in [0, 1] of one size."""

    def __init__(self, size: tuple[int, ...]) -> None:
        super().__init__()
        self.size = (int(size[0]), int(size[1]))

    def forward(self, x: Tensor) -> Tensor:
        pixels = resize(x.to(torch.float32), self.size)
        return pixels / 255 if x.dtype == torch.uint8 else pixels


class _Scaled(nn.Module):
    """Vectors [N, F] as `scaling.Scaled` scales them, in float64."""

    centre: Tensor
    spread: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, preprocessor: Preprocessor) -> None:
        super().__init__()
        scaling, self.unit = preprocessor.scaling, preprocessor.unit
        self.register_buffer("centre", torch.from_numpy(np.asarray(0.0 if scaling is None else scaling.centre)))
        self.register_buffer("spread", torch.from_numpy(np.asarray(1.0 if scaling is None else scaling.spread)))
        self.clipped = scaling is not None and scaling.low is not None
        if scaling is not None and scaling.low is not None and scaling.high is not None:
            self.register_buffer("low", torch.from_numpy(scaling.low))
            self.register_buffer("high", torch.from_numpy(scaling.high))

    def forward(self, x: Tensor) -> Tensor:
        x = x.double()
        if self.unit:
            largest = x.abs().amax(dim=1, keepdim=True)
            x = x / torch.where(largest > 0, largest, 1.0)
            x = x / x.square().sum(dim=1, keepdim=True).sqrt().clamp_min(1e-12)
        if self.clipped:
            x = torch.minimum(torch.maximum(x, self.low), self.high)
        return ((x - self.centre) / self.spread).float()


class _First(nn.Module):
    """The z of a network x -> (z, c)."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)[0]


class _Edits(nn.Module):
    """`Edits.apply` and `Edits.apply_proba`."""

    target: Tensor
    columns: Tensor

    def __init__(self, edits: Edits) -> None:
        super().__init__()
        target = torch.tensor(edits.target)
        self.register_buffer("target", torch.cat([target, torch.tensor([-1])]))
        self.register_buffer("columns", torch.eye(edits.n_all)[target[: edits.n_clusters]])  # [M, n_all]

    def forward(self, labels: Tensor, proba: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        at = torch.where(labels < 0, len(self.target) - 1, labels)
        return self.target[at], proba.float() @ self.columns


class _Corrections(nn.Module):
    """`Corrections.apply`."""

    moved: Tensor
    cluster: Tensor
    radius: Tensor
    columns: Tensor

    def __init__(self, corrections: Corrections, n_clusters: int) -> None:
        super().__init__()
        self.register_buffer("moved", torch.from_numpy(corrections.moved).double())
        self.register_buffer("cluster", torch.from_numpy(corrections.cluster))
        self.register_buffer("radius", torch.from_numpy(corrections.radius).clamp_min(torch.finfo(torch.float64).tiny))
        inside = self.cluster >= 0
        self.register_buffer("columns", torch.eye(n_clusters)[self.cluster] * inside[:, None])  # [m, M]

    def forward(self, labels: Tensor, proba: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        near = _squares(z.double(), self.moved) / self.radius
        at, share = near.argmin(dim=1), near.amin(dim=1)
        found, one = share <= 1, self.columns[at]
        weight = torch.where(found, 1 - share.clamp_max(1) / 2, 0.0).float() * one.sum(dim=1)
        proba = (1 - weight[:, None]) * proba.float() + weight[:, None] * one
        return torch.where(found, self.cluster[at], labels), proba, found


class _Split(nn.Module):
    """`Split.apply`."""

    numbers: Tensor
    kept: Tensor
    parts: Tensor

    def __init__(self, split: Split, before: int) -> None:
        super().__init__()
        self.cluster, self.heads, numbers = split.cluster, _copy(split.heads), list(split.numbers)
        whole = torch.eye(split.n_clusters)
        self.register_buffer("numbers", torch.tensor(numbers))
        self.register_buffer("parts", whole[numbers])  # [parts, M]
        self.register_buffer("kept", whole.index_fill(1, torch.tensor(numbers), 0.0)[:before])

    def forward(self, labels: Tensor, proba: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        q = self.heads(z)[1]
        before = proba.float()
        mine = before[:, self.cluster : self.cluster + 1] * q
        labels = torch.where(labels == self.cluster, self.numbers[q.argmax(dim=1)], labels)
        return labels, before @ self.kept + mine @ self.parts


class _Outliers(nn.Module):
    """Which samples [N] `Fitted._judge` takes for outliers."""

    centres: Tensor
    spread: Tensor

    def __init__(self, rule: OutlierRule, n_clusters: int) -> None:
        super().__init__()
        used = ~np.isnan(rule.centres[:, 0])
        centres = rule.centres[used].astype(np.float64)
        if rule.unit:
            centres /= np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)
        self.register_buffer("centres", torch.from_numpy(centres))
        self.register_buffer("spread", torch.from_numpy(rule.spread[used].astype(np.float64)))
        self.limit, self.unit, self.n_clusters = rule.limit, rule.unit, n_clusters

    def forward(self, z: Tensor, c: Tensor) -> Tensor:
        far = self._distances(z.double()).amin(dim=1) > self.limit
        if self.n_clusters == 1:
            return far
        first = c.argmax(dim=1)
        mine = c.gather(1, first[:, None])[:, 0]
        other = torch.where(self._is(first), -1.0, c).amax(dim=1)
        return far | (mine - other < TIE * (mine + other))

    def _distances(self, z: Tensor) -> Tensor:
        cosine = z @ self.centres.T
        if self.unit:
            return 1 - cosine
        square = z.square().sum(dim=1, keepdim=True) + self.centres.square().sum(dim=1)
        return (square - 2 * cosine).clamp_min(0).sqrt() / self.spread

    def _is(self, labels: Tensor) -> Tensor:
        """One hot: [...] -> [..., M]."""
        return labels[..., None] == torch.arange(self.n_clusters)


def _squares(a: Tensor, b: Tensor) -> Tensor:
    """Squared Euclidean distances [n, m]."""
    square = a.square().sum(dim=1, keepdim=True) + b.square().sum(dim=1)
    return (square - 2 * a @ b.T).clamp_min(0)


def _copy(network: nn.Module) -> nn.Module:
    return deepcopy(network).cpu().eval()
