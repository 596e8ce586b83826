"""Random views of samples: policies as batched tensor functions, on the device of x.

A policy is called with a batch x ([N, C, H, W], uint8 or float in [0, 1]; vectors [N, F]), the (height, width) of the
views and a CPU generator. All random numbers come from this generator, one set per sample, so that a seed gives the
same views on every device.

>>> import torch
>>> x = torch.zeros(4, 3, 40, 40, dtype=torch.uint8)
>>> x_a, x_b = views(policy("photo"), x, (32, 32), torch.Generator().manual_seed(0))
>>> x_a.shape
torch.Size([4, 3, 32, 32])
"""

from c3clust.augment.handwriting import Handwriting
from c3clust.augment.pairs import WeakStrong, draw_crops, view, views
from c3clust.augment.policies import Digit, Identity, Photo, Policy, Vector, default, names, policy, prepare, spec
from c3clust.augment.strong import Strong
from c3clust.augment.table import Rows
from c3clust.augment.text import Words

__all__ = [
    "Digit", "Handwriting", "Identity", "Photo", "Policy", "Rows", "Strong", "Vector", "WeakStrong", "Words", "default",
    "draw_crops", "names", "policy", "prepare", "spec", "view", "views",
]  # fmt: skip
