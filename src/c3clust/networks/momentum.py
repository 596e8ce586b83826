"""A copy of a network whose weights follow it slowly: the teacher of TEMI, the target of BYOL."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from c3clust.networks.norms import synchronise

__all__ = ["MomentumNetwork", "follow_weights"]


@torch.no_grad()
def follow_weights(target: nn.Module, network: nn.Module, momentum: float) -> None:
    """w' <- m w' + (1 - m) w for all weights of `target`, whose buffers are its own."""
    for own, other in zip(target.parameters(), network.parameters(), strict=True):
        own.lerp_(other, 1 - momentum)


class MomentumNetwork:
    """A copy that follows its network after each step. No gradient reaches it.

    Its batch normalisation is over the batch of all processes, as that of the network.
    """

    def __init__(self, network: nn.Module, momentum: float) -> None:
        self.network: Any = copy.deepcopy(network).requires_grad_(False)
        synchronise(self.network)
        self.momentum = momentum

    @torch.no_grad()
    def follow(self, network: nn.Module) -> None:
        """w' <- m w' + (1 - m) w for all weights and buffers; integer buffers are copied."""
        for own, other in zip(self.network.state_dict().values(), network.state_dict().values(), strict=True):
            if own.is_floating_point():
                own.lerp_(other, 1 - self.momentum)
            else:
                own.copy_(other)

    def state_dict(self) -> dict[str, Tensor]:
        return self.network.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.network.load_state_dict(state)
