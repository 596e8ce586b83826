"""VotingHeads: linear heads on feature vectors that vote, each on its own subset of the dimensions."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["VotingHeads"]


class VotingHeads(nn.Module):
    """x -> (z, c): z the centred features, c the mean of the members' assignments, calibrated by a temperature.

    Votes are computed in float64, so that a sample's assignment does not depend on the others in its batch.
    Shapes: N samples, F features, f of them seen by each of M members, K clusters.
    """

    centre: Tensor  # [F]
    scale: Tensor
    unit: Tensor  # bool: rows are scaled to unit length
    temperature: Tensor
    dims: Tensor  # [M, f] the dimensions that each member sees
    weight: Tensor  # [M, K, f]
    bias: Tensor  # [M, K]

    def __init__(self, n_clusters: int, width: int) -> None:
        super().__init__()
        self.n_clusters, self.width = n_clusters, width
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("scale", torch.ones(()))
        self.register_buffer("unit", torch.zeros((), dtype=torch.bool))
        self.register_buffer("temperature", torch.ones(()))
        self._set_members(0, 0)

    def _set_members(self, members: int, seen: int, device: Any = None) -> None:
        self.register_buffer("dims", torch.zeros(members, seen, dtype=torch.int64, device=device))
        self.register_buffer("weight", torch.zeros(members, self.n_clusters, seen, device=device))
        self.register_buffer("bias", torch.zeros(members, self.n_clusters, device=device))

    def project(self, x: Tensor) -> Tensor:
        """z: the features, centred, and scaled as the heads expect them."""
        z = (x.flatten(1) - self.centre) / self.scale
        return torch.where(self.unit, F.normalize(z, dim=1, eps=1e-9), z)

    def members(self, z: Tensor) -> Tensor:
        """The assignments [M, N, K] of the members."""
        rows = z.double().T[self.dims].transpose(1, 2)  # [M, N, f]
        rows = torch.where(self.unit, F.normalize(rows, dim=2, eps=1e-9), rows)
        return torch.baddbmm(self.bias.double()[:, None], rows, self.weight.double().transpose(1, 2)).softmax(dim=2)

    def vote(self, z: Tensor) -> Tensor:
        """The mean [N, K] of the members' assignments."""
        return self.members(z).mean(dim=0)

    def calibrate(self, c: Tensor) -> Tensor:
        """Rows proportional to c^(1/T): the same order with another confidence."""
        return torch.softmax(c.clamp_min(1e-6).log() / self.temperature, dim=1).float()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.project(x)
        return z, self.calibrate(self.vote(z))

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *args: Any) -> None:
        """Take as many members as the file holds, if their parts fit together."""
        dims, weight = state.get(prefix + "dims"), state.get(prefix + "weight")
        if dims is not None and weight is not None:
            known = dims.ndim == 2 and ((dims >= 0) & (dims < self.width)).all()
            if not known or weight.shape != (len(dims), self.n_clusters, dims.shape[1]):
                raise ValueError("the heads of the members do not fit together")
            self._set_members(len(dims), dims.shape[1], self.dims.device)
        super()._load_from_state_dict(state, prefix, *args)
