"""Batch normalisation over the batch of all processes.

torch has SyncBatchNorm for CUDA; `SyncedNorm` is the same for the CPU. Layers are replaced while a network is trained
by several processes, and share parameters and statistics with the originals, so nothing else notices.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from c3clust import dist

__all__ = ["SyncedNorm", "synchronised"]

SHARED = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked", "training")


@contextmanager
def synchronised(network: nn.Module) -> Iterator[None]:
    """Compute the statistics of batch normalisation over the batch of all processes."""
    replaced = [
        (parent, name, layer)
        for parent in (network.modules() if dist.world_size() > 1 else ())
        for name, layer in parent.named_children()
        if isinstance(layer, _BatchNorm)
    ]
    for parent, name, layer in replaced:
        setattr(parent, name, synced(layer))
    try:
        yield
    finally:
        for parent, name, layer in replaced:
            layer.training = getattr(parent, name).training
            setattr(parent, name, layer)


def synced(layer: _BatchNorm) -> nn.Module:
    """The layer of a network that several processes train: torch's own on CUDA."""
    if any(value.is_cuda for value in layer.state_dict().values()):
        return nn.SyncBatchNorm.convert_sync_batchnorm(layer)
    tracked = layer.track_running_stats
    new = SyncedNorm(layer.num_features, layer.eps, layer.momentum, layer.affine, tracked)
    for name in SHARED:
        setattr(new, name, getattr(layer, name))
    return new


class SyncedNorm(_BatchNorm):
    """Batch normalisation of inputs [N, C, ...] whose statistics are those of all processes' N together."""

    def _check_input_dim(self, x: Tensor) -> None:
        if x.ndim < 2:
            raise ValueError(f"expected at least two dimensions, got {x.ndim}")

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        weight = torch.ones_like(x[0].flatten(1)[:, 0]) if self.weight is None else self.weight
        bias = torch.zeros_like(weight) if self.bias is None else self.bias
        y, mean, variance = _Normalise.apply(x, weight, bias, self.eps)
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            rate = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
            count = _count(x)
            self.running_mean.lerp_(mean.to(self.running_mean), rate)
            self.running_var.lerp_(variance.to(self.running_var) * count / max(count - 1, 1), rate)
        return y


def _count(x: Tensor) -> int:
    """Values of one channel in all processes."""
    return x.numel() // x.shape[1] * dist.world_size()


def _statistics(x: Tensor, dims: list[int]) -> tuple[Tensor, Tensor]:
    """Mean and variance [C] over all processes, from those of each: stable, in one message."""
    variance, mean = torch.var_mean(x, dims, correction=0)
    means, variances = dist.gather(torch.stack([mean, variance])[None]).unbind(1)  # [world, C]
    whole = means.mean(dim=0)
    return whole, (variances + (means - whole).square()).mean(dim=0)


class _Normalise(torch.autograd.Function):
    """y = weight (x - mean) / std + bias; mean and variance are returned without gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        mean, variance = _statistics(x, [0, *range(2, x.ndim)])
        ctx.save_for_backward(x, weight, mean, (variance + eps).rsqrt())
        ctx.mark_non_differentiable(mean, variance)
        return F.batch_norm(x, mean, variance, weight, bias, False, 0.0, eps), mean, variance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """dx = weight / std (dy - E[dy] - x̂ E[dy x̂]), with the means over all processes, and x̂ = (x - mean) / std."""
        x, weight, mean, scale = ctx.saved_tensors
        dy, dims, shape = grads[0], [0, *range(2, x.ndim)], [-1] + [1] * (x.ndim - 2)
        unit = (x - mean.view(shape)).mul_(scale.view(shape))
        d_bias, d_weight = dy.sum(dims), (dy * unit).sum(dims)
        of_all = dist.total(torch.stack([d_bias, d_weight])) / _count(x)
        dx = (dy - of_all[0].view(shape)).addcmul_(unit, of_all[1].view(shape), value=-1)
        return dx.mul_((weight * scale).view(shape)), d_weight, d_bias, None
