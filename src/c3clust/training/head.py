"""Training the cluster head alone, on features that do not change.

It does not go through the loop of loop.py: it takes a few hundred steps of one linear layer pair, less than a second,
with neither views nor epochs, so there is nothing to show, to evaluate or to resume.
"""

import torch
from torch import Tensor
from torch.nn import functional as F

from c3clust.networks import ClusterNet
from c3clust.training.adam import Adam
from c3clust.training.context import TrainingContext

__all__ = ["fit_head", "head_assignments"]


def fit_head(
    network: ClusterNet, h: Tensor, labels: Tensor, context: TrainingContext, steps: int = 200, batch: int = 512
) -> None:
    """Train g_C alone on the clusters `labels` [n] of the fixed features h [n, F], by cross entropy."""
    optimiser = Adam(network.g_c.parameters(), lr=1e-3)
    for _ in range(steps):
        i = torch.randint(len(h), (batch,), generator=context.generator)
        loss = F.cross_entropy(network.g_c(h[i].to(context.device)), labels[i].to(context.device))
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()


@torch.no_grad()
def head_assignments(network: ClusterNet, h: Tensor, context: TrainingContext) -> Tensor:
    """Soft assignments [n, M] of the features h [n, F], before calibration, on the CPU."""
    return torch.softmax(network.g_c(h.to(context.device)), dim=1).cpu()
