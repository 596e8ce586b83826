"""The two views of each sample of a batch: of the sample, of two of its stored views, or of two of its crops."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from c3clust.augment import geometry
from c3clust.augment.policies import Photo, Policy, Size

CROPS = 5  # dimensions of crops that were made of the original files: [N, 2, C, H, W]
Draw = Callable[[int, int, torch.Generator], Tensor]


@dataclass(frozen=True)
class WeakStrong:
    """Two policies: x_a is a view by the first, x_b one by the second. A single view is weak."""

    weak: Policy
    strong: Policy

    def __call__(self, x: Tensor, size: Size, generator: torch.Generator) -> Tensor:
        return self.weak(x, size, generator)


def views(policy: Policy, x: Tensor, size: Size, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """x_a and x_b: two independent draws of the policy, or one of each of two policies.

    From stored views [N, V, F], two different ones are drawn. Crops [N, 2, C, H, W] are not cropped again.
    """
    first, second = (policy.weak, policy.strong) if isinstance(policy, WeakStrong) else (policy, policy)
    if x.ndim == CROPS:
        first, second, (x_a, x_b) = _uncropped(first), _uncropped(second), x.unbind(1)
    else:
        x_a, x_b = _two_stored(x, generator) if x.ndim == 3 else (x, x)
    return first(x_a, size, generator), second(x_b, size, generator)


def view(policy: Policy, x: Tensor, size: Size, generator: torch.Generator) -> Tensor:
    """One draw of the policy. Of stored views [N, V, F], one is drawn; of crops, the first."""
    if x.ndim == CROPS:
        policy, x = _uncropped(policy), x[:, 0]
    elif x.ndim == 3:
        chosen = torch.randint(x.shape[1], (len(x),), generator=generator).to(x.device)
        x = x[torch.arange(len(x), device=x.device), chosen]
    return policy(x, size, generator)


def draw_crops(policy: Policy) -> Draw | None:
    """The function (height, width, generator) -> two boxes [2, 4] of the policy photo; None for other policies."""
    if not isinstance(policy, Photo):
        return None
    scale, ratio = policy.scale, policy.ratio
    return lambda height, width, generator: geometry.draw_boxes(2, height, width, scale, ratio, generator)


def _uncropped(policy: Policy) -> Policy:
    return replace(policy, scale=(1.0, 1.0), ratio=(1.0, 1.0)) if isinstance(policy, Photo) else policy


def _two_stored(x: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Two different views of each sample, every pair equally likely: [N, V, F] -> [N, F] twice."""
    n, v = x.shape[:2]
    a = torch.randint(v, (n,), generator=generator)
    b = (a + 1 + torch.randint(v - 1, (n,), generator=generator)) % v
    rows = torch.arange(n, device=x.device)
    return x[rows, a.to(x.device)], x[rows, b.to(x.device)]
