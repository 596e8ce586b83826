"""Targets that several steps have in common: those of a larger batch than the one that is trained.

The released codes of DAC, DCCM and GATCluster compute the assignments of 1,000 un-augmented samples at once and train
several passes on them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from c3clust import checks
from c3clust.data.io.subset import Subset
from c3clust.errors import InputError
from c3clust.losses.terms import full_precision
from c3clust.methods._base import Fields, parameters
from c3clust.training import Batch, TrainingContext
from c3clust.training.embed import embed_together

__all__ = ["TargetFields", "Targets"]


class Targets:
    """The assignments that targets are made of, and the state of an objective: the base of such objectives.

    together: samples whose assignments are computed at once, in evaluation mode; 0 for those of each batch, in
    training mode. passes: how often these samples are trained on.
    """

    def __init__(self, together: int = 0, passes: int = 1) -> None:
        self.together, self.passes = together, passes
        self.index = torch.empty(0, dtype=torch.int64)  # positions, rising
        self.c = torch.empty(0, 0)  # [together, M]

    def refresh_targets(self, network: Any, context: TrainingContext, index: Tensor) -> None:
        self.index = index
        [c] = embed_together(network, Subset(context.x, index.numpy()), context.size, kept=(1,))
        self.c = torch.from_numpy(c)

    def clean(self, network: Any, batch: Batch) -> Tensor:
        """The assignments of the un-augmented samples of this process's part of the batch: [N, M]."""
        if self.together:
            return self.c.to(batch.index.device)[self.rows(batch.index)]
        with torch.no_grad():
            return full_precision(network(batch.x)[1])

    def rows(self, index: Tensor) -> Tensor:
        """Where the samples at these positions are in c: [N]."""
        return torch.searchsorted(self.index.to(index.device), index)

    def state_dict(self) -> dict[str, Tensor]:
        return {"index": self.index, "c": self.c} if self.together else {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        if self.together:
            self.index, self.c = state["index"], state["c"]


@parameters
class TargetFields(Fields):
    """The targets of a method that trains on its own assignments; it comes before the other classes of parameters.

    Parameters
    ----------
    target_size : int
        Samples whose targets are computed at once, at least one batch; 0 for those of each batch. The released code:
        1000.
    passes : int
        How often these samples are trained on, with new views each time.
    """

    if TYPE_CHECKING:
        batch_size: int

    target_size: int = 0
    passes: int = 1

    def _check_targets(self) -> None:
        checks.whole("target_size", self.target_size, 0, why="it is a number of samples. The released code: 1000.")
        checks.whole("passes", self.passes, why="it is the number of passes over the samples of a target.")
        if self.target_size and self.target_size < self.batch_size:
            raise InputError(
                f"target_size={self.target_size} is less than batch_size={self.batch_size}: targets are those of whole "
                "batches. Use a smaller batch_size, or target_size=0 for targets of each batch."
            )
        if self.passes > 1 and not self.target_size:
            raise InputError(f"passes={self.passes} needs target_size, the samples that are trained on so often.")
