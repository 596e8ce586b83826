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

__all__ = ["SyncedNorm", "synchronise", "synchronised"]

SHARED = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked", "training")


@contextmanager
def synchronised(network: nn.Module) -> Iterator[None]:
    """Compute the statistics of batch normalisation over the batch of all processes."""
    replaced = synchronise(network)
    try:
        yield
    finally:
        for parent, name, layer in replaced:
            layer.training = getattr(parent, name).training
            setattr(parent, name, layer)


def synchronise(network: nn.Module) -> list[tuple[nn.Module, str, _BatchNorm]]:
    """Replace the layers for good; their parents, names and the originals. With one process, none."""
    replaced = [
        (parent, name, layer)
        for parent in (network.modules() if dist.world_size() > 1 else ())
        for name, layer in parent.named_children()
        if isinstance(layer, _BatchNorm)
    ]
    for parent, name, layer in replaced:
        setattr(parent, name, synced(layer))
    return replaced


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


def _statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance [C] over all processes, from those of each: stable, in one message."""
    mean, variance = torch.batch_norm_update_stats(x, None, None, 0.0)
    means, variances = dist.gather(torch.stack([mean, variance])[None]).unbind(1)  # [world, C]
    whole = means.mean(dim=0)
    return whole, (variances + (means - whole).square()).mean(dim=0)


class _Normalise(torch.autograd.Function):
    """y = weight (x - mean) / std + bias; mean and variance are returned without gradient.

    By the kernels of torch's own layer, which are several times as fast as the same in single operations.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        mean, variance = _statistics(x)
        ctx.save_for_backward(x, weight, mean, variance)
        ctx.eps = eps
        ctx.mark_non_differentiable(mean, variance)
        return F.batch_norm(x, mean, variance, weight, bias, False, 0.0, eps), mean, variance

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """dx = weight / std (dy - E[dy] - x̂ E[dy x̂]), with the means over all processes, and x̂ = (x - mean) / std."""
        x, weight, mean, variance = ctx.saved_tensors
        dy, scale = grads[0], (variance + ctx.eps).rsqrt()
        d_weight, d_bias = torch.ops.aten.native_batch_norm_backward(
            dy, x, weight, None, None, mean, scale, True, ctx.eps, [False, True, True]
        )[1:]  # Σ dy x̂ and Σ dy
        of_all = dist.total(torch.stack([d_weight, d_bias])) * (-weight * scale / _count(x))
        dx = F.batch_norm(x, mean, variance, of_all[0], of_all[1], False, 0.0, ctx.eps)
        return dx.addcmul_(dy, (weight * scale).view([-1] + [1] * (x.ndim - 2))), d_weight, d_bias, None
