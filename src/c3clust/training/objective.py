"""What the training loop asks of the objects that it is given."""

from collections.abc import Mapping
from typing import Any, Protocol

from torch import Tensor, nn

__all__ = ["Monitor"]


class Monitor(Protocol):
    """Watches a stage epoch by epoch. It may end the stage early and restore an earlier network."""

    def begin(self, network: nn.Module, labels: Tensor, m: int, views: int) -> None: ...

    def stops(self, network: nn.Module, curves: Mapping[str, list[Any]], epoch: int) -> bool: ...

    def settle(self, network: nn.Module) -> None: ...

    def report(self, curves: Mapping[str, list[Any]], name: str) -> dict[str, Any]: ...

    def memory(self) -> dict[str, Tensor]: ...

    def recall(self, tensors: Mapping[str, Tensor]) -> None: ...
