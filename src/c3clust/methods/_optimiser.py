"""The parameter `optimizer`, of methods whose released code does not train with Adam alone."""

from typing import TYPE_CHECKING, Any

from c3clust.methods._base import Fields, parameters
from c3clust.training import Stage

__all__ = ["OptimiserFields"]


@parameters
class OptimiserFields(Fields):
    """The optimiser of a method; it comes before the other classes of parameters.

    Parameters
    ----------
    optimizer : {"adam", "adamw", "rmsprop", "sgd"} or dict
        With settings: {"name": "sgd", "momentum": 0.9, "weight_decay": 5e-4}.
    schedule : {"cosine", "constant"}, dict or callable
        Learning rate over a stage. {"name": "cosine", "warmup": 10} begins with ten epochs in which it grows; any
        class of torch.optim.lr_scheduler that steps once per epoch can be named, with its settings, or given as a
        function of an optimiser: functools.partial(torch.optim.lr_scheduler.StepLR, step_size=30).
    """

    optimizer: Any = "adam"

    if TYPE_CHECKING:
        batch_size: int
        lr: float
        schedule: Any

    def _stage(self, name: str, epochs: int, lr: float | None = None) -> Stage:
        return Stage(name, epochs, self.batch_size, self.lr if lr is None else lr, self.schedule, self.optimizer)
